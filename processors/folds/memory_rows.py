"""A row of the memories view after one change, with the change in its history."""

from __future__ import annotations

from collections.abc import Iterable

from mnemolog.processors.folds.port import Stamp
from mnemolog.schemas.events import Event
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import MEMORY_FIELDS, Row, Rows, blank, event_pk

_BLANK = blank(MEMORY_FIELDS)
_KEPT_BY_TOMBSTONES = frozenset({"pk", "namespace", "id", "history", "repeats", "connected"})


def seen(row: Row, event: Event) -> bool:
    """Whether the event has come to the row already."""
    known = (change["event_id"] for change in row["history"])
    return event.event_id in row["repeats"] or event.event_id in known


def repeated(row: Row, event: Event, stamp: Stamp) -> Row:
    """`row` told again what it says: it changes nothing, also when it is told so once more later."""
    return {**row, "repeats": [*row["repeats"], event.event_id], "_off": stamp.offset, "_fill": 0}


def stamped(row: Row, event: Event, stamp: Stamp, reason: str | None = None) -> Row:
    """`row` as changed by `event`."""
    history = [*row["history"], change_by(event, stamp, reason)]
    return {**row, "connected": connected(row), "history": history, "_off": stamp.offset, "_fill": 0}


def change_by(event: Event, stamp: Stamp, reason: str | None = None) -> Row:
    """What a row's history says of `event`."""
    return {
        "event_id": event.event_id,
        "type": event.type,
        "occurred_at": event.occurred_at,
        "offset": stamp.offset,
        "agent_id": event.agent_id,
        "reason": reason,
    }


def connected(row: Row) -> bool | None:
    """Whether the row has, or once had, edges in the graph: so that theirs is found to be replaced."""
    has_edges = row["detail"] is not None or bool(row["sources"]) or bool(row["links"])
    return has_edges or row["connected"]


def superseded(
    row: Row, by_id: str, by_pk: str, event: Event, stamp: Stamp, reason: str | None = None
) -> Row:
    """`row` replaced by another memory; it gives up its slot."""
    row = {**row, "superseded_by": by_id, "successor": by_pk, "slot": None}
    return stamped(row, event, stamp, reason)


def active_again(row: Row, event: Event, stamp: Stamp) -> Row:
    """`row` without a successor; it holds the slot of its key."""
    row = {**row, "superseded_by": None, "successor": None, "slot": slot_wanted(row)}
    return stamped(row, event, stamp)


def slot_wanted(row: Row) -> str | None:
    """The slot that the row holds while it is active."""
    return None if row["key"] is None else f"{row['namespace']}|{row['key']}"


def tombstone(row: Row, event: Event, stamp: Stamp, reason: str | None) -> Row:
    """`row` without its content."""
    kept = {name: row[name] for name in _KEPT_BY_TOMBSTONES}
    return stamped({**dict.fromkeys(row), **kept, "deleted": True}, event, stamp, reason)


def blank_memory() -> Row:
    """A row of the memories view that says nothing yet."""
    return _BLANK.copy()


def mark(event: Event, stamp: Stamp, reason: str | None = None) -> dict[str, Row]:
    """A row that says that `event` was applied: what it leaves where its rows can't tell."""
    row = blank_memory()
    row |= {"pk": event_pk(event), "namespace": encode_namespace(event.namespace)}
    row |= {"history": [], "repeats": []}
    return {row["pk"]: tombstone(row, event, stamp, reason)}


def marked(
    changed: dict[str, Row], rows: Rows, targets: Iterable[str], event: Event, stamp: Stamp
) -> dict[str, Row]:
    """`changed`, with a mark where a row among `targets` does not know the event.

    So the event given again changes nothing, even where the row has come since.
    """
    known = all(pk in changed or (pk in rows and seen(rows[pk], event)) for pk in targets)
    return changed if known else {**changed, **mark(event, stamp)}
