"""Which memories go when a namespace holds too many. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

DEFAULT_IMPORTANCE = 0.5


@dataclass(frozen=True, slots=True)
class Held:
    """What counts of a memory. `used_at` is when it was last used, touched, or else when it occurred."""

    id: str
    importance: float | None
    used_at: datetime
    occurred_at: datetime
    pinned: bool = False
    superseded: bool = False
    expired: bool = False


def worth(memory: Held, now: datetime, half_life: float) -> float:
    """(importance + recency) / 2, both 0…1; recency halves each `half_life` seconds since last use."""
    age = max((now - memory.used_at).total_seconds(), 0.0)
    importance = DEFAULT_IMPORTANCE if memory.importance is None else memory.importance
    return float(importance + 0.5 ** (age / half_life)) / 2


def over_capacity(held: Sequence[Held], limit: int, now: datetime, half_life: float) -> list[str]:
    """The ids of the memories to let go so that `limit` are left, the first to go first.

    Expired ones go first, then superseded ones, then those of least worth, of equals the older. Pinned ones
    count, and stay.
    """
    excess = len(held) - limit
    if excess <= 0:
        return []

    def rank(one: Held) -> tuple[bool, bool, float, datetime, str]:
        return not one.expired, not one.superseded, worth(one, now, half_life), one.occurred_at, one.id

    return [one.id for one in sorted((one for one in held if not one.pinned), key=rank)[:excess]]
