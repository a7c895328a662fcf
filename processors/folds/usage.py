"""The usage fold: how often each memory was used or ignored, and when it was used last."""

from __future__ import annotations

from datetime import datetime

from mnemolog.processors.folds.port import Selection, Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas import topics
from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import EVERYTHING
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import USAGE_FIELDS, Row, Rows, blank, event_pk, memory_pk, outcome_pk

_BLANK = blank(USAGE_FIELDS)
_USED = 0.5
"""From this rating on a memory counts as used."""


class UsageFold:
    """One row a memory with its counts, one a (recall, memory) with what was said of it.

    What a recall's feedback says of a memory counts once, however often it is given; the later word wins,
    and an event given again is no later word.
    """

    name = "usage"
    version = 1
    topic = topics.FEEDBACK

    def affects(self, event: Event, rows: Rows) -> Selection:  # noqa: ARG002 the port's signature
        """The named memories and what was said of them before."""
        match event:
            case ev.FeedbackGiven():
                return Selection({"pk": frozenset(_pks(event))})
            case ev.MemoryForgotten() | ev.MemoryEvicted(rule="capacity"):
                pks = (memory_pk(event.namespace, memory_id) for memory_id in event.memory_ids)
                return Selection({"memory_pk": frozenset(pks), "pk": frozenset({event_pk(event)})})
            case ev.ScopeForgotten() if not event.filter:
                mark = frozenset({event_pk(event)})
                return Selection({"pk": mark}, (encode_namespace(event.namespace), EVERYTHING))
        return Selection()

    def evolve(self, rows: Rows, event: Event, stamp: Stamp) -> dict[str, Row]:
        """See `Fold.evolve`."""
        match event:
            case ev.FeedbackGiven():
                return _count(rows, event, stamp)
            case ev.MemoryForgotten() | ev.MemoryEvicted(rule="capacity"):
                pks = {memory_pk(event.namespace, memory_id) for memory_id in event.memory_ids}
                return _forget([row for row in rows.values() if row["memory_pk"] in pks], rows, event, stamp)
            case ev.ScopeForgotten() if not event.filter:
                namespace = encode_namespace(event.namespace)
                gone = [row for row in rows.values() if row["namespace"] == namespace]
                return _forget(gone, rows, event, stamp)
        return {}


def _said(event: ev.FeedbackGiven) -> dict[str, str]:
    graded = {name: "used" if rating >= _USED else "ignored" for name, rating in event.ratings.items()}
    return dict.fromkeys(event.ignored, "ignored") | dict.fromkeys(event.used, "used") | graded


def _pks(event: ev.FeedbackGiven) -> list[str]:
    recall_id = event.recall_id or event.event_id
    outcomes = [outcome_pk(event.namespace, recall_id, memory_id) for memory_id in _said(event)]
    return outcomes + [memory_pk(event.namespace, memory_id) for memory_id in _said(event)]


def _count(rows: Rows, event: ev.FeedbackGiven, stamp: Stamp) -> dict[str, Row]:
    changed: dict[str, Row] = {}
    recall_id = event.recall_id or event.event_id
    for memory_id, outcome in _said(event).items():
        said_pk = outcome_pk(event.namespace, recall_id, memory_id)
        before = rows.get(said_pk)
        if before is not None and (before["deleted"] or event.event_id in before["events"]):
            continue  # what was said before the memory was forgotten is not said of a later one of its id
        changed[said_pk] = {
            **_row(event, memory_id, said_pk, stamp),
            "recall_id": recall_id,
            "outcome": outcome,
            "events": [*(before["events"] if before else ()), event.event_id],
        }
        if before is not None and before["outcome"] == outcome:
            continue
        pk = memory_pk(event.namespace, memory_id)
        counts = _live(rows, pk) or _row(event, memory_id, pk, stamp)
        changed[pk] = _counted(counts, outcome, before, event.occurred_at, stamp)
    return changed


def _live(rows: Rows, pk: str) -> Row | None:
    row = rows.get(pk)
    return None if row is None or row["deleted"] else row


def _row(event: ev.FeedbackGiven, memory_id: str, pk: str, stamp: Stamp) -> Row:
    return {
        "pk": pk,
        "namespace": encode_namespace(event.namespace),
        "deleted": False,
        "id": memory_id,
        "memory_pk": memory_pk(event.namespace, memory_id),
        "recall_id": None,
        "outcome": None,
        "events": None,
        "use_count": 0,
        "ignore_count": 0,
        "last_used_at": None,
        "_off": stamp.offset,
        "_fill": 0,
    }


def _counted(row: Row, outcome: str, before: Row | None, at: datetime, stamp: Stamp) -> Row:
    counts = {"used": row["use_count"], "ignored": row["ignore_count"]}
    counts[outcome] += 1
    if before is not None:
        counts[before["outcome"]] -= 1
    last = row["last_used_at"]
    if outcome == "used":
        last = at if last is None else max(last, at)
    changed = {"use_count": counts["used"], "ignore_count": counts["ignored"], "last_used_at": last}
    return {**row, **changed, "_off": stamp.offset}


def _forget(
    gone: list[Row],
    rows: Rows,
    event: ev.MemoryForgotten | ev.MemoryEvicted | ev.ScopeForgotten,
    stamp: Stamp,
) -> dict[str, Row]:
    """Empties the rows in `gone` and leaves a mark, so that the event given again spares what came since."""
    mark = event_pk(event)
    if mark in rows:
        return {}
    marked: Row = {**_BLANK, "pk": mark, "namespace": encode_namespace(event.namespace)}
    live = [row for row in gone if not row["deleted"]]
    return {row["pk"]: _tombstone(row, stamp) for row in [*live, marked]}


def _tombstone(row: Row, stamp: Stamp) -> Row:
    kept = {name: row[name] for name in ("pk", "namespace", "id", "memory_pk")}
    emptied = dict.fromkeys(row, None)
    return {**emptied, **kept, "deleted": True, "_off": stamp.offset, "_fill": 0}
