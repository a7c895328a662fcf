"""Forgetting: tombstones, and what becomes of the memories that the forgotten ones had superseded."""

from __future__ import annotations

from collections.abc import Collection

from mnemolog.processors.folds.memory_rows import (
    active_again,
    mark,
    marked,
    seen,
    slot_wanted,
    superseded,
    tombstone,
)
from mnemolog.processors.folds.port import Selection, Stamp
from mnemolog.processors.folds.timelines import same_timeline
from mnemolog.schemas import events as ev
from mnemolog.schemas.facts import digest_of
from mnemolog.schemas.filters import parse_filter
from mnemolog.schemas.matching import matches
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import Row, Rows, event_pk, memory_pk

Forgotten = ev.MemoryForgotten | ev.ScopeForgotten | ev.MemoryEvicted


def affected_by_forgotten(event: ev.MemoryForgotten, rows: Rows) -> Selection:
    """The named memories, those they had superseded, and who holds the keys of these by now."""
    pks = frozenset(_named(event))
    slots = slots_left(pks, rows)
    return Selection({"pk": pks | {event_pk(event)}, "successor": pks, "slot": slots})


def affected_by_scope(event: ev.ScopeForgotten, rows: Rows) -> Selection:
    """The same for the memories in scope, and the mark that the event was applied."""
    scope = (encode_namespace(event.namespace), parse_filter(event.filter))
    gone = frozenset(_in_scope(event, rows))
    slots = slots_left(gone, rows)
    return Selection({"pk": frozenset({event_pk(event)}), "successor": gone, "slot": slots}, scope)


def forget(rows: Rows, event: ev.MemoryForgotten, stamp: Stamp) -> dict[str, Row]:
    """The rows once the named memories are forgotten."""
    if event_pk(event) in rows:
        return {}
    named = _named(event)
    meant = [pk for pk in named if _is_meant(rows.get(pk), event)]
    return marked(take_out(rows, meant, event, stamp), rows, named, event, stamp)


def _is_meant(row: Row | None, event: ev.MemoryForgotten) -> bool:
    """Whether a memory that was consolidated still says what was read."""
    if row is None or row["deleted"] or row["id"] not in event.consolidated:
        return True
    return digest_of(row["text"]) == event.consolidated[row["id"]]


def forget_scope(rows: Rows, event: ev.ScopeForgotten, stamp: Stamp) -> dict[str, Row]:
    """Forgets what is in scope and leaves a mark, so that the event given again spares what came since."""
    if event_pk(event) in rows:
        return {}
    forgotten = take_out(rows, _in_scope(event, rows), event, stamp)
    return {**forgotten, **mark(event, stamp, event.reason)}


def _named(event: ev.MemoryForgotten) -> list[str]:
    return [memory_pk(event.namespace, memory_id) for memory_id in event.memory_ids]


def _in_scope(event: ev.ScopeForgotten, rows: Rows) -> list[str]:
    node, namespace = parse_filter(event.filter), encode_namespace(event.namespace)
    return [
        pk
        for pk, row in rows.items()
        if row["namespace"] == namespace and not row["deleted"] and matches(node, row)
    ]


def slots_left(gone: Collection[str], rows: Rows) -> frozenset[str]:
    """The slots that memories want back once their successors in `gone` are forgotten."""
    wanted = (slot_wanted(row) for row in rows.values() if row["successor"] in gone)
    return frozenset(slot for slot in wanted if slot is not None)


def take_out(rows: Rows, pks: Collection[str], event: Forgotten, stamp: Stamp) -> dict[str, Row]:
    """The rows once those of `pks` are forgotten: their tombstones, and what they had superseded."""
    gone = {pk for pk in pks if pk in rows and not rows[pk]["deleted"] and not seen(rows[pk], event)}
    changed = {pk: tombstone(rows[pk], event, stamp, event.reason) for pk in gone}
    stay = [row for pk, row in rows.items() if pk not in gone]
    holders = {row["slot"]: row for row in stay if row["slot"] is not None}
    left = [
        row for row in stay if row["successor"] in gone and not same_timeline(row, rows[row["successor"]])
    ]
    for row in sorted(left, key=_last_remembered, reverse=True):
        relinked = changed[row["pk"]] = _relinked(row, rows, gone, holders, event, stamp)
        if relinked["slot"] is not None:
            holders[relinked["slot"]] = relinked
    return changed


def _last_remembered(row: Row) -> int:
    offsets = (change["offset"] for change in row["history"] if change["type"] == "MemoryRemembered")
    return max(offsets, default=-1)


def _relinked(row: Row, rows: Rows, gone: set[str], holders: Rows, event: Forgotten, stamp: Stamp) -> Row:
    """The row once its successors in `gone` are forgotten.

    Superseded by the next one that is left, or by whoever holds its key by now, else active again.
    """
    at: str | None = row["successor"]
    while at is not None and at in gone:
        at, by_id = rows[at]["successor"], rows[at]["superseded_by"]
    if at is not None:
        return superseded(row, by_id, at, event, stamp)
    holder = holders.get(slot_wanted(row) or "")
    if holder is not None:
        return superseded(row, holder["id"], holder["pk"], event, stamp)
    return active_again(row, event, stamp)
