"""The usefulness fold: what recalls showed, what came of it, and the links and the model learned from that.

A link counts how memories of one shape were rated when one type of query was asked. Counts are whole numbers,
so that what a namespace or a memory brought is taken away again exactly when it is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mnemolog.processors.folds.port import Selection, Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas import topics
from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import EVERYTHING
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import (
    USEFULNESS_FIELDS,
    Row,
    Rows,
    blank,
    event_pk,
    link_pk,
    memory_pk,
    model_pk,
    shown_pk,
)
from mnemolog.schemas.usefulness import ANY

_BLANK = blank(USEFULNESS_FIELDS)
_SCALE = 1_000
_KEPT = frozenset({"pk", "namespace", "id", "memory_pk"})


class UsefulnessFold:
    """Rows of what was shown, of links, and of the model; see `schemas.rows.USEFULNESS_FIELDS`.

    A recall is shown once, and what is said of a memory it showed counts once; the later word wins.
    """

    name = "usefulness"
    version = 1
    topic = topics.FEEDBACK

    def affects(self, event: Event, rows: Rows) -> Selection:
        """The rows that were shown, and the links of their shapes."""
        match event:
            case ev.RecallServed():
                return _by_pk(shown_pk(event.namespace, event.recall_id, one.id) for one in event.shown)
            case ev.FeedbackGiven() if event.recall_id is not None:
                shown = [shown_pk(event.namespace, event.recall_id, said) for said in _ratings(event)]
                return _by_pk([event_pk(event), *shown, *_links(event.namespace, rows)])
            case ev.MemoryForgotten() | ev.MemoryEvicted(rule="capacity"):
                pks = (memory_pk(event.namespace, memory_id) for memory_id in event.memory_ids)
                links = frozenset([event_pk(event), *_links(event.namespace, rows)])
                return Selection({"memory_pk": frozenset(pks), "pk": links})
            case ev.ScopeForgotten() if not event.filter:
                mark = frozenset({event_pk(event)})
                return Selection({"pk": mark}, (encode_namespace(event.namespace), EVERYTHING))
            case ev.ModelRefitted():
                return _by_pk([model_pk(event.namespace), event_pk(event)])
        return Selection()

    def evolve(self, rows: Rows, event: Event, stamp: Stamp) -> dict[str, Row]:
        """See `Fold.evolve`."""
        if event_pk(event) in rows:
            return {}
        match event:
            case ev.RecallServed():
                return _show(rows, event, stamp)
            case ev.FeedbackGiven() if event.recall_id is not None:
                return _rate(rows, event, stamp)
            case ev.MemoryForgotten() | ev.MemoryEvicted(rule="capacity"):
                pks = {memory_pk(event.namespace, memory_id) for memory_id in event.memory_ids}
                gone = [row for row in rows.values() if row["memory_pk"] in pks]
                return _forget(gone, rows, event, stamp)
            case ev.ScopeForgotten() if not event.filter:
                namespace = encode_namespace(event.namespace)
                everything = [row for row in rows.values() if row["namespace"] == namespace]
                return {row["pk"]: _tombstone(row, stamp) for row in everything} | _mark(event, stamp)
            case ev.ModelRefitted():
                return _replace_model(rows, event, stamp)
        return {}


def _by_pk(pks: Iterable[str]) -> Selection:
    return Selection({"pk": frozenset(pks)})


def _ratings(event: ev.FeedbackGiven) -> dict[str, int]:
    """Memory → what is said of it, in thousandths."""
    graded = {memory_id: round(rating * _SCALE) for memory_id, rating in event.ratings.items()}
    return dict.fromkeys(event.ignored, 0) | dict.fromkeys(event.used, _SCALE) | graded


def _links(namespace: Namespace, rows: Rows) -> list[str]:
    """The links that the loaded rows of what was shown count in."""
    return [pk for row in rows.values() if _is_shown(row) for pk in _links_of(namespace, row)]


def _is_shown(row: Row) -> bool:
    return row["recall_id"] is not None and not row["deleted"]


def _links_of(namespace: Namespace, row: Row) -> list[str]:
    return [link_pk(namespace, row["query_type"], shape) for shape in (ANY, *row["shape"])]


def _blank(pk: str, namespace: Namespace, stamp: Stamp) -> Row:
    return _BLANK | {
        "pk": pk,
        "namespace": encode_namespace(namespace),
        "deleted": False,
        "_off": stamp.offset,
        "_fill": 0,
    }


def _mark(event: Event, stamp: Stamp) -> dict[str, Row]:
    pk = event_pk(event)
    return {pk: {**_blank(pk, event.namespace, stamp), "deleted": True}}


def _show(rows: Rows, event: ev.RecallServed, stamp: Stamp) -> dict[str, Row]:
    changed: dict[str, Row] = {}
    for place, one in enumerate(event.shown):
        pk = shown_pk(event.namespace, event.recall_id, one.id)
        if pk in rows:
            continue
        changed[pk] = _blank(pk, event.namespace, stamp) | {
            "id": one.id,
            "memory_pk": memory_pk(event.namespace, one.id),
            "recall_id": event.recall_id,
            "place": place,
            "query_type": event.query_type,
            "shape": sorted({*one.shape} - {ANY}),
            "feature_set": event.feature_set,
            "features": list(one.features),
            "events": [],
        }
    return changed


def _rate(rows: Rows, event: ev.FeedbackGiven, stamp: Stamp) -> dict[str, Row]:
    changed: dict[str, Row] = {}
    unknown = False
    for memory_id, rating in _ratings(event).items():
        pk = shown_pk(event.namespace, str(event.recall_id), memory_id)
        row = rows.get(pk)
        if row is None or row["deleted"]:
            unknown = unknown or row is None
            continue
        if event.event_id in row["events"]:
            continue
        before, counted = row["rating"], int(row["rating"] is None)
        changed[pk] = {
            **row,
            "rating": rating,
            "events": [*row["events"], event.event_id],
            "_off": stamp.offset,
        }
        _count(changed, rows, event.namespace, row, rating - (before or 0), counted, stamp)
    return changed | (_mark(event, stamp) if unknown else {})


def _count(
    changed: dict[str, Row],
    rows: Rows,
    namespace: Namespace,
    shown: Row,
    rating: int,
    count: int,
    stamp: Stamp,
) -> None:
    for shape in (ANY, *shown["shape"]):
        pk = link_pk(namespace, shown["query_type"], shape)
        link = changed.get(pk) or rows.get(pk)
        if link is None or link["deleted"]:
            own = {"query_type": shown["query_type"], "shape": [shape], "sum": 0, "count": 0}
            link = _blank(pk, namespace, stamp) | own
        counted = {"sum": link["sum"] + rating, "count": link["count"] + count, "_off": stamp.offset}
        changed[pk] = {**link, **counted}
        if counted["count"] == 0:
            changed[pk] = _tombstone(changed[pk], stamp)


def _forget(
    gone: Sequence[Row], rows: Rows, event: ev.MemoryForgotten | ev.MemoryEvicted, stamp: Stamp
) -> dict[str, Row]:
    changed: dict[str, Row] = _mark(event, stamp)
    for row in gone:
        if row["deleted"]:
            continue
        changed[row["pk"]] = _tombstone(row, stamp)
        if row["rating"] is not None:
            _count(changed, rows, event.namespace, row, -row["rating"], -1, stamp)
    return changed


def _tombstone(row: Row, stamp: Stamp) -> Row:
    kept = {name: row[name] for name in _KEPT}
    return {**dict.fromkeys(row), **kept, "deleted": True, "_off": stamp.offset, "_fill": 0}


def _replace_model(rows: Rows, event: ev.ModelRefitted, stamp: Stamp) -> dict[str, Row]:
    pk = model_pk(event.namespace)
    known = rows.get(pk)
    if known is not None and not known["deleted"] and event.event_id in known["events"]:
        return {}
    events = [] if known is None or known["deleted"] else known["events"]
    model = _blank(pk, event.namespace, stamp) | {
        "feature_set": event.feature_set,
        "features": list(event.weights),
        "evidence": event.evidence,
        "gain": event.gain,
        "served": event.served,
        "events": [*events, event.event_id],
    }
    return {pk: model}
