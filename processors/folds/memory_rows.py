"""A row of the memories view after one change, with the change in its history."""

from __future__ import annotations

from mnemolog.processors.folds.port import Stamp
from mnemolog.schemas.events import Event
from mnemolog.schemas.rows import Row

_KEPT_BY_TOMBSTONES = frozenset({"pk", "namespace", "id", "history"})


def seen(row: Row, event: Event) -> bool:
    """Whether the event has changed the row already."""
    return any(change["event_id"] == event.event_id for change in row["history"])


def stamped(row: Row, event: Event, stamp: Stamp, reason: str | None = None) -> Row:
    """`row` as changed by `event`."""
    change = {
        "event_id": event.event_id,
        "type": event.type,
        "occurred_at": event.occurred_at,
        "offset": stamp.offset,
        "agent_id": event.agent_id,
        "reason": reason,
    }
    return {**row, "history": [*row["history"], change], "_off": stamp.offset, "_fill": 0}


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
    emptied = {name: value if name in _KEPT_BY_TOMBSTONES else None for name, value in row.items()}
    return stamped({**emptied, "deleted": True}, event, stamp, reason)
