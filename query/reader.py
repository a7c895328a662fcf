"""Reading the live views: one shard for a namespace, with the namespaces in use kept in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import AbstractContextManager, suppress

from mnemolog.query.config_reader import ConfigReader
from mnemolog.query.context_reader import ContextReader
from mnemolog.query.graph_cache import GraphCache
from mnemolog.query.held_namespaces import HeldNamespaces
from mnemolog.query.knowledge_reader import KnowledgeReader
from mnemolog.query.large_namespace import InView
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.news import News
from mnemolog.query.read_namespaces import ReadNamespaces
from mnemolog.schemas.errors import ViewError, ViewMissingError
from mnemolog.schemas.evictions import eviction_counts, evictions_pk
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import PROJECTED, TABLES, Row, memory_pk
from mnemolog.schemas.topics import partition_of
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.table import LanceTable

DEFAULT_CACHE_BYTES = 512 * 1024 * 1024


class ViewReader:
    """Reads the views below one root. Safe for threads; follows a flip of the generation at the next call.

    At most about `cache_bytes` of namespaces stay in memory; the one used longest ago goes first. One that
    alone would take more is recalled from by searches in the view, unless `always_cached`.
    """

    def __init__(
        self, views: Views, cache_bytes: int = DEFAULT_CACHE_BYTES, *, always_cached: bool = False
    ) -> None:
        self._views = views
        self._lock = threading.Lock()
        self._reading: Manifest | None = None
        self._tables: dict[tuple[str, int, str], News] = {}
        self._read = ReadNamespaces(self._both, cache_bytes, always_cached=always_cached)
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
            if self._read.knows(generation, namespace):
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

    def _both(self, manifest: Manifest, namespace: Namespace) -> tuple[News, News]:
        partition = _partition(manifest, namespace)
        return self._news(manifest, "memories", partition), self._news(manifest, "usage", partition)

    def namespace(self, namespace: Namespace) -> AbstractContextManager[NamespaceCache]:
        """The namespace as of now, in memory, for this thread alone while the context is open: all of it,
        however large it is.

        Raises:
            ViewMissingError: nothing was applied to its shard yet.
        """
        return self._read.cached(self.manifest(), namespace)

    def recallable(self, namespace: Namespace) -> AbstractContextManager[NamespaceCache | InView]:
        """The namespace as of now: in memory, for this thread alone while the context is open, or in the view
        if it is too large for that.

        Raises:
            ViewMissingError: nothing was applied to its shard yet.
        """
        return self._read.recallable(self.manifest(), namespace)


def _partition(manifest: Manifest, namespace: Namespace) -> int:
    return partition_of(encode_namespace(namespace).encode(), manifest.partitions)
