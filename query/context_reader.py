"""Reading the context view: the namespaces in use stay in memory, kept fresh from their shards."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from mnemolog.query.context_cache import ContextCache, Held
from mnemolog.schemas.errors import ViewError, ViewMissingError
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import Row
from mnemolog.storage.arrow import from_arrow
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable, TableState

DEFAULT_CONTEXT_BYTES = 64 * 1024 * 1024
_BATCH_ROWS = 1_000

ShardTable: TypeAlias = Callable[[str, Namespace], tuple[str, LanceTable]]
"""Gives the table of a name in the shard of a namespace, and its generation."""


@dataclass(slots=True)
class _Entry:
    """A cached namespace, and the state of the table that it was last compared with."""

    cache: ContextCache
    generation: str
    state: TableState | None = None
    nbytes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class ContextReader:
    """Reads context through `shard_table`. Safe for threads.

    At most about `room` bytes stay in memory: values go first that were not used for longest, and are read
    again when they are asked for; then whole namespaces.
    """

    def __init__(self, shard_table: ShardTable, room: int = DEFAULT_CONTEXT_BYTES) -> None:
        self._shard_table = shard_table
        self._room = room
        self._lock = threading.Lock()
        self._entries: OrderedDict[Namespace, _Entry] = OrderedDict()

    @contextmanager
    def namespace(self, namespace: Namespace) -> Iterator[ContextCache]:
        """The context of a namespace as of now, for this thread alone while the context manager is open."""
        try:
            generation, table = self._shard_table("context", namespace)
        except ViewMissingError:
            yield ContextCache(self._room)
            return
        entry = self._entry(namespace, generation)
        with entry.lock:
            grown = _refresh(entry, table, namespace)
            yield entry.cache
        if grown:
            self._evict()

    def texts(self, namespace: Namespace, cache: ContextCache, entries: Sequence[Held]) -> list[str]:
        """The values of entries of `cache`, as JSON, in order; read from the view where there was no room.

        To be called while the namespace is held. A value that is gone by now is an empty text.
        """
        lacking = [held.pk for held in entries if held.text is None]
        found: dict[str, str] = {}
        if lacking:
            rows = self._shard_table("context", namespace)[1].lookup("pk", lacking)
            found = {row["pk"]: row["value"] or "" for row in rows}
        texts = [found.get(held.pk, "") if held.text is None else held.text for held in entries]
        for held, text in zip(entries, texts, strict=True):
            cache.used(held) if held.text is not None else cache.keep_text(held, text)
        return texts

    def _entry(self, namespace: Namespace, generation: str) -> _Entry:
        with self._lock:
            entry = self._entries.get(namespace)
            if entry is None or entry.generation != generation:
                entry = self._entries[namespace] = _Entry(ContextCache(self._room), generation)
            self._entries.move_to_end(namespace)
            return entry

    def _evict(self) -> None:
        with self._lock:
            total = sum(entry.nbytes for entry in self._entries.values())
            for namespace in list(self._entries)[:-1]:
                if total <= self._room:
                    return
                total -= self._entries.pop(namespace).nbytes


def _refresh(entry: _Entry, table: LanceTable, namespace: Namespace) -> bool:
    """Bring a cached namespace up to date; whether there was anything to do."""
    state = table.state(entry.state)
    if entry.state is not None and entry.state.version == state.version:
        entry.state = state
        return False
    ours = f"namespace = {literal(encode_namespace(namespace))}"
    changed = entry.cache.upsert(_rows(table, f"{ours} AND _off >= {entry.cache.next_offset}"))
    entry.state, entry.nbytes = state, entry.cache.nbytes
    return changed


def _rows(table: LanceTable, condition: str) -> Iterator[Row]:
    """The rows for which a condition holds, a batch at a time: all together they may be large."""
    try:
        reader: pa.RecordBatchReader = table.lance.search().where(condition).to_batches(_BATCH_ROWS)
        for batch in reader:
            yield from from_arrow(pa.Table.from_batches([batch]))
    except (OSError, RuntimeError, ValueError) as error:
        raise ViewError(f"the view could not be read: {error}") from error
