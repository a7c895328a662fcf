"""Links and the graph: what is near, which ways lead on, where a memory is from; forgetting clears it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.stores import MovingClock, OpenMemory

from mnemolog import Memory
from mnemolog.query.graph_models import Edge, Entity, Links, Neighbour, Node, NodeType, Provenance
from mnemolog.schemas.errors import InvalidInputError

MAY = datetime(2024, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def names(found: list[Neighbour] | tuple[Neighbour, ...]) -> list[tuple[int, str]]:
    return [(one.distance, one.node.name) for one in found]


def entity_names(mem: Memory) -> list[str]:
    return [entity.name for entity in mem.entities().items]


@pytest.fixture
def europe(mem: Memory) -> Memory:
    """A chain of facts, and one that points the other way."""
    mem.know_fact("Paris", "capital of", "France", confidence=0.9, id="capital")
    mem.know_fact("France", "part of", "Europe", id="part")
    mem.know_fact("Rhine", "flows through", "France", id="rhine")
    mem.know_fact("Europe", "part of", "Earth", id="earth")
    return mem


def test_a_fact_is_an_edge_with_all_that_it_says(mem: Memory) -> None:
    mem.know_fact("Al", "lives in", "Paris", confidence=0.9, valid_from=MAY, valid_to=MAY + DAY, id="m")
    edge = Edge(
        form="triple",
        source=Node("entity", "Al"),
        relation="lives in",
        target=Node("entity", "Paris"),
        memory_id="m",
        confidence=0.9,
        valid_from=MAY,
        valid_to=MAY + DAY,
    )
    assert mem.neighbours("Al") == [Neighbour(Node("entity", "Paris"), 1, edge)]
    assert mem.neighbours("Paris") == [Neighbour(Node("entity", "Al"), 1, edge)]


def test_neighbours_come_nearest_first(europe: Memory) -> None:
    assert names(europe.neighbours("Paris")) == [(1, "France")]
    assert names(europe.neighbours("Paris", depth=2)) == [(1, "France"), (2, "Europe"), (2, "Rhine")]
    assert names(europe.neighbours("Paris", depth=5))[-1] == (3, "Earth")
    assert names(europe.neighbours("Paris", depth=5, limit=2)) == [(1, "France"), (2, "Europe")]


def test_direction_and_predicates_narrow_the_way(europe: Memory) -> None:
    assert names(europe.neighbours("France", direction="out")) == [(1, "Europe")]
    assert names(europe.neighbours("France", direction="in")) == [(1, "Paris"), (1, "Rhine")]
    assert names(europe.neighbours("France", depth=3, predicates=["part of"])) == [
        (1, "Europe"),
        (2, "Earth"),
    ]
    assert europe.neighbours("France", predicates=[]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("ﬁnance", "Finance"),
        ("  Zoë \u00a0 Smith", "zoe\u0308 smith"),
        ("東京", "東京"),
        ("Ｔｏｋｙｏ", "tokyo"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("O'Brien", "o'brien"),
    ],
)
def test_an_entity_is_one_however_it_is_spelled(mem: Memory, one: str, other: str) -> None:
    mem.know_fact(one, "p", "x")
    mem.know_fact(other, "p", "y")
    assert Entity(one.strip(), 2) in mem.entities().items
    for spelling in (one, other):
        assert names(mem.neighbours(spelling)) == [(1, "x"), (1, "y")]


def test_entities_that_differ_stay_apart(mem: Memory) -> None:
    for name in ("東京", "京東", "Zoe", "Zoë", "a b", "ab"):
        mem.know_fact(name, "is", "a name")
    assert mem.entities().total == 7
    assert names(mem.neighbours("Zoe")) == [(1, "a name")]


def test_paths_are_the_ways_between_two_nodes_shortest_first(europe: Memory) -> None:
    (path,) = europe.paths("paris", "earth")
    assert [node.name for node in path.nodes] == ["Paris", "France", "Europe", "Earth"]
    assert [edge.memory_id for edge in path.edges] == ["capital", "part", "earth"]
    assert path.length == 3
    europe.know_fact("Paris", "lies in", "Europe", id="short")
    assert [found.length for found in europe.paths("Paris", "Earth")] == [2, 3]
    assert [found.length for found in europe.paths("Paris", "Earth", limit=1)] == [2]
    assert [found.length for found in europe.paths("Paris", "Earth", max_depth=2)] == [2]
    assert [found.length for found in europe.paths("Earth", "Paris")] == [2, 3]
    assert europe.paths("Rhine", "Paris", predicates=["part of"]) == []
    assert europe.paths("Paris", "Paris") == europe.paths("Paris", "nowhere") == []


def test_a_path_meets_no_node_twice(mem: Memory) -> None:
    for source in "abcd":
        for target in "abcd":
            if source != target:
                mem.know_fact(source, "to", target)
    found = [tuple(node.name for node in path.nodes) for path in mem.paths("a", "d", limit=100)]
    assert sorted(found) == [
        ("a", "b", "c", "d"), ("a", "b", "d"), ("a", "c", "b", "d"), ("a", "c", "d"), ("a", "d"),
    ]  # fmt: skip
    assert [len(way) for way in found] == [2, 3, 3, 4, 4]


def test_links_are_kept_once_a_relation_and_can_be_taken_away(mem: Memory) -> None:
    mem.remember_many([{"text": name, "id": name} for name in "abc"])
    for _ in range(2):
        mem.link("a", "b")
    mem.link("a", "b", "causes")
    mem.link("c", "a")
    links = mem.links("a")
    assert [(edge.relation, edge.target.name) for edge in links.outgoing] == [
        ("related", "b"),
        ("causes", "b"),
    ]
    assert [edge.source for edge in links.incoming] == [Node("memory", "c")]
    assert names(mem.neighbours("b", depth=2)) == [(1, "a"), (2, "c")]
    mem.unlink("a", "b", "causes")
    assert [edge.relation for edge in mem.links("b").incoming] == ["related"]
    mem.unlink("a", "b", "never said")
    mem.link("a", "b", "causes")
    mem.unlink("a", "b")
    assert mem.links("b") == Links((), ())
    assert [change.type for change in mem.history("a")].count("MemoriesUnlinked") == 3


def test_links_outlive_an_update_and_a_new_text_under_the_id(mem: Memory) -> None:
    mem.remember_many([{"text": name, "id": name} for name in "ab"])
    mem.link("a", "b")
    mem.update("a", text="other words")
    mem.remember("again other words", id="a")
    assert len(mem.links("a").outgoing) == 1


def test_provenance_leads_to_the_sources_and_back(mem: Memory) -> None:
    episode = mem.remember_episode("It rained").id
    lesson = mem.reflect("I got wet", "Take an umbrella", source_episode_id=episode).id
    other = mem.remember("Rain is wet").id
    summary = mem.remember("Umbrellas help", kind="summary", sources=[lesson, other]).id
    assert names(mem.provenance(summary).upstream) == [(1, lesson), (1, other), (2, episode)]
    assert names(mem.provenance(episode).downstream) == [(1, lesson), (2, summary)]
    assert [one.edge.relation for one in mem.provenance(summary).upstream] == [
        "derived_from", "derived_from", "reflects_on",
    ]  # fmt: skip
    assert names(mem.provenance(summary, depth=1).upstream) == [(1, lesson), (1, other)]
    mem.link(episode, other)
    assert names(mem.provenance(episode).downstream) == [(1, lesson), (2, summary)]


def test_rewards_are_transitions_between_states(mem: Memory) -> None:
    mem.record_reward("low battery", "recharge", 1.5, next_state="charged", policy="energy", id="m")
    mem.record_reward("charged", "drive", -0.5, next_state="Low  Battery")
    mem.record_reward("charged", "wait", 0)
    (found,) = mem.neighbours("low battery", direction="out")
    assert found.node == Node("state", "charged")
    assert (found.edge.relation, found.edge.reward, found.edge.policy) == ("recharge", 1.5, "energy")
    assert [path.length for path in mem.paths("charged", "low battery")] == [1]


def test_a_name_may_be_an_entity_a_memory_and_a_state(mem: Memory) -> None:
    mem.remember("other", id="n")
    mem.know_fact("m", "is", "an entity", id="m")
    mem.link("m", "n")
    mem.record_reward("m", "act", 1, next_state="a state")
    kinds: tuple[NodeType, ...] = ("entity", "memory", "state")
    found = {kind: names(mem.neighbours("m", type=kind)) for kind in kinds}
    assert found == {"entity": [(1, "an entity")], "memory": [(1, "n")], "state": [(1, "a state")]}
    assert names(mem.neighbours("m")) == [(1, "an entity")]


def test_what_held_on_a_date_and_what_was_replaced(mem: Memory) -> None:
    mem.know_fact("Al", "lives in", "Paris", valid_to=MAY, key="old")
    mem.know_fact("Al", "lives in", "Rome", valid_from=MAY)
    mem.know_fact("Al", "works at", "Acme", key="job")
    mem.know_fact("Al", "works at", "Ajax", key="job")
    assert names(mem.neighbours("Al")) == [(1, "Paris"), (1, "Rome"), (1, "Ajax")]
    assert names(mem.neighbours("Al", valid_at=MAY - DAY)) == [(1, "Paris"), (1, "Ajax")]
    assert names(mem.neighbours("Al", valid_at=MAY)) == [(1, "Rome"), (1, "Ajax")]
    shown = mem.neighbours("Al", include_superseded=True, predicates=["works at"])
    assert {(one.node.name, one.edge.superseded) for one in shown} == {("Acme", True), ("Ajax", False)}
    assert mem.paths("Al", "Paris", valid_at=MAY) == []


def test_a_changed_fact_leaves_no_old_edge(mem: Memory) -> None:
    written = mem.know_fact("Al", "likes", "tea").id
    assert entity_names(mem) == ["Al", "tea"]
    mem.update(written, detail={"form": "triple", "subject": "Al", "predicate": "likes", "object": "rum"})
    assert entity_names(mem) == ["Al", "rum"]
    mem.update(written, detail=None)
    assert entity_names(mem) == []


def test_entities_are_listed_in_order_by_prefix_and_in_pages(europe: Memory) -> None:
    assert entity_names(europe) == ["Earth", "Europe", "France", "Paris", "Rhine"]
    found = europe.entities(" e", limit=1, offset=1)
    assert (found.items, found.total) == ((Entity("Europe", 2),), 2)
    assert europe.entities("z").total == 0


def full(mem: Memory) -> None:
    """Every form of edge, all of memories with the tag "go", to and from the memory "stays"."""
    mem.remember("stays", id="stays")
    mem.know_fact("Al", "likes", "tea", tags=["go"], id="fact", sources=["stays"])
    mem.reflect("x", "y", source_episode_id="stays", tags=["go"], id="reflection")
    mem.record_reward("s", "a", 1, next_state="t", tags=["go"], id="reward")
    mem.remember("z", tags=["go"], id="linked")
    mem.link("linked", "stays")
    mem.link("stays", "linked")
    assert all(edges_of(mem))


def edges_of(mem: Memory) -> list[Any]:
    return [
        mem.neighbours("Al"),
        mem.neighbours("s"),
        mem.links("stays").incoming,
        mem.links("stays").outgoing,
        mem.provenance("stays").downstream,
    ]


def expire(mem: Memory, clock: MovingClock, ids: list[str]) -> None:
    for name in ids:
        mem.update(name, ttl_seconds=60)
    clock.advance(minutes=2)


GOING: dict[str, Callable[[Memory, MovingClock], Any]] = {
    "by id": lambda mem, clock: mem.forget(["fact", "reflection", "reward", "linked"]),
    "by scope": lambda mem, clock: mem.forget_scope({"tags": {"contains": "go"}}),
    "all": lambda mem, clock: mem.forget_scope(everything=True),
    "by expiry": lambda mem, clock: expire(mem, clock, ["fact", "reflection", "reward", "linked"]),
}


@pytest.mark.parametrize("going", GOING)
def test_what_is_forgotten_or_expired_has_no_edges(open_memory: OpenMemory, going: str) -> None:
    clock = MovingClock(datetime.now(UTC))
    mem = open_memory(clock=clock)
    full(mem)
    GOING[going](mem, clock)
    assert not any(edges_of(mem))
    assert entity_names(mem) == []
    assert not any(edges_of(open_memory(clock=clock)))


def test_an_expired_memory_in_between_ends_the_way(open_memory: OpenMemory) -> None:
    clock = MovingClock(datetime.now(UTC))
    mem = open_memory(clock=clock)
    mem.remember_many([{"text": name, "id": name} for name in "ac"])
    mem.remember("b", id="b", ttl_seconds=60)
    mem.link("a", "b")
    mem.link("b", "c")
    assert names(mem.neighbours("a", depth=2)) == [(1, "b"), (2, "c")]
    clock.advance(minutes=2)
    assert mem.neighbours("a", depth=2) == mem.neighbours("c") == []


def test_a_memory_remembered_again_after_it_was_forgotten_has_only_its_new_edges(mem: Memory) -> None:
    mem.know_fact("Al", "likes", "tea", id="m")
    mem.forget("m")
    mem.know_fact("Al", "likes", "rum", id="m")
    assert entity_names(mem) == ["Al", "rum"]


def test_namespaces_with_the_same_entities_and_ids_never_mix(open_memory: OpenMemory) -> None:
    alice, bob = open_memory("alice"), open_memory("bob")
    for mem, drink in ((alice, "tea"), (bob, "rum")):
        mem.know_fact("Al", "likes", drink, id="m")
        mem.remember("n", id="n")
    alice.link("m", "n")
    assert (entity_names(alice), entity_names(bob)) == (["Al", "tea"], ["Al", "rum"])
    assert bob.links("m") == bob.links("n") == Links((), ())
    assert alice.paths("tea", "rum") == []
    bob.forget_scope(everything=True)
    assert entity_names(alice) == ["Al", "tea"]


def test_nothing_known_is_an_empty_answer(mem: Memory) -> None:
    assert (mem.neighbours("x"), mem.paths("x", "y")) == ([], [])
    assert mem.links("x") == Links((), ())
    assert mem.provenance("x") == Provenance((), ())
    assert mem.entities().total == 0


BAD: list[tuple[str, Callable[[Memory], object]]] = [
    ("node", lambda mem: mem.neighbours(" ")),
    ("node", lambda mem: mem.neighbours(7)),  # type: ignore[arg-type]
    ("type", lambda mem: mem.neighbours("x", type="thing")),  # type: ignore[arg-type]
    ("depth", lambda mem: mem.neighbours("x", depth=0)),
    ("depth", lambda mem: mem.neighbours("x", depth=6)),
    ("depth", lambda mem: mem.neighbours("x", depth=1.5)),  # type: ignore[arg-type]
    ("limit", lambda mem: mem.neighbours("x", limit=0)),
    ("limit", lambda mem: mem.neighbours("x", limit=10_001)),
    ("direction", lambda mem: mem.neighbours("x", direction="up")),  # type: ignore[arg-type]
    ("predicates", lambda mem: mem.neighbours("x", predicates="p")),
    ("predicates", lambda mem: mem.neighbours("x", predicates=[1])),  # type: ignore[list-item]
    ("valid_at", lambda mem: mem.neighbours("x", valid_at="2024")),  # type: ignore[arg-type]
    ("valid_at", lambda mem: mem.list(valid_at=math.pi)),  # type: ignore[arg-type]
    ("valid_at", lambda mem: mem.recall("x", valid_at="2024")),  # type: ignore[call-overload]
    ("start", lambda mem: mem.paths("", "y")),
    ("end", lambda mem: mem.paths("x", "")),
    ("max_depth", lambda mem: mem.paths("x", "y", max_depth=6)),
    ("limit", lambda mem: mem.paths("x", "y", limit=True)),
    ("id", lambda mem: mem.links(None)),  # type: ignore[arg-type]
    ("depth", lambda mem: mem.provenance("x", depth=9)),
    ("prefix", lambda mem: mem.entities(3)),  # type: ignore[arg-type]
    ("limit", lambda mem: mem.entities(limit=-1)),
    ("offset", lambda mem: mem.entities(offset=sys.maxsize)),
]


def test_what_the_graph_cannot_be_asked(mem: Memory) -> None:
    for number, (field, call) in enumerate(BAD):
        with pytest.raises(InvalidInputError) as caught:
            call(mem)
        assert (number, caught.value.field) == (number, field)
