"""One namespace's graph in memory: which edges meet at each node, kept fresh from the edges view."""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
_FORMS: tuple[Form, ...] = tuple(_ENDS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NEVER, _ALWAYS = 2**63 - 1, -(2**63)
_EDGE_BYTES, _MEMORY_BYTES = 250, 200


def normalized(name: str) -> str:
    """What names of one entity have in common: no matter the case, the spaces, the form of letters."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def key_of(type_: NodeType, name: str) -> Key:
    """The key of a node."""
    return type_, name if type_ == "memory" else normalized(name)


def micros(moment: datetime) -> int:
    """A time in microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


@dataclass(frozen=True, slots=True)
class Sight:
    """Which edges count: those of memories that are not expired at `now`, that were not superseded unless
    asked for, that held at `valid_at`, with one of the relations and of the forms if such are named."""

    now: int
    valid_at: int | None = None
    superseded: bool = False
    relations: frozenset[str] | None = None
    form: Form | None = None


class _Memories:
    """The memories that state edges, a number each; times in microseconds since 1970."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.policies: list[str | None] = []
        self.superseded = bytearray()
        self.expires, self.valid_from, self.valid_to = array("q"), array("q"), array("q")

    def add(self, row: Row) -> int:
        """The number of a memory, taken from its row of the edges view."""
        self.ids.append(row["id"])
        self.policies.append(row["policy"])
        self.superseded.append(bool(row["superseded"]))
        self.expires.append(_micros(row["expires_at"], _NEVER))
        self.valid_from.append(_micros(row["valid_from"], _ALWAYS))
        self.valid_to.append(_micros(row["valid_to"], _NEVER))
        return len(self.ids) - 1


class Graph:
    """The edges of one namespace by the nodes where they meet. Not safe for threads: its owner has a lock.

    Edges are numbers into columns: as objects they would take five times the room, and stall the program
    whenever Python looks for garbage among them.
    """

    def __init__(self) -> None:
        self.next_offset = 0
        self.memories_next_offset = 0
        self._memories = _Memories()
        self._by = array("l")
        self._form = bytearray()
        self._relation: list[str] = []
        self._source, self._target = array("l"), array("l")
        self._confidence: list[float | None] = []
        self._reward: list[float | None] = []
        self._spelled: list[tuple[Key, str]] = []
        self._spelling: dict[tuple[NodeType, str], int] = {}
        self._relations: dict[str, str] = {}
        self._stated: dict[str, tuple[int, ...]] = {}
        self._out: dict[Key, list[int]] = {}
        self._in: dict[Key, list[int]] = {}
        self._expiry: dict[str, int] = {}
        self._entities: list[str] | None = None
        self._count = 0

    @property
    def nbytes(self) -> int:
        """About how much memory this takes."""
        return _EDGE_BYTES * len(self._by) + _MEMORY_BYTES * len(self._expiry)

    @property
    def wasteful(self) -> bool:
        """Whether edges that are gone outweigh those that are there, so that a reload is due."""
        return len(self._by) > 2 * self._count + 1_000

    def upsert(self, rows: Iterable[Row]) -> None:
        """Take rows of the edges view as they stand now, tombstones among them, in the order of `_off`."""
        self._entities = None
        for row in rows:
            self.next_offset = max(self.next_offset, row["_off"] + 1)
            self._drop(row["id"])
            if not row["deleted"]:
                self._add(row)

    def upsert_memories(self, rows: Iterable[Row]) -> None:
        """Take what says of the memories view whether a memory is there: id, deleted, expires_at, _off."""
        for row in rows:
            self.memories_next_offset = max(self.memories_next_offset, row["_off"] + 1)
            if row["deleted"]:
                self._expiry.pop(row["id"], None)
            else:
                self._expiry[row["id"]] = _micros(row["expires_at"], _NEVER)

    def _add(self, row: Row) -> None:
        by = self._memories.add(row)
        self._stated[row["id"]] = tuple([self._add_edge(edge, by) for edge in row["edges"]])
        self._count += len(row["edges"])

    def _add_edge(self, edge: Row, by: int) -> int:
        type_ = _ENDS[edge["form"]]
        source = self._end(type_, self._memories.ids[by] if edge["source"] is None else edge["source"])
        target = self._end(type_, edge["target"])
        number = len(self._by)
        self._by.append(by)
        self._form.append(_FORMS.index(edge["form"]))
        self._relation.append(self._relations.setdefault(edge["relation"], edge["relation"]))
        self._source.append(source)
        self._target.append(target)
        self._confidence.append(edge["confidence"])
        self._reward.append(edge["reward"])
        self._out.setdefault(self._spelled[source][0], []).append(number)
        self._in.setdefault(self._spelled[target][0], []).append(number)
        return number

    def _end(self, type_: NodeType, name: str) -> int:
        """The number of a spelling of a node."""
        number = self._spelling.setdefault((type_, name), len(self._spelled))
        if number == len(self._spelled):
            self._spelled.append((key_of(type_, name), name))
        return number

    def _drop(self, memory_id: str) -> None:
        edges = self._stated.pop(memory_id, ())
        self._count -= len(edges)
        for edge in edges:
            for ends, spelling in ((self._out, self._source[edge]), (self._in, self._target[edge])):
                key = self._spelled[spelling][0]
                ends[key].remove(edge)
                if not ends[key]:
                    del ends[key]

    def has(self, key: Key) -> bool:
        """Whether a node is there."""
        return key in self._out or key in self._in or (key[0] == "memory" and key[1] in self._expiry)

    def steps(self, key: Key, direction: Direction, sight: Sight) -> Iterator[tuple[int, Key]]:
        """The visible edges at a node, each with the node at its other end; oldest first, outgoing first."""
        if direction != "in":
            for edge in self._out.get(key, ()):
                if self._visible(edge, sight):
                    yield edge, self._spelled[self._target[edge]][0]
        if direction != "out":
            for edge in self._in.get(key, ()):
                if self._visible(edge, sight):
                    yield edge, self._spelled[self._source[edge]][0]

    def _visible(self, edge: int, sight: Sight) -> bool:
        by, memories = self._by[edge], self._memories
        if memories.expires[by] <= sight.now or (memories.superseded[by] and not sight.superseded):
            return False
        if sight.valid_at is not None and not (
            memories.valid_from[by] <= sight.valid_at < memories.valid_to[by]
        ):
            return False
        if sight.relations is not None and self._relation[edge] not in sight.relations:
            return False
        if sight.form is not None and _FORMS[self._form[edge]] != sight.form:
            return False
        type_, name = self._spelled[self._target[edge]][0]
        return type_ != "memory" or self._expiry.get(name, _ALWAYS) > sight.now

    def entities(self, prefix: str) -> Sequence[str]:
        """The normalized names of entities that begin with a normalized `prefix`, in order."""
        if self._entities is None:
            ends = (key for ends in (self._out, self._in) for key in ends)
            self._entities = sorted({name for type_, name in ends if type_ == "entity"})
        start = bisect_left(self._entities, prefix)
        end = start
        while end < len(self._entities) and self._entities[end].startswith(prefix):
            end += 1
        return self._entities[start:end]

    def node(self, edge: int, key: Key) -> Node:
        """The end of an edge at `key`, as the edge spells it."""
        at_source, name = self._spelled[self._source[edge]]
        return Node(key[0], name if key == at_source else self._spelled[self._target[edge]][1])

    def edge(self, edge: int) -> Edge:
        """An edge as queries return it."""
        by, memories, form = self._by[edge], self._memories, _FORMS[self._form[edge]]
        ends = (self._spelled[end] for end in (self._source[edge], self._target[edge]))
        source, target = (Node(key[0], name) for key, name in ends)
        return Edge(
            form=form,
            source=source,
            relation=self._relation[edge],
            target=target,
            memory_id=memories.ids[by],
            confidence=self._confidence[edge],
            reward=self._reward[edge],
            policy=memories.policies[by] if form == "transition" else None,
            valid_from=_moment(memories.valid_from[by]),
            valid_to=_moment(memories.valid_to[by]),
            superseded=bool(memories.superseded[by]),
        )


def _micros(moment: datetime | None, otherwise: int) -> int:
    return otherwise if moment is None else micros(moment)


def _moment(micros: int) -> datetime | None:
    return None if micros in (_ALWAYS, _NEVER) else _EPOCH + micros * _MICROSECOND
