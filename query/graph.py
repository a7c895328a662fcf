"""One namespace's graph in memory: which edges meet at each node, kept fresh from the edges view."""

from __future__ import annotations

import math
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from mnemolog.query.graph_models import Direction, Edge, Form, Node, NodeType
from mnemolog.schemas.rows import Row

Key: TypeAlias = tuple[NodeType, str]
"""A node: its type, and its normalized name or the memory's id."""

_ENDS: dict[Form, NodeType] = {
    "triple": "entity",
    "transition": "state",
    "provenance": "memory",
    "link": "memory",
}
_EDGE_BYTES, _MEMORY_BYTES = 700, 200


def normalized(name: str) -> str:
    """What names of one entity have in common: no matter the case, the spaces, the form of letters."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def key_of(type_: NodeType, name: str) -> Key:
    """The key of a node."""
    return type_, name if type_ == "memory" else normalized(name)


@dataclass(slots=True, eq=False)
class Stating:
    """The memory that states edges, and when they show. Times are in seconds since 1970, ±inf for none."""

    id: str
    policy: str | None
    superseded: bool
    expires: float
    valid_from: float
    valid_to: float
    dates: tuple[datetime | None, datetime | None]


@dataclass(slots=True, eq=False)
class Stated:
    """An edge as a memory states it. Not frozen, which would take three times as long to make."""

    form: Form
    relation: str
    source: Key
    target: Key
    names: tuple[str, str]
    confidence: float | None
    reward: float | None
    by: Stating


@dataclass(frozen=True, slots=True)
class Sight:
    """Which edges count: those of memories that are not expired at `now`, that were not superseded unless
    asked for, that held at `valid_at`, with one of the relations and forms if such are named."""

    now: float
    valid_at: float | None = None
    superseded: bool = False
    relations: frozenset[str] | None = None
    forms: frozenset[Form] | None = None


class Graph:
    """The edges of one namespace by the nodes where they meet. Not safe for threads: its owner has a lock."""

    def __init__(self) -> None:
        self.next_offset = 0
        self.memories_next_offset = 0
        self._stated: dict[str, tuple[Stated, ...]] = {}
        self._out: dict[Key, list[Stated]] = {}
        self._in: dict[Key, list[Stated]] = {}
        self._expiry: dict[str, float] = {}
        self._ends: dict[tuple[Form, str], tuple[Key, str]] = {}
        self._keys: dict[Key, Key] = {}
        self._entities: list[str] | None = None
        self._count = 0

    @property
    def nbytes(self) -> int:
        """About how much memory this takes."""
        return _EDGE_BYTES * self._count + _MEMORY_BYTES * len(self._expiry)

    def upsert(self, rows: Iterable[Row]) -> None:
        """Take rows of the edges view as they stand now, tombstones among them, in the order of `_off`."""
        for row in rows:
            self.next_offset = max(self.next_offset, row["_off"] + 1)
            self._drop(row["id"])
            if not row["deleted"]:
                self._add(row["id"], self._read(row))
            self._entities = None

    def _read(self, row: Row) -> tuple[Stated, ...]:
        by = _stating(row)
        return tuple(self._edge(edge, by) for edge in row["edges"])

    def _edge(self, edge: Row, by: Stating) -> Stated:
        form: Form = edge["form"]
        source, source_name = self._end(form, by.id if edge["source"] is None else edge["source"])
        target, target_name = self._end(form, edge["target"])
        names = source_name, target_name
        return Stated(form, edge["relation"], source, target, names, edge["confidence"], edge["reward"], by)

    def _end(self, form: Form, name: str) -> tuple[Key, str]:
        """The key and the spelling of an end: one object for all edges that have it."""
        place = form, name
        known = self._ends.get(place)
        if known is None:
            key = key_of(_ENDS[form], name)
            known = self._ends[place] = (self._keys.setdefault(key, key), name)
        return known

    def upsert_memories(self, rows: Iterable[Row]) -> None:
        """Take what says of the memories view whether a memory is there: id, deleted, expires_at, _off."""
        for row in rows:
            self.memories_next_offset = max(self.memories_next_offset, row["_off"] + 1)
            if row["deleted"]:
                self._expiry.pop(row["id"], None)
            else:
                self._expiry[row["id"]] = _seconds(row["expires_at"], math.inf)

    def _add(self, memory_id: str, edges: tuple[Stated, ...]) -> None:
        self._stated[memory_id] = edges
        self._count += len(edges)
        for edge in edges:
            self._out.setdefault(edge.source, []).append(edge)
            self._in.setdefault(edge.target, []).append(edge)

    def _drop(self, memory_id: str) -> None:
        edges = self._stated.pop(memory_id, ())
        self._count -= len(edges)
        for edge in edges:
            for ends, key in ((self._out, edge.source), (self._in, edge.target)):
                ends[key].remove(edge)
                if not ends[key]:
                    del ends[key]

    def has(self, key: Key) -> bool:
        """Whether a node is there."""
        return key in self._out or key in self._in or (key[0] == "memory" and key[1] in self._expiry)

    def steps(self, key: Key, direction: Direction, sight: Sight) -> Iterator[tuple[Stated, Key]]:
        """The visible edges at a node, each with the node at its other end; oldest first, outgoing first."""
        if direction != "in":
            for edge in self._out.get(key, ()):
                if self._visible(edge, sight):
                    yield edge, edge.target
        if direction != "out":
            for edge in self._in.get(key, ()):
                if self._visible(edge, sight):
                    yield edge, edge.source

    def _visible(self, edge: Stated, sight: Sight) -> bool:
        by = edge.by
        if by.expires <= sight.now or (by.superseded and not sight.superseded):
            return False
        if sight.valid_at is not None and not by.valid_from <= sight.valid_at < by.valid_to:
            return False
        if sight.relations is not None and edge.relation not in sight.relations:
            return False
        if sight.forms is not None and edge.form not in sight.forms:
            return False
        kind, name = edge.target
        return kind != "memory" or self._expiry.get(name, -math.inf) > sight.now

    def entities(self, prefix: str) -> Collection[str]:
        """The normalized names of entities that begin with a normalized `prefix`, in order."""
        if self._entities is None:
            ends = (key for ends in (self._out, self._in) for key in ends)
            self._entities = sorted({name for kind, name in ends if kind == "entity"})
        start = bisect_left(self._entities, prefix)
        end = start
        while end < len(self._entities) and self._entities[end].startswith(prefix):
            end += 1
        return self._entities[start:end]


def to_edge(edge: Stated) -> Edge:
    """An edge as queries return it."""
    begin, end = edge.by.dates
    return Edge(
        form=edge.form,
        source=Node(edge.source[0], edge.names[0]),
        relation=edge.relation,
        target=Node(edge.target[0], edge.names[1]),
        memory_id=edge.by.id,
        confidence=edge.confidence,
        reward=edge.reward,
        policy=edge.by.policy if edge.form == "transition" else None,
        valid_from=begin,
        valid_to=end,
        superseded=edge.by.superseded,
    )


def to_node(edge: Stated, key: Key) -> Node:
    """The end of an edge at `key`, as the edge spells it."""
    return Node(key[0], edge.names[0] if key == edge.source else edge.names[1])


def _stating(row: Row) -> Stating:
    return Stating(
        row["id"],
        row["policy"],
        bool(row["superseded"]),
        _seconds(row["expires_at"], math.inf),
        _seconds(row["valid_from"], -math.inf),
        _seconds(row["valid_to"], math.inf),
        (_utc(row["valid_from"]), _utc(row["valid_to"])),
    )


def _seconds(moment: datetime | None, otherwise: float) -> float:
    return otherwise if moment is None else moment.timestamp()


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
