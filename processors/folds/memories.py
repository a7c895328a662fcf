"""The memories fold: remember, update, supersede, forget."""

from __future__ import annotations

from typing import Any

from mnemolog.processors.folds.deriving import also_affected, derive, settle
from mnemolog.processors.folds.evicting import affected_by_evicted, evict
from mnemolog.processors.folds.forgetting import (
    affected_by_forgotten,
    affected_by_scope,
    forget,
    forget_scope,
)
from mnemolog.processors.folds.linking import relink
from mnemolog.processors.folds.memory_content import (
    DERIVED,
    canonical,
    content,
    fingerprint,
    new_row,
    reindexed,
    same_content,
)
from mnemolog.processors.folds.memory_rows import marked, repeated, seen, stamped, superseded
from mnemolog.processors.folds.port import Selection, Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas import topics
from mnemolog.schemas.details import columns_of, dump_detail
from mnemolog.schemas.events import Event
from mnemolog.schemas.rows import Row, Rows, event_pk, memory_pk, slot_of

_Targeted = ev.MemoryUpdated | ev.MemorySuperseded | ev.MemoriesLinked | ev.MemoriesUnlinked


class MemoriesFold:
    """One row a memory, with what supersedes it, its links, and the history of its changes.

    Retries are harmless: an event id that the row has seen changes nothing, and a memory remembered again
    under its id with the same content stays as it is. With other content it is put anew.
    """

    name = "memories"
    version = 3
    topic = topics.MEMORIES

    def affects(self, event: Event, rows: Rows) -> Selection:
        """The event's own rows, the holder of its key, what forgetting leads to, and what rests on these."""
        return also_affected(self._affects(event, rows), event, rows)

    def _affects(self, event: Event, rows: Rows) -> Selection:
        match event:
            case ev.MemoryRemembered():
                return _affected_by_remembered(event)
            case ev.MemoryUpdated() | ev.MemoriesLinked() | ev.MemoriesUnlinked():
                return _by_pk(memory_pk(event.namespace, event.memory_id), event_pk(event))
            case ev.MemorySuperseded():
                return _affected_by_superseded(event, rows)
            case ev.MemoryForgotten():
                return affected_by_forgotten(event, rows)
            case ev.MemoryEvicted():
                return affected_by_evicted(event, rows)
            case ev.ScopeForgotten():
                return affected_by_scope(event, rows)
        return Selection()

    def evolve(self, rows: Rows, event: Event, stamp: Stamp) -> dict[str, Row]:
        """See `Fold.evolve`."""
        return settle(rows, self._evolve(rows, event, stamp), event, stamp)

    def _evolve(self, rows: Rows, event: Event, stamp: Stamp) -> dict[str, Row]:
        match event:
            case ev.MemoryRemembered():
                return _remember(rows, event, stamp)
            case _ if isinstance(event, _Targeted):
                return _once(rows, event, stamp)
            case ev.MemoryForgotten():
                return forget(rows, event, stamp)
            case ev.MemoryEvicted():
                return evict(rows, event, stamp)
            case ev.ScopeForgotten():
                return forget_scope(rows, event, stamp)
        return derive(rows, event, stamp)


def _by_pk(*pks: str) -> Selection:
    return Selection({"pk": frozenset(pks)})


def _affected_by_remembered(event: ev.MemoryRemembered) -> Selection:
    pk = frozenset({memory_pk(event.namespace, event.memory_id)})
    if event.key is None:
        return Selection({"pk": pk})
    return Selection({"pk": pk, "slot": frozenset({slot_of(event.namespace, event.key)})})


def _affected_by_superseded(event: ev.MemorySuperseded, rows: Rows) -> Selection:
    successors = (row["successor"] for row in rows.values())
    return _by_pk(
        memory_pk(event.namespace, event.memory_id),
        memory_pk(event.namespace, event.by),
        event_pk(event),
        *(pk for pk in successors if pk),
    )


def _remember(rows: Rows, event: ev.MemoryRemembered, stamp: Stamp) -> dict[str, Row]:
    pk = memory_pk(event.namespace, event.memory_id)
    known = rows.get(pk)
    if known is not None and seen(known, event):
        return {}
    row = _remembered_row(known, event, stamp)
    changed, slot = {pk: row}, row["slot"]
    for other, holder in rows.items():
        if other != pk and slot is not None and holder["slot"] == slot:
            changed[other] = superseded(holder, event.memory_id, pk, event, stamp)
    return changed


def _remembered_row(known: Row | None, event: ev.MemoryRemembered, stamp: Stamp) -> Row:
    told = content(event)
    origin = fingerprint(event, told)
    if known is None or known["deleted"] or _expired(known, stamp):
        return new_row(known, event, stamp, origin, told=told)
    if known["origin"] == origin and event.key is None:
        if not event.touch:
            return repeated(known, event, stamp)
        if known["text"] == event.text:
            return _touched(known, event, stamp)
    if same_content(known, told):
        return _said_again(known, event, stamp)
    row = {**_activated(known, event), **told, **columns_of(event.detail), **dict.fromkeys(DERIVED)}
    row |= {"origin": origin, "updated_at": event.occurred_at}
    return stamped(reindexed(known, row), event, stamp)


def _said_again(known: Row, event: ev.MemoryRemembered, stamp: Stamp) -> Row:
    """The last word on a key wins, so a memory that is said again is the active one; `touch` refreshes it."""
    row = _activated(known, event)
    if event.touch:
        return _touched(row, event, stamp)
    row["expires_at"] = event.expires_at
    return repeated(known, event, stamp) if row == known else stamped(row, event, stamp)


def _expired(row: Row, stamp: Stamp) -> bool:
    return row["expires_at"] is not None and bool(row["expires_at"] <= stamp.recorded_at)


def _activated(known: Row, event: ev.MemoryRemembered) -> Row:
    slot = None if event.key is None else slot_of(event.namespace, event.key)
    return {**known, "superseded_by": None, "successor": None, "slot": slot}


def _touched(known: Row, event: ev.MemoryRemembered, stamp: Stamp) -> Row:
    touched_at = max(known["touched_at"] or known["occurred_at"], event.occurred_at)
    return stamped({**known, "touched_at": touched_at, "expires_at": event.expires_at}, event, stamp)


def _once(rows: Rows, event: _Targeted, stamp: Stamp) -> dict[str, Row]:
    if event_pk(event) in rows:
        return {}
    match event:
        case ev.MemoryUpdated():
            changed = _update(rows, event, stamp)
        case ev.MemorySuperseded():
            changed = _supersede(rows, event, stamp)
        case _:
            changed = relink(rows, event, stamp)
    return marked(changed, rows, [memory_pk(event.namespace, event.memory_id)], event, stamp)


def _update(rows: Rows, event: ev.MemoryUpdated, stamp: Stamp) -> dict[str, Row]:
    pk = memory_pk(event.namespace, event.memory_id)
    known = rows.get(pk)
    if known is None or known["deleted"] or seen(known, event):
        return {}
    changes: dict[str, Any] = dict(event.changes)
    if "tags" in changes:
        changes["tags"] = list(changes["tags"])
    if "metadata" in changes:
        changes["metadata"] = canonical(changes["metadata"])
    if "detail" in changes:
        detail = event.changes["detail"]
        changes |= {"detail": dump_detail(detail), **columns_of(detail)}
    row = {**known, **changes, "updated_at": event.occurred_at}
    return {pk: stamped(reindexed(known, row), event, stamp, event.reason)}


def _supersede(rows: Rows, event: ev.MemorySuperseded, stamp: Stamp) -> dict[str, Row]:
    pk, by = memory_pk(event.namespace, event.memory_id), memory_pk(event.namespace, event.by)
    old, new = rows.get(pk), rows.get(by)
    if old is None or new is None or old["deleted"] or new["deleted"] or seen(old, event):
        return {}
    if _leads_to(rows, by, pk):
        return {}
    return {pk: superseded(old, event.by, by, event, stamp, event.reason)}


def _leads_to(rows: Rows, start: str, target: str) -> bool:
    """Whether following successors from `start` meets `target`: superseding would close a cycle."""
    at: str | None = start
    visited: set[str] = set()
    while at is not None and at not in visited:
        if at == target:
            return True
        visited.add(at)
        row = rows.get(at)
        at = row["successor"] if row else None
    return False
