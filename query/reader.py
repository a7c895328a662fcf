"""Reading the live views: one shard for a namespace, with the namespaces in use kept in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pyarrow as pa

from mnemolog.allocator import give_back, holding_little
from mnemolog.query.config_reader import ConfigReader
from mnemolog.query.context_reader import ContextReader
from mnemolog.query.graph_cache import GraphCache
from mnemolog.query.held_namespaces import HeldNamespaces
from mnemolog.query.knowledge_reader import KnowledgeReader
from mnemolog.query.namespace_cache import READ, NamespaceCache
from mnemolog.query.news import News
from mnemolog.schemas.errors import ViewError, ViewMissingError
from mnemolog.schemas.evictions import eviction_counts, evictions_pk
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import PROJECTED, TABLES, Row, memory_pk
from mnemolog.schemas.topics import partition_of
from mnemolog.storage.arrow import from_arrow
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable, TableState

DEFAULT_CACHE_BYTES = 512 * 1024 * 1024
_BATCH_ROWS = 4_096
_MANY = 8
"""From so many namespaces on it is cheaper to ask a table once what changed than for each of them."""


@dataclass(slots=True)
class _Entry:
    """A cached namespace, and the versions of the two tables that it was last compared with."""

    cache: NamespaceCache
    memories: TableState | None = None
    usage: TableState | None = None
    nbytes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class ViewReader:
    """Reads the views below one root. Safe for threads; follows a flip of the generation at the next call.

    At most about `cache_bytes` of namespaces stay in memory; the one used longest ago goes first.
    """

    def __init__(self, views: Views, cache_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self._views = views
        self._cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self._reading: Manifest | None = None
        self._tables: dict[tuple[str, int, str], News] = {}
        self._entries: OrderedDict[tuple[str, Namespace], _Entry] = OrderedDict()
        self.contexts = ContextReader(self.shard_table)
        self.graphs = GraphCache(self.shard_table)
        self.configs = ConfigReader(self.shard_table)
        self.held = HeldNamespaces()
        self.learned = KnowledgeReader(self.shard_tables)

    @property
    def root(self) -> str:
        """Where the views are."""
        return str(self._views.root)

    def manifest(self) -> Manifest:
        """What the generation that is read was built with: the live one.

        After a flip the generation before it is read on until the live one has applied as much of what was
        read, so that nothing once seen is missing later.

        Raises:
            ViewMissingError: there are none yet.
        """
        live = self._views.current()
        if self._reading is None or self._reading == live or self._has_caught_up(self._reading, live):
            self._reading = live
        return self._reading

    def _has_caught_up(self, old: Manifest, live: Manifest) -> bool:
        if old.partitions != live.partitions:
            return True
        with self._lock:
            seen = {at: table for at, table in self._tables.items() if at[0] == old.generation}
        try:
            return all(
                news.table.applied() <= self._applied(live, name, partition)
                for (_, partition, name), news in seen.items()
                if name not in PROJECTED
            )
        except ViewError:
            return True  # the old one is gone

    def _table(self, manifest: Manifest, name: str, partition: int) -> LanceTable:
        return self._news(manifest, name, partition).table

    def _news(self, manifest: Manifest, name: str, partition: int) -> News:
        place = (manifest.generation, partition, name)
        with self._lock:
            if place not in self._tables:
                shard = self._views.shard(manifest.generation, partition)
                table = LanceTable.open(shard, name, TABLES[name], partition)
                kept = {manifest.generation, self._reading.generation if self._reading else ""}
                self._tables = {at: one for at, one in self._tables.items() if at[0] in kept}
                self._tables[place] = News(table)
            return self._tables[place]

    def shard_table(self, name: str, namespace: Namespace) -> tuple[str, LanceTable]:
        """The table `name` in the shard of a namespace, and the generation that it is of.

        Raises:
            ViewMissingError: nothing was applied to that shard yet.
        """
        manifest = self.manifest()
        return manifest.generation, self._table(manifest, name, _partition(manifest, namespace))

    def shard_tables(self, name: str) -> tuple[str, dict[int, LanceTable]]:
        """The table `name` by partition, where there is one, and the generation that they are of.

        Raises:
            ViewMissingError: there are no views yet.
        """
        manifest = self.manifest()
        tables = {}
        for partition in range(manifest.partitions):
            with suppress(ViewMissingError):
                tables[partition] = self._table(manifest, name, partition)
        return manifest.generation, tables

    def partition_of(self, namespace: Namespace) -> int:
        """The partition, and so the shard, of a namespace."""
        return _partition(self.manifest(), namespace)

    def applied(self, topic: str, partition: int) -> int:
        """The next offset of `topic` that some view will apply; 0 where there are none yet."""
        try:
            manifest = self.manifest()
        except ViewMissingError:
            return 0
        fed = [name for name, source in TABLES.items() if source == topic and name not in PROJECTED]
        return min((self._applied(manifest, name, partition) for name in fed), default=0)

    def _applied(self, manifest: Manifest, name: str, partition: int) -> int:
        try:
            return self._table(manifest, name, partition).applied()
        except ViewMissingError:
            return 0

    def rows(self, namespace: Namespace, ids: Collection[str]) -> list[Row]:
        """The rows of memories, tombstones included; unknown ids are left out."""
        return self._lookup("memories", namespace, ids)

    def _lookup(self, name: str, namespace: Namespace, ids: Collection[str]) -> list[Row]:
        try:
            table = self.shard_table(name, namespace)[1]
        except ViewMissingError:
            return []
        return table.lookup("pk", {memory_pk(namespace, memory_id) for memory_id in ids})

    def live_row(self, namespace: Namespace, memory_id: str) -> tuple[Row, Row | None] | None:
        """The row of a memory with its usage; None if there is none.

        It comes out of the cache where the namespace is in it, and then without its history; else it alone is
        looked up, which is slower than that but does not read the namespace.
        """
        try:
            generation = self.manifest().generation
            with self._lock:
                known = (generation, namespace) in self._entries
            if known:
                with self.namespace(namespace) as cache:
                    pk = memory_pk(namespace, memory_id)
                    slot = cache.slot_of.get(pk)
                    return None if slot is None else (cache.row(slot), cache.usage(pk))
        except ViewMissingError:
            return None
        found = self.rows(namespace, [memory_id])
        if not found or found[0]["deleted"]:
            return None
        return found[0], next(iter(self._lookup("usage", namespace, [memory_id])), None)

    def evictions(self, namespace: Namespace) -> dict[str, int]:
        """Rule → how many memories of a namespace it let go."""
        found = self.shard_table("memories", namespace)[1].lookup("pk", [evictions_pk(namespace)])
        return eviction_counts(found[0] if found else None)

    @contextmanager
    def namespace(self, namespace: Namespace) -> Iterator[NamespaceCache]:
        """The namespace as of now, in memory, for this thread alone while the context is open.

        Raises:
            ViewMissingError: nothing was applied to its shard yet.
        """
        manifest = self.manifest()
        entry = self._entry(manifest, namespace)
        with entry.lock:
            grown = self._refresh(entry, manifest, namespace)
            yield entry.cache
        if grown:
            self._evict()

    def _entry(self, manifest: Manifest, namespace: Namespace) -> _Entry:
        place = (manifest.generation, namespace)
        with self._lock:
            entry = self._entries.get(place)
            if entry is None or entry.cache.wasteful:
                entry = self._entries[place] = _Entry(NamespaceCache(manifest.dim))
            self._entries.move_to_end(place)
            return entry

    def _refresh(self, entry: _Entry, manifest: Manifest, namespace: Namespace) -> bool:
        """Bring a cached namespace up to date; whether there was anything to do."""
        partition, name = _partition(manifest, namespace), encode_namespace(namespace)
        memories, usage = (self._news(manifest, name, partition) for name in ("memories", "usage"))
        states = memories.state(), usage.state()
        cache, ours = entry.cache, f"namespace = {literal(name)}"
        used = self._differs(usage, name, entry.usage, states[1], (cache.usage_next_offset, 0))
        if used:
            news = f"{ours} AND _off >= {cache.usage_next_offset} AND pk = memory_pk"
            if entry.usage is None or usage.table.holds(news):
                cache.upsert_usage(from_arrow(usage.table.where(news)))
        changed = self._differs(
            memories, name, entry.memories, states[0], (cache.next_offset, cache.last_fill)
        )
        if changed:
            news = f"{ours} AND (_off >= {cache.next_offset} OR _fill > {cache.last_fill})"
            if count := memories.table.count(news):
                _load(cache, memories.table, news, count)
        entry.memories, entry.usage = states
        if changed or used:
            entry.nbytes = cache.nbytes
        return changed or used

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


def _partition(manifest: Manifest, namespace: Namespace) -> int:
    return partition_of(encode_namespace(namespace).encode(), manifest.partitions)
