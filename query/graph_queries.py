"""The questions that can be asked of one namespace's graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from mnemolog.query.graph import Graph, Key, Sight, key_of, micros, normalized
from mnemolog.query.graph_cache import GraphCache
from mnemolog.query.graph_models import (
    Direction,
    Entities,
    Entity,
    Form,
    Links,
    Neighbour,
    NodeType,
    Path,
    Provenance,
)
from mnemolog.query.walks import neighbours, paths
from mnemolog.schemas.checks import check_count, check_moment, check_string
from mnemolog.schemas.errors import InvalidInputError, ViewMissingError
from mnemolog.schemas.namespaces import Namespace

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock

MAX_DEPTH = 5
MAX_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class GraphQueries:
    """Reads the graph of one namespace. Threads may share it. Nothing known yet is an empty answer."""

    cache: GraphCache
    namespace: Namespace
    clock: Clock

    def neighbours(
        self,
        node: str,
        *,
        type: NodeType | None = None,  # noqa: A002 the field's standard name
        depth: int = 1,
        predicates: Iterable[str] | None = None,
        direction: Direction = "both",
        limit: int = 100,
        valid_at: datetime | None = None,
        include_superseded: bool = False,
    ) -> list[Neighbour]:
        """See `Graphing.neighbours`."""
        _check_node("node", node, type)
        check_count("depth", depth, 1, MAX_DEPTH)
        check_count("limit", limit, 1, MAX_LIMIT)
        if direction not in get_args(Direction):
            known = ", ".join(get_args(Direction))
            raise InvalidInputError(f"direction is one of {known}, not {direction!r:.80}", field="direction")
        sight = self._sight(predicates, valid_at, include_superseded)
        try:
            with self.cache.open(self.namespace) as graph:
                start = _find(graph, node, type)
                return neighbours(graph, start, sight, depth=depth, direction=direction, limit=limit)
        except ViewMissingError:
            return []

    def paths(
        self,
        start: str,
        end: str,
        *,
        max_depth: int = 4,
        predicates: Iterable[str] | None = None,
        limit: int = 10,
        valid_at: datetime | None = None,
        include_superseded: bool = False,
    ) -> list[Path]:
        """See `Graphing.paths`."""
        _check_node("start", start, None)
        _check_node("end", end, None)
        check_count("max_depth", max_depth, 1, MAX_DEPTH)
        check_count("limit", limit, 1, MAX_LIMIT)
        sight = self._sight(predicates, valid_at, include_superseded)
        try:
            with self.cache.open(self.namespace) as graph:
                ends = _find(graph, start, None), _find(graph, end, None)
                return paths(graph, *ends, sight, max_depth=max_depth, limit=limit)
        except ViewMissingError:
            return []

    def links(self, memory_id: str) -> Links:
        """See `Graphing.links`."""
        check_string("id", memory_id)
        sight = self._sight(None, None, True, "link")
        try:
            with self.cache.open(self.namespace) as graph:
                ways = (graph.steps(("memory", memory_id), way, sight) for way in _WAYS)
                outgoing, incoming = (tuple(graph.edge(edge) for edge, _ in way) for way in ways)
                return Links(outgoing, incoming)
        except ViewMissingError:
            return Links((), ())

    def provenance(self, memory_id: str, *, depth: int = MAX_DEPTH, limit: int = 100) -> Provenance:
        """See `Graphing.provenance`."""
        check_string("id", memory_id)
        check_count("depth", depth, 1, MAX_DEPTH)
        check_count("limit", limit, 1, MAX_LIMIT)
        sight, start = self._sight(None, None, True, "provenance"), key_of("memory", memory_id)
        try:
            with self.cache.open(self.namespace) as graph:
                upstream, downstream = (
                    tuple(neighbours(graph, start, sight, depth=depth, direction=way, limit=limit))
                    for way in _WAYS
                )
                return Provenance(upstream, downstream)
        except ViewMissingError:
            return Provenance((), ())

    def entities(self, prefix: str | None = None, *, limit: int = 100, offset: int = 0) -> Entities:
        """See `Graphing.entities`."""
        check_count("limit", limit, 0, MAX_LIMIT)
        check_count("offset", offset, 0, 2**62)
        begin = "" if prefix is None else normalized(check_string("prefix", prefix))
        sight = self._sight(None, None, False)
        try:
            with self.cache.open(self.namespace) as graph:
                found = [entity for name in graph.entities(begin) if (entity := _entity(graph, name, sight))]
                return Entities(tuple(found[offset : offset + limit]), len(found))
        except ViewMissingError:
            return Entities((), 0)

    def _sight(
        self,
        relations: Iterable[str] | None,
        valid_at: datetime | None,
        superseded: bool,
        form: Form | None = None,
    ) -> Sight:
        return Sight(
            micros(self.clock()),
            None if valid_at is None else micros(check_moment("valid_at", valid_at)),
            superseded,
            _names(relations),
            form,
        )


_WAYS: tuple[Direction, Direction] = ("out", "in")


def _check_node(field: str, name: str, type_: str | None) -> None:
    if not check_string(field, name).strip():
        raise InvalidInputError(f"{field} is blank", field=field)
    if type_ is not None and type_ not in get_args(NodeType):
        known = ", ".join(get_args(NodeType))
        raise InvalidInputError(f"type is one of {known}, not {type_!r:.80}", field="type")


def _find(graph: Graph, name: str, type_: NodeType | None) -> Key:
    """The node that a name means: of the type, else the first of entity, memory and state that is there."""
    if type_ is not None:
        return key_of(type_, name)
    kinds: tuple[NodeType, ...] = ("entity", "memory", "state")
    keys = [key_of(kind, name) for kind in kinds]
    return next((key for key in keys if graph.has(key)), keys[0])


def _entity(graph: Graph, name: str, sight: Sight) -> Entity | None:
    key: Key = ("entity", name)
    edges = list(dict.fromkeys(edge for edge, _ in graph.steps(key, "both", sight)))
    if not edges:
        return None
    return Entity(graph.node(edges[0], key).name, len(edges))


def _names(relations: Iterable[str] | None) -> frozenset[str] | None:
    if relations is None:
        return None
    if isinstance(relations, str | bytes) or not isinstance(relations, Iterable):
        raise InvalidInputError(
            f"predicates: give a list of strings, not {relations!r:.80}", field="predicates"
        )
    return frozenset(check_string("predicates", name) for name in relations)
