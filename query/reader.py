"""Reading the live views: one shard for a namespace, with the namespaces in use kept in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import Row, memory_pk
from mnemolog.schemas.topics import FEEDBACK, MEMORIES, partition_of
from mnemolog.storage.arrow import from_arrow
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable, TableState

DEFAULT_CACHE_BYTES = 512 * 1024 * 1024
_TABLES = {MEMORIES: "memories", FEEDBACK: "usage"}


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
        self._tables: dict[tuple[str, int, str], LanceTable] = {}
        self._entries: OrderedDict[tuple[str, Namespace], _Entry] = OrderedDict()

    def manifest(self) -> Manifest:
        """What the live views were built with.

        Raises:
            ViewMissingError: there are none yet.
        """
        return self._views.current()

    def table(self, topic: str, partition: int) -> LanceTable:
        """The table of the live generation that `topic` feeds, in the shard of `partition`.

        Raises:
            ViewMissingError: nothing was applied there yet.
        """
        manifest = self.manifest()
        place = (manifest.generation, partition, _TABLES[topic])
        with self._lock:
            if place not in self._tables:
                self._tables = {at: table for at, table in self._tables.items() if at[0] == place[0]}
                self._tables[place] = self._open(manifest, topic, partition)
            return self._tables[place]

    def _open(self, manifest: Manifest, topic: str, partition: int) -> LanceTable:
        return LanceTable.open(
            self._views.shard(manifest.generation, partition), _TABLES[topic], topic, partition
        )

    def partition_of(self, namespace: Namespace) -> int:
        """The partition, and so the shard, of a namespace."""
        return partition_of(encode_namespace(namespace).encode(), self.manifest().partitions)

    def applied(self, topic: str, partition: int) -> int:
        """The next offset that the live views will apply; 0 where there are none yet."""
        try:
            return self.table(topic, partition).applied()
        except ViewMissingError:
            return 0

    def rows(self, namespace: Namespace, ids: Collection[str]) -> list[tuple[Row, Row | None]]:
        """The rows of memories, tombstones included, each with its usage; unknown ids are left out."""
        pks = {memory_pk(namespace, memory_id) for memory_id in ids}
        try:
            partition = self.partition_of(namespace)
            found = self.table(MEMORIES, partition).lookup("pk", pks)
            usage = {row["pk"]: row for row in self.table(FEEDBACK, partition).lookup("pk", pks)}
        except ViewMissingError:
            return []
        return [(row, usage.get(row["pk"])) for row in found]

    @contextmanager
    def namespace(self, namespace: Namespace) -> Iterator[NamespaceCache]:
        """The namespace as of now, in memory, for this thread alone while the context is open.

        Raises:
            ViewMissingError: nothing was applied to its shard yet.
        """
        entry = self._entry(namespace)
        with entry.lock:
            grown = self._refresh(entry, namespace)
            yield entry.cache
        if grown:
            self._evict()

    def _entry(self, namespace: Namespace) -> _Entry:
        manifest = self.manifest()
        place = (manifest.generation, namespace)
        with self._lock:
            entry = self._entries.get(place)
            if entry is None or entry.cache.wasteful:
                entry = self._entries[place] = _Entry(NamespaceCache(manifest.dim))
            self._entries.move_to_end(place)
            return entry

    def _refresh(self, entry: _Entry, namespace: Namespace) -> bool:
        """Bring a cached namespace up to date; whether there was anything to do."""
        partition, name = self.partition_of(namespace), encode_namespace(namespace)
        memories, usage = self.table(MEMORIES, partition), self.table(FEEDBACK, partition)
        states = memories.state(entry.memories), usage.state(entry.usage)
        memories_changed = _version(states[0]) != _version(entry.memories)
        usage_changed = _version(states[1]) != _version(entry.usage)
        cache, ours = entry.cache, f"namespace = {literal(name)}"
        if usage_changed:
            since = f"_off >= {cache.usage_next_offset} AND pk = memory_pk"
            cache.upsert_usage(from_arrow(usage.where(f"{ours} AND {since}")))
        if memories_changed:
            since = f"(_off >= {cache.next_offset} OR _fill > {cache.last_fill})"
            cache.upsert(memories.where(f"{ours} AND {since}"))
        entry.memories, entry.usage = states
        if memories_changed or usage_changed:
            entry.nbytes = cache.nbytes
        return memories_changed or usage_changed

    def _evict(self) -> None:
        with self._lock:
            sizes = {place: entry.nbytes for place, entry in self._entries.items()}
            total = sum(sizes.values())
            for place in list(self._entries)[:-1]:
                if total <= self._cache_bytes:
                    return
                total -= sizes[place]
                del self._entries[place]


def _version(state: TableState | None) -> int:
    return -1 if state is None else state.version
