"""The graphs of the namespaces in use, kept in memory and fresh from the live views."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mnemolog.query.graph import Graph
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.storage.sql import literal

if TYPE_CHECKING:
    import pyarrow as pa

    from mnemolog.schemas.rows import Row
    from mnemolog.storage.table import LanceTable, TableState

DEFAULT_GRAPH_BYTES = 256 * 1024 * 1024
_PIECE = 4_096
_EDGES = ["id", "deleted", "policy", "superseded", "expires_at", "valid_from", "valid_to", "edges", "_off"]
_PRESENCE = ["id", "deleted", "expires_at", "_off"]
_READ = ("memories", "edges")
TableOf: TypeAlias = Callable[[str, Namespace], "tuple[str, LanceTable]"]
"""Gives the generation that is read, and its table of a name, for a namespace."""


@dataclass(slots=True)
class _Entry:
    """A graph in memory, and the states of the tables that it was last compared with."""

    graph: Graph = field(default_factory=Graph)
    states: dict[str, TableState] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


class GraphCache:
    """About `max_bytes` of graphs by namespace; the one used longest ago goes first. Threads may share it."""

    def __init__(self, table_of: TableOf, max_bytes: int = DEFAULT_GRAPH_BYTES) -> None:
        self._table_of = table_of
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, Namespace], _Entry] = OrderedDict()

    @contextmanager
    def open(self, namespace: Namespace) -> Iterator[Graph]:
        """The graph of a namespace as of now, for this thread alone while the context is open.

        Raises:
            ViewMissingError: nothing was applied to its shard yet.
        """
        generation, tables = self._tables(namespace)
        with self._lock:
            entry = self._entries.get((generation, namespace))
            if entry is None or entry.graph.wasteful:
                entry = self._entries[generation, namespace] = _Entry()
            self._entries.move_to_end((generation, namespace))
        with entry.lock:
            changed = _refresh(entry, tables, namespace)
            yield entry.graph
        if changed:
            self._evict()

    def _tables(self, namespace: Namespace) -> tuple[str, dict[str, LanceTable]]:
        """A generation and its tables; the live one may change between two looks."""
        while True:
            found = {name: self._table_of(name, namespace) for name in _READ}
            generations = {generation for generation, _ in found.values()}
            if len(generations) == 1:
                return generations.pop(), {name: table for name, (_, table) in found.items()}

    def _evict(self) -> None:
        with self._lock:
            sizes = {place: entry.graph.nbytes for place, entry in self._entries.items()}
            total = sum(sizes.values())
            for place in list(self._entries)[:-1]:
                if total <= self._max_bytes:
                    return
                total -= sizes[place]
                del self._entries[place]


def _refresh(entry: _Entry, tables: dict[str, LanceTable], namespace: Namespace) -> bool:
    """Bring a graph up to date; whether there was anything to do."""
    graph, ours = entry.graph, f"namespace = {literal(encode_namespace(namespace))}"
    before = dict(entry.states)
    for name, table in tables.items():
        known = before.get(name)
        state = table.state(known)
        if known is not None and state.version == known.version:
            entry.states[name] = state
            continue
        if name == "edges":
            found = table.where(f"{ours} AND _off >= {graph.next_offset}", _EDGES)
            for rows in _pieces(found.sort_by([("_off", "ascending"), ("id", "ascending")])):
                graph.upsert(rows)
        else:
            since = f"_off >= {graph.memories_next_offset} AND id IS NOT NULL"
            for rows in _pieces(table.where(f"{ours} AND {since}", _PRESENCE)):
                graph.upsert_memories(rows)
        entry.states[name] = state
    return before != entry.states


def _pieces(table: pa.Table) -> Iterator[list[Row]]:
    """The rows of a table, a few at a time: as Python objects they take many times the room."""
    for start in range(0, table.num_rows, _PIECE):
        yield table.slice(start, _PIECE).to_pylist()
