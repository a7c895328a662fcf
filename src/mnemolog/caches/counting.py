"""Counting what came of a cache's checks, without an event for each."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mnemolog.caches.entries import Entries
from mnemolog.schemas.context_events import MAX_COUNTS, CacheCount, Tier
from mnemolog.schemas.errors import MnemologError
from mnemolog.schemas.positions import Position

FLUSH_EVERY = 1_000
"""Checks after which counts are appended; a program that is killed loses at most these."""

_NUMBERS = ("hits", "misses", "stores", "saved_micros")
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """What came of checks. `saved_micros` is the cost that hits saved, in millionths of the cost's currency.

    `hit_rate` is from 0 to 1, and 0 where nothing was checked.
    """

    hits: int
    misses: int
    total: int
    hit_rate: float
    stores: int
    saved_micros: int


def add_up(counts: Iterable[CacheCount]) -> CacheCounts:
    """The sum of counts."""
    every = list(counts)
    hits, misses, stores, saved = (sum(one[name] for one in every) for name in _NUMBERS)  # type: ignore[literal-required]
    total = hits + misses
    return CacheCounts(hits, misses, total, hits / total if total else 0.0, stores, saved)


class Counter:
    """Counts for one handle, the source. What it appends is the sum so far, so nothing counts twice.

    Failing to append never breaks a check: the next sum says it all. Threads may share it.
    """

    def __init__(self, entries: Entries, source: str) -> None:
        self._entries = entries
        self._source = source
        self._lock = threading.Lock()
        self._appending = threading.Lock()
        self._counts: dict[tuple[Tier, str | None], CacheCount] = {}
        self._pending = 0
        self._position: Position | None = None
        self._thread: threading.Thread | None = None

    def checked(self, tier: Tier, name: str | None, *, hit: bool, saved_micros: int = 0) -> None:
        """Count a check."""
        self._add(tier, name, {"hits" if hit else "misses": 1, "saved_micros": saved_micros})

    def stored(self, tier: Tier, name: str | None) -> None:
        """Count a store."""
        self._add(tier, name, {"stores": 1})

    def _add(self, tier: Tier, name: str | None, numbers: Mapping[str, int]) -> None:
        with self._lock:
            known = (tier, name) in self._counts or len(self._counts) < MAX_COUNTS - 5
            place: tuple[Tier, str | None] = (tier, name if known else None)
            count = self._counts.setdefault(place, _zero(*place))
            for field, number in numbers.items():
                count[field] += number  # type: ignore[literal-required]
            self._pending += 1
            due = self._pending % FLUSH_EVERY == 0
        if due:
            self._flush_aside()

    def _flush_aside(self) -> None:
        """Append in a thread of its own: a log that does not answer must hold up no check."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self.flush, name="mnemolog-counts", daemon=True)
            self._thread.start()

    def flush(self) -> Position | None:
        """Append what was counted since the last time, if anything; where this source's last sum stands."""
        with self._appending:
            with self._lock:
                counts = tuple({**count} for count in self._counts.values()) if self._pending else ()
                pending = self._pending
            if not counts:
                return self._position
            try:
                event = self._entries.commands.count(self._source, counts)  # type: ignore[arg-type]
                self._position = self._entries.append_aside(event)
            except MnemologError as error:
                _logger.warning("counts of the caches have to wait: %s", error)
                return self._position
            with self._lock:
                self._pending -= pending
            return self._position

    def close(self) -> None:
        """Append what was counted."""
        thread = self._thread
        if thread is not None:
            thread.join()
        self.flush()


def _zero(tier: Tier, name: str | None) -> CacheCount:
    return {"tier": tier, "name": name, "hits": 0, "misses": 0, "stores": 0, "saved_micros": 0}


def read_counts(values: Iterable[Any]) -> list[CacheCount]:
    """The counts of all sources, of which each has one value."""
    return [cast("CacheCount", one) for value in values if isinstance(value, list) for one in value]
