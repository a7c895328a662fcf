"""The edges that rows state, and the graph in memory: kept fresh as if it were new; walks as defined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.folding import START, View, forget, remember, update
from support.folding import given as given_events
from support.histories import IDS, NAMESPACES, Step, histories
from support.properties import examples
from support.shards import Shard, after_each

from mnemolog.processors.folds.edges import EdgesProjection
from mnemolog.query.graph import Graph, Key, Sight, key_of, micros, normalized
from mnemolog.query.walks import neighbours, paths
from mnemolog.schemas import events as ev
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import EDGES_FIELDS, Row

NAMESPACE = encode_namespace(NAMESPACES[0])
NOW = micros(START)
EVERYTHING = Sight(NOW, superseded=True)
NODES: list[Key] = [
    *(("memory", name) for name in IDS),
    *(key_of("entity", name) for name in ("Al", "tea", "咖啡")),
    *(key_of("state", name) for name in ("thirsty", "awake")),
]


# ---- the projection: given events, then edges


def edges(view: View, memory_id: str) -> Any:
    row = EdgesProjection().row(view[memory_id])
    assert row is None or row.keys() == {field.name for field in EDGES_FIELDS}
    return row and (row["deleted"] or [_parts(edge) for edge in row["edges"]])


def _parts(edge: Row) -> tuple[Any, ...]:
    return tuple(value for value in edge.values() if value is not None)


TRIPLE = {"form": "triple", "subject": "Al", "predicate": "likes", "object": "tea", "confidence": 0.5}
REWARD = {"form": "reward", "state": "s", "action": "a", "reward": -1.5, "next_state": "t"}
REFLECTION = {"form": "reflection", "content": "c", "lesson": "l", "source_episode": "e"}


@pytest.mark.parametrize(
    ("fields", "stated"),
    [
        ({}, None),
        ({"detail": {"form": "episode", "outcome": "success"}}, True),
        ({"detail": TRIPLE}, [("triple", "likes", "Al", "tea", 0.5)]),
        ({"detail": REWARD}, [("transition", "a", "s", "t", -1.5)]),
        ({"detail": {**REWARD, "next_state": None}}, True),
        ({"detail": REFLECTION}, [("provenance", "reflects_on", "e")]),
        ({"sources": ["x", "y"]}, [("provenance", "derived_from", "x"), ("provenance", "derived_from", "y")]),
    ],
)
def test_a_row_states_its_edges(fields: dict[str, Any], stated: Any) -> None:
    assert edges(given_events(remember("m", "text", **fields)), "m") == stated


def link(target: str, relation: str = "related", **fields: Any) -> ev.MemoriesLinked:
    base = {"namespace": ("acme", "alice"), "occurred_at": START, "memory_id": "m"}
    return ev.MemoriesLinked(
        **base, event_id=f"{target}{relation}", target_id=target, relation=relation, **fields
    )


def unlink(target: str, relation: str | None = None) -> ev.MemoriesUnlinked:
    base = {"namespace": ("acme", "alice"), "occurred_at": START, "memory_id": "m"}
    return ev.MemoriesUnlinked(**base, event_id=f"not{target}{relation}", target_id=target, relation=relation)


def test_links_come_and_go() -> None:
    view = given_events(remember("m", "text"), link("a"), link("a", "causes"), link("b"))
    assert edges(view, "m") == [("link", "related", "a"), ("link", "causes", "a"), ("link", "related", "b")]
    view.when(unlink("a", "causes"))
    assert edges(view, "m") == [("link", "related", "a"), ("link", "related", "b")]
    view.when(unlink("a"), unlink("b"))
    assert edges(view, "m") is True


def test_a_link_of_what_is_not_there_leaves_no_more_than_a_mark() -> None:
    given_events().unchanged_by(link("a"))
    given_events(remember("m", "text"), forget("m")).unchanged_by(link("a"))


def test_edges_follow_updates_and_end_with_forgetting() -> None:
    view = given_events(remember("m", "text", detail=TRIPLE), update("m", detail={**TRIPLE, "object": "rum"}))
    assert edges(view, "m") == [("triple", "likes", "Al", "rum", 0.5)]
    view.when(forget("m"))
    assert edges(view, "m") is True
    assert not any(view["m"][name] for name in ("subject", "object", "detail", "links", "sources"))


# ---- the graph in memory


def refresh(graph: Graph, shard: Shard) -> None:
    """What a reader does: the memories first, then the edges in the order of the log."""
    memories = [row for row in shard.tables["memories"].scan() if row["namespace"] == NAMESPACE]
    known = [row for row in memories if row["id"] is not None]
    graph.upsert_memories([row for row in known if row["_off"] >= graph.memories_next_offset])
    found = [row for row in shard.tables["edges"].scan() if row["namespace"] == NAMESPACE]
    fresh = [row for row in found if row["_off"] >= graph.next_offset]
    graph.upsert(sorted(fresh, key=lambda row: (row["_off"], row["id"])))


def seen(graph: Graph) -> dict[Key, list[Any]]:
    """All that can be seen of a graph, in its order."""
    shown = {
        key: [(graph.edge(edge), end) for edge, end in graph.steps(key, "both", EVERYTHING)] for key in NODES
    }
    return shown | {("entity", "*"): list(graph.entities(""))}


@examples(60)
@given(steps=histories(40, bad=False), data=st.data())
def test_a_graph_that_was_kept_fresh_equals_a_new_one(steps: list[Step], data: st.DataObject) -> None:
    graph = Graph()
    for shard in after_each(steps):
        if data.draw(st.integers(0, 3)) == 0:
            refresh(graph, shard)
    refresh(graph, shard)
    fresh = Graph()
    refresh(fresh, shard)
    assert seen(graph) == seen(fresh)
    assert graph.nbytes >= fresh.nbytes


@examples(60)
@given(steps=histories(30, bad=False))
def test_every_edge_shows_at_both_ends_and_only_between_live_memories(steps: list[Step]) -> None:
    *_, shard = after_each(steps)
    graph = Graph()
    refresh(graph, shard)
    rows = {row["id"]: row for row in shard.tables["memories"].select(NAMESPACE)}
    live = {name for name, row in rows.items() if row["expires_at"] is None or row["expires_at"] > START}
    shown = [edge for key in NODES for edge, _ in graph.steps(key, "out", EVERYTHING)]
    assert len(shown) == sum(1 for key in NODES for _ in graph.steps(key, "in", EVERYTHING))
    assert len(shown) == sum(stated_and_live(rows[name], live) for name in live)


def stated_and_live(row: Row, live: set[str]) -> int:
    """How many edges of a memory's row are to be seen: counted apart."""
    detail = json.loads(row["detail"] or "{}")
    ends = [*(row["sources"] or ()), *(link["target"] for link in row["links"] or ())]
    ends += [detail["source_episode"]] if detail.get("source_episode") else []
    own = (detail.get("object") is not None) + (detail.get("next_state") is not None)
    return own + sum(end in live for end in ends)


# ---- walks


def graph_of(pairs: list[tuple[str, str]]) -> Graph:
    """Triples between entities, each stated by a memory of its own."""
    graph = Graph()
    blank = dict.fromkeys((field.name for field in EDGES_FIELDS), None)
    for number, (source, target) in enumerate(pairs):
        edge: Row = {"form": "triple", "relation": "r", "source": source, "target": target}
        edge |= {"confidence": 1.0, "reward": None}
        row = {"id": str(number), "deleted": False, "superseded": False, "edges": [edge], "_off": number}
        graph.upsert([{**blank, **row}])
    return graph


pairs = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=14)


def joined(edges: list[tuple[str, str]], one: str, other: str) -> bool:
    return (one, other) in edges or (other, one) in edges


@examples(150)
@given(edges=pairs, depth=st.integers(1, 5))
def test_paths_are_all_ways_that_meet_no_node_twice(edges: list[tuple[str, str]], depth: int) -> None:
    found = paths(
        graph_of(edges), ("entity", "a"), ("entity", "b"), Sight(NOW), max_depth=depth, limit=10_000
    )
    ways = [tuple(node.name for node in path.nodes) for path in found]
    assert [len(way) for way in ways] == sorted(len(way) for way in ways)
    assert len(set(ways)) == len(ways)
    assert set(ways) == set(every_way(edges, depth))
    for path in found:
        hops = zip(path.nodes, path.nodes[1:], path.edges, strict=False)
        assert all({one, other} == {edge.source, edge.target} for one, other, edge in hops)


def every_way(edges: list[tuple[str, str]], depth: int) -> Iterator[tuple[str, ...]]:
    for between in range(depth):
        for middle in permutations("cdef", between):
            way = ("a", *middle, "b")
            if all(joined(edges, one, other) for one, other in pairwise(way)):
                yield way


@examples(150)
@given(edges=pairs, depth=st.integers(1, 5), limit=st.integers(1, 6))
def test_neighbours_are_the_nodes_by_their_distance(
    edges: list[tuple[str, str]], depth: int, limit: int
) -> None:
    distances, border = {"a": 0}, {"a"}
    for distance in range(1, depth + 1):
        border = {o for o in "abcdef" if o not in distances and any(joined(edges, o, one) for one in border)}
        distances |= dict.fromkeys(border, distance)
    del distances["a"]
    found = neighbours(graph_of(edges), ("entity", "a"), Sight(NOW), depth=depth, direction="both", limit=100)
    assert {one.node.name: one.distance for one in found} == distances
    few = neighbours(graph_of(edges), ("entity", "a"), Sight(NOW), depth=depth, direction="both", limit=limit)
    assert few == found[:limit]


@given(st.text())
@examples(300)
def test_a_normalized_name_stays_as_it_is(name: str) -> None:
    assert normalized(normalized(name)) == normalized(name)
