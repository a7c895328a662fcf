"""The namespaces that are read: in memory as many as fit, those too large for that in the view."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from mnemolog.allocator import give_back, holding_little
from mnemolog.query.large_namespace import InView, LargeNamespace
from mnemolog.query.namespace_cache import READ, NamespaceCache
from mnemolog.query.news import News
from mnemolog.query.sizes import bytes_a_row, may_exceed
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.storage.arrow import from_arrow
from mnemolog.storage.layout import Manifest
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable, TableState

_BATCH_ROWS = 4_096
_MANY = 8
"""From so many namespaces on it is cheaper to ask a table once what changed than for each of them."""

_KNOWN_ROWS = 1_000
"""From so many rows in memory on their size says what others will take."""

_FITS_AGAIN = 0.75
"""One that was too large comes into memory again where it takes no more than this part of the bound."""

_LARGE_ONES = 16
"""So many that are too large stay known; each takes some 2 MiB."""

Both = Callable[[Manifest, Namespace], tuple[News, News]]


@dataclass(slots=True)
class _Entry:
    """A cached namespace, and the versions of the two tables that it was last compared with. `each` is what a
    memory takes, once somebody asked."""

    cache: NamespaceCache
    memories: TableState | None = None
    usage: TableState | None = None
    nbytes: int = 0
    each: float = 0.0
    too_large: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class ReadNamespaces:
    """Namespaces by generation. Safe for threads.

    `both` gives the tables of memories and of usage that a namespace is in. `cache_bytes` bounds what is in
    memory, and what one namespace may take there to be recalled from, unless `always_cached`.
    """

    def __init__(self, both: Both, cache_bytes: int, *, always_cached: bool) -> None:
        self._both = both
        self._cache_bytes = cache_bytes
        self._always_cached = always_cached
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, Namespace], _Entry] = OrderedDict()
        self._large: OrderedDict[tuple[str, Namespace], LargeNamespace] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def knows(self, generation: str, namespace: Namespace) -> bool:
        """Whether a namespace is in memory."""
        with self._lock:
            return (generation, namespace) in self._entries

    @contextmanager
    def cached(self, manifest: Manifest, namespace: Namespace) -> Iterator[NamespaceCache]:
        """See `ViewReader.namespace`."""
        entry = self._entry(manifest, namespace)
        with entry.lock:
            grown = self._refresh(entry, manifest, namespace, bounded=False)
            yield entry.cache
        if grown:
            self._evict()

    @contextmanager
    def recallable(self, manifest: Manifest, namespace: Namespace) -> Iterator[NamespaceCache | InView]:
        """See `ViewReader.recallable`."""
        large = self._known_large(manifest, namespace)
        if large is None:
            entry = self._entry(manifest, namespace)
            with entry.lock:
                grown = self._refresh(entry, manifest, namespace, bounded=not self._always_cached)
                large = self._leave_in_view(manifest, namespace, entry) if entry.too_large else None
                if large is None:
                    yield entry.cache
            if large is None:
                if grown:
                    self._evict()
                return
        yield large

    def _known_large(self, manifest: Manifest, namespace: Namespace) -> InView | None:
        place = (manifest.generation, namespace)
        with self._lock:
            large = self._large.get(place)
            if large is None:
                return None
            self._large.move_to_end(place)
        in_view = self._in_view(large, manifest, namespace)
        if large.nbytes > _FITS_AGAIN * self._cache_bytes:
            return in_view
        with self._lock:
            self._large.pop(place, None)
        return None

    def _leave_in_view(self, manifest: Manifest, namespace: Namespace, entry: _Entry) -> InView:
        """Let go of what is in memory of a namespace, and search in the view from now on."""
        place, name = (manifest.generation, namespace), encode_namespace(namespace)
        with self._lock:
            self._entries.pop(place, None)
            large = self._large.setdefault(place, LargeNamespace(name, manifest.dim, entry.each))
            while len(self._large) > _LARGE_ONES:
                self._large.popitem(last=False)
        return self._in_view(large, manifest, namespace)

    def _in_view(self, large: LargeNamespace, manifest: Manifest, namespace: Namespace) -> InView:
        memories, usage = self._both(manifest, namespace)
        large.refresh(memories.table, memories.state())
        return InView(large, memories.table, usage.table)

    def _entry(self, manifest: Manifest, namespace: Namespace) -> _Entry:
        place = (manifest.generation, namespace)
        with self._lock:
            entry = self._entries.get(place)
            if entry is None or entry.cache.wasteful:
                entry = self._entries[place] = _Entry(NamespaceCache(manifest.dim))
            self._entries.move_to_end(place)
            return entry

    def _refresh(self, entry: _Entry, manifest: Manifest, namespace: Namespace, *, bounded: bool) -> bool:
        """Bring a cached namespace up to date; whether there was anything to do. If it is to be `bounded`,
        one that would be larger than the bound stays as it is, and says so."""
        (memories, usage), name = self._both(manifest, namespace), encode_namespace(namespace)
        states = memories.state(), usage.state()
        cache, ours = entry.cache, f"namespace = {literal(name)}"
        changed = self._differs(
            memories, name, entry.memories, states[0], (cache.next_offset, cache.last_fill)
        )
        news = f"{ours} AND (_off >= {cache.next_offset} OR _fill > {cache.last_fill})"
        count = memories.table.count(news) if changed else 0
        entry.too_large = bounded and self._exceeds(entry, memories.table, ours, count)
        if entry.too_large:
            return False
        used = self._differs(usage, name, entry.usage, states[1], (cache.usage_next_offset, 0))
        if used:
            used_since = f"{ours} AND _off >= {cache.usage_next_offset} AND pk = memory_pk"
            if entry.usage is None or usage.table.holds(used_since):
                cache.upsert_usage(from_arrow(usage.table.where(used_since)))
        if count:
            _load(cache, memories.table, news, count)
        entry.memories, entry.usage = states
        if changed or used:
            entry.nbytes = cache.nbytes
        return changed or used

    def _exceeds(self, entry: _Entry, table: LanceTable, ours: str, count: int) -> bool:
        """Whether a cached namespace is larger than the bound, or will be with `count` rows that are new."""
        cache, bound = entry.cache, self._cache_bytes
        known, room = len(cache.slot_of), bound - entry.nbytes
        if known >= _KNOWN_ROWS:
            entry.each = entry.nbytes / known
        if not (room < 0 if not count else may_exceed(count, cache.vectors.dim, room)):
            return False
        live = f"{ours} AND NOT deleted"
        entry.each = entry.each or bytes_a_row(table, live, cache.vectors.dim)
        return table.count(live) * entry.each > bound

    def _differs(
        self, news: News, name: str, seen: TableState | None, now: TableState, reached: tuple[int, int]
    ) -> bool:
        """Whether a namespace that was read at `seen`, up to before an offset and up to a fill, may have more
        by now. Where many are read, one question answers for all."""
        if seen is None or len(self._entries) < _MANY:
            return seen is None or seen.version != now.version
        return seen.version != now.version and news.there_may_be(name, seen.version, now.version, *reached)

    def _evict(self) -> None:
        with self._lock:
            sizes = {place: entry.nbytes for place, entry in self._entries.items()}
            total = sum(sizes.values())
            for place in list(self._entries)[:-1]:
                if total <= self._cache_bytes:
                    return
                total -= sizes[place]
                del self._entries[place]


def _load(cache: NamespaceCache, table: LanceTable, condition: str, count: int) -> None:
    """Take the `count` rows for which the condition holds. Reading many leaves memory behind, which is given
    back."""
    parts = table.batches(condition, READ, _BATCH_ROWS, count)
    if count <= _BATCH_ROWS:
        cache.upsert(parts)
        return
    cache.reserve(count)
    with holding_little():
        cache.upsert(parts)
    pa.default_memory_pool().release_unused()
    give_back()
