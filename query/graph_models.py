"""What the graph is made of, as queries return it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

NodeType: TypeAlias = Literal["entity", "state", "memory"]
Form: TypeAlias = Literal["triple", "transition", "provenance", "link"]
Direction: TypeAlias = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Node:
    """An entity or a state by its name, as it was written, or a memory by its id."""

    type: NodeType
    name: str


@dataclass(frozen=True, slots=True)
class Edge:
    """`source` —`relation`→ `target`, as the memory `memory_id` states it.

    `triple`: a fact's subject, predicate and object. `transition`: from a state by an action, the relation,
    to the next, for a `reward` under a `policy`. `provenance`: from a memory to one that it rests on.
    `link`: from a memory to another. It holds in the world from `valid_from` to before `valid_to`.
    """

    form: Form
    source: Node
    relation: str
    target: Node
    memory_id: str
    confidence: float | None = None
    reward: float | None = None
    policy: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node `distance` steps away, and the `edge` by which it was met first."""

    node: Node
    distance: int
    edge: Edge


@dataclass(frozen=True, slots=True)
class Path:
    """A way from one node to another: one more node than edges, no node twice. Edges may point either way."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def length(self) -> int:
        """How many steps it takes."""
        return len(self.edges)


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one memory: those it has to others, and those that others have to it."""

    outgoing: tuple[Edge, ...]
    incoming: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a memory is from: `upstream` what it rests on, `downstream` what rests on it; nearest first."""

    upstream: tuple[Neighbour, ...]
    downstream: tuple[Neighbour, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity, as it was first written, and how many facts name it."""

    name: str
    facts: int


@dataclass(frozen=True, slots=True)
class Entities:
    """A part of the entities in alphabetical order, and how many there are in `total`."""

    items: tuple[Entity, ...]
    total: int
