"""The context of one namespace in memory: what each key holds, until when, and how large it is."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from mnemolog.schemas.rows import Row

Place: TypeAlias = tuple[str, str | None, str | None]
"""A tier, an agent and a thread: the entries there have keys of their own."""

_ENTRY_BYTES = 600
"""About what an entry takes besides its value."""


@dataclass(slots=True)
class Held:
    """What a key holds. `text` is its value as JSON, None where that was left in the view for lack of room.

    Times are aware UTC; `expires_at` None never comes.
    """

    pk: str
    tier: str
    agent_id: str | None
    thread_id: str | None
    key: str
    origin: str | None
    revision: str | None
    ttl_seconds: float | None
    expires_at: datetime | None
    updated_at: datetime
    text: str | None

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.tier, self.agent_id, self.thread_id

    def alive(self, now: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or self.expires_at > now


class ContextCache:
    """All entries of a namespace; the values used last stay in memory, up to `room` bytes.

    Not safe for threads: the owner holds a lock.
    """

    def __init__(self, room: int) -> None:
        self.next_offset = 0
        self._room = room
        self._by_pk: dict[str, Held] = {}
        self._places: dict[Place, dict[str, Held]] = {}
        self._texts: OrderedDict[str, int] = OrderedDict()
        self._text_bytes = 0

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return self._text_bytes + _ENTRY_BYTES * len(self._by_pk)

    def upsert(self, rows: Iterable[Row]) -> bool:
        """Take rows of the context view as they stand now, tombstones among them; whether there were any."""
        end = 0
        for row in rows:
            end = max(end, row["_off"] + 1)
            self._drop(row["pk"])
            if not row["deleted"]:
                self._put(_held(row))
        self.next_offset = max(self.next_offset, end)  # only now: what failed halfway is read again
        return end > 0

    def find(self, place: Place, key: str) -> Held | None:
        """What a key holds, expired or not."""
        return self._places.get(place, {}).get(key)

    def entries(self, place: Place) -> Collection[Held]:
        """All that a place holds."""
        return self._places.get(place, {}).values()

    def places(self, tiers: Collection[str]) -> Iterator[Place]:
        """The places of some tiers that hold anything."""
        return (place for place, entries in self._places.items() if place[0] in tiers and entries)

    def keep_text(self, held: Held, text: str) -> None:
        """Keep a value that was read from the view, in place of those not used for longest."""
        if self._by_pk.get(held.pk) is held and held.text is None:
            held.text = text
            self._note_text(held.pk, text)

    def used(self, held: Held) -> None:
        """Note that a value was used just now."""
        if held.pk in self._texts:
            self._texts.move_to_end(held.pk)

    def _put(self, held: Held) -> None:
        self._by_pk[held.pk] = held
        self._places.setdefault(held.place, {})[held.key] = held
        if held.text is not None:
            self._note_text(held.pk, held.text)

    def _drop(self, pk: str) -> None:
        held = self._by_pk.pop(pk, None)
        if held is None:
            return
        self._text_bytes -= self._texts.pop(pk, 0)
        entries = self._places[held.place]
        del entries[held.key]
        if not entries:
            del self._places[held.place]

    def _note_text(self, pk: str, text: str) -> None:
        self._texts[pk] = size = sys.getsizeof(text)
        self._text_bytes += size
        while self._text_bytes > self._room and len(self._texts) > 1:
            oldest, freed = self._texts.popitem(last=False)
            self._by_pk[oldest].text = None
            self._text_bytes -= freed


def _held(row: Row) -> Held:
    expires_at = row["expires_at"]
    return Held(
        pk=row["pk"],
        tier=row["tier"],
        agent_id=row["agent_id"],
        thread_id=row["thread_id"],
        key=row["key"],
        origin=row["origin"],
        revision=row["revision"],
        ttl_seconds=row["ttl_seconds"],
        expires_at=None if expires_at is None else expires_at.astimezone(UTC),
        updated_at=row["occurred_at"].astimezone(UTC),
        text=row["value"] or "",
    )
