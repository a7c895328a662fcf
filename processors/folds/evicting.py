"""Evictions: carried out once, on what has not changed since they were decided."""

from __future__ import annotations

import json
from collections.abc import Iterable

from mnemolog.processors.folds.forgetting import slots_left, take_out
from mnemolog.processors.folds.memory_rows import blank_memory, stamped, superseded
from mnemolog.processors.folds.port import Selection, Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas.evictions import eviction_counts, evictions_pk, last_eviction
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import Row, Rows, memory_pk


def affected_by_evicted(event: ev.MemoryEvicted, rows: Rows) -> Selection:
    """The memories, the one that is kept, what they had superseded, and the namespace's last eviction."""
    pks = frozenset(memory_pk(event.namespace, memory_id) for memory_id in event.memory_ids)
    known = {evictions_pk(event.namespace)} | ({_kept_pk(event)} if event.kept is not None else set())
    return Selection({"pk": pks | known, "successor": pks, "slot": slots_left(pks, rows)})


def evict(rows: Rows, event: ev.MemoryEvicted, stamp: Stamp) -> dict[str, Row]:
    """The rows once the decision is carried out; none where another one came first."""
    last = rows.get(evictions_pk(event.namespace))
    if event.previous != last_eviction(last):
        return {}
    pks = (memory_pk(event.namespace, memory_id) for memory_id in event.memory_ids)
    gone = [pk for pk in pks if _as_decided(rows.get(pk), event)]
    if event.rule == "capacity":
        changed, number = take_out(rows, gone, event, stamp), len(gone)
    else:
        changed = _replace(rows, gone, event, stamp)
        number = len(changed)
    return {**changed, **_counted(last, event, number, stamp)} if changed else {}


def _kept_pk(event: ev.MemoryEvicted) -> str:
    return memory_pk(event.namespace, event.kept or "")


def _as_decided(row: Row | None, event: ev.MemoryEvicted) -> bool:
    if row is None or row["deleted"] or row["pinned"]:
        return False
    return bool(event.revisions.get(row["id"]) == row["history"][-1]["event_id"])


def _replace(rows: Rows, gone: Iterable[str], event: ev.MemoryEvicted, stamp: Stamp) -> dict[str, Row]:
    """Only memories without a key: one that holds a key would leave it to nobody."""
    kept = rows.get(_kept_pk(event))
    if kept is None or kept["superseded_by"] is not None or not _as_decided({**kept, "pinned": False}, event):
        return {}
    return {
        pk: superseded(rows[pk], kept["id"], kept["pk"], event, stamp, event.reason)
        for pk in gone
        if pk != kept["pk"] and rows[pk]["superseded_by"] is None and rows[pk]["key"] is None
    }


def _counted(last: Row | None, event: ev.MemoryEvicted, number: int, stamp: Stamp) -> dict[str, Row]:
    """The namespace's row of evictions: a tombstone whose one change is the last, the counts its reason."""
    counts = eviction_counts(last)
    counts[event.rule] = counts.get(event.rule, 0) + number
    row = blank_memory()
    row |= {"pk": evictions_pk(event.namespace), "namespace": encode_namespace(event.namespace)}
    row |= {"deleted": True, "history": [], "repeats": []}
    return {row["pk"]: stamped(row, event, stamp, json.dumps(counts, sort_keys=True))}
