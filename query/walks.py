"""Walks through a graph: who is near, and which ways lead from one node to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from mnemolog.query.graph import Graph, Key, Sight
from mnemolog.query.graph_models import Direction, Neighbour, Path

Hop: TypeAlias = tuple[int, Key]
"""An edge, and the node that it leads to."""


def neighbours(
    graph: Graph, start: Key, sight: Sight, *, depth: int, direction: Direction, limit: int
) -> list[Neighbour]:
    """The nodes up to `depth` steps from `start`, nearest first, `limit` of them at most."""
    found: list[Neighbour] = []
    seen, border = {start}, [start]
    for distance in range(1, depth + 1):
        reached: list[Key] = []
        for key in border:
            for edge, other in graph.steps(key, direction, sight):
                if other in seen:
                    continue
                seen.add(other)
                reached.append(other)
                found.append(Neighbour(graph.node(edge, other), distance, graph.edge(edge)))
                if len(found) == limit:
                    return found
        border = reached
    return found


def paths(graph: Graph, start: Key, end: Key, sight: Sight, *, max_depth: int, limit: int) -> list[Path]:
    """The ways from `start` to `end` that meet no node twice, shortest first, `limit` of them at most.

    Edges are walked either way. Of several edges between two nodes the oldest stands for all.
    """
    if start == end:
        return []
    left = _distances(graph, end, sight, max_depth)
    found: list[Path] = []
    for length in range(left.get(start, max_depth + 1), max_depth + 1):
        for hops in _ways(graph, (start,), end, length, sight, left):
            found.append(_path(graph, start, hops))
            if len(found) == limit:
                return found
    return found


def _distances(graph: Graph, end: Key, sight: Sight, depth: int) -> dict[Key, int]:
    """How many steps each node up to `depth` away is from `end`."""
    found, border = {end: 0}, [end]
    for distance in range(1, depth + 1):
        reached = {other for key in border for _, other in graph.steps(key, "both", sight)} - found.keys()
        found |= dict.fromkeys(reached, distance)
        border = list(reached)
    return found


def _ways(
    graph: Graph, met: tuple[Key, ...], end: Key, length: int, sight: Sight, left: dict[Key, int]
) -> Iterator[tuple[Hop, ...]]:
    """The ways of exactly `length` steps from the last node in `met` to `end`, past none of `met`."""
    tried: set[Key] = set()
    for edge, other in graph.steps(met[-1], "both", sight):
        if other in tried or other in met or left.get(other, length) > length - 1:
            continue
        tried.add(other)
        if length == 1:
            yield ((edge, other),)
        elif other != end:
            for rest in _ways(graph, (*met, other), end, length - 1, sight, left):
                yield ((edge, other), *rest)


def _path(graph: Graph, start: Key, hops: tuple[Hop, ...]) -> Path:
    nodes = [graph.node(hops[0][0], start), *(graph.node(edge, key) for edge, key in hops)]
    return Path(tuple(nodes), tuple(graph.edge(edge) for edge, _ in hops))
