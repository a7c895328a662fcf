"""Reading as with agentic_memory, in our names: each test shows rows of the page on other libraries."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from support.mapping import rows
from support.stores import texts

from mnemolog import Memory, MemoryItem, Receipt
from mnemolog.schemas.details import Episode, Procedure, Reflection, Reward, Triple

shows = partial(rows, "agentic_memory")


def read(mem: Memory, receipt: Receipt) -> MemoryItem:
    found = mem.get(receipt.id)
    assert found is not None
    return found


@shows(
    ".episodic",
    "recall",
    "recall(agent_id)",
    '"context"',
    "search",
    "score",
    "BaseMemory.score",
    "EpisodicMemory",
)
def test_recall_by_kind_with_the_context_of_an_agent(place: Memory) -> None:
    mine = place.at(place.namespace, agent_id="planner", thread_id="s99")
    mine.remember_episode("the step was slow")
    mine.know_fact("step", "needs", "time")
    mine.learn_procedure("step", [{"action": "step"}])
    mine.reflect("the step failed", "step back")
    mine.record_reward("a step", "wait", 1.0)
    mine.set_context("current step", {"n": 1})
    place.remember_episode("another's step")
    found = place.recall("step", group_by_kind=True, agent_id="planner", thread_id="s99")
    details = {kind: type(hits[0].memory.detail) for kind, hits in found.items() if kind != "context"}
    assert details == {
        "episode": Episode,
        "fact": Triple,
        "procedure": Procedure,
        "reflection": Reflection,
        "reward": Reward,
    }
    assert texts(found["episode"]) == ["the step was slow"]
    assert [hit.memory.metadata for hit in found["context"]] == [{"value": {"n": 1}}]
    (hit, other) = place.recall("step", kinds=["episode"])
    assert hit.score >= other.score > 0
    assert "context" not in place.recall("step", group_by_kind=True)


@shows("store", "retrieve", "update", "delete", "deleting leaves edges", "BaseMemory.embedding")
def test_a_memory_is_stored_found_changed_and_gone_with_its_edges(place: Memory) -> None:
    detail = Triple(subject="Alice", predicate="knows", object="Bob")
    made = place.remember("Alice knows Bob", kind="fact", detail=detail)
    assert read(place, made).detail == detail
    (before,) = place.to_arrow(["vector"]).column("vector").to_pylist()
    place.update(made.id, text="Alice has met Bob")
    (after,) = place.to_arrow(vectors=True).column("vector").to_pylist()
    assert not np.allclose(before, after)
    assert [met.node.name for met in place.neighbours("alice")] == ["Bob"]
    place.forget(made.id)
    assert place.get(made.id) is None
    assert place.neighbours("alice") == []
    assert place.entities().total == 0


@shows(".context_kv", "set_context(key)", "set_context(agent_id)", "set_context(ttl_seconds)", "get_context")
def test_context_by_agent_and_session(place: Memory, clock: Any) -> None:
    place.set_context("status", {"ready": True}, agent_id="planner", thread_id="s1", ttl_seconds=600)
    assert place.get_context("status", agent_id="planner", thread_id="s1") == {"ready": True}
    assert place.get_context("status", agent_id="planner", thread_id="s2") is None
    page = place.list_context(contains="READY", agent_id="planner", thread_id="s1")
    assert [entry.key for entry in page.items] == ["status"]
    clock.advance(seconds=601)
    assert place.get_context("status", agent_id="planner", thread_id="s1") is None


@shows("SQL lookups and filters", "outcome", "SQL aggregates")
def test_filters_and_aggregates_on_structure(place: Memory) -> None:
    episode = place.remember_episode("tried", outcome="failure", thread_id="s1", agent_id="a")
    place.know_fact("Paris", "is in", "France")
    place.learn_procedure("cook", [{"action": "boil"}])
    place.reflect("hm", "think", source_episode_id=episode.id)
    place.record_reward("s", "act", 2.0, policy="greedy")
    place.record_reward("s", "act", 4.0, policy="greedy")
    wanted: list[tuple[dict[str, Any], int]] = [
        ({"outcome": "failure", "thread_id": "s1", "agent_id": "a"}, 1),
        ({"subject": "Paris"}, 1),
        ({"predicate": {"in": ["is in"]}}, 1),
        ({"name": "cook"}, 1),
        ({"source_episode": episode.id}, 1),
        ({"action": "act", "policy": "greedy"}, 2),
        ({"reward": {"gt": 3}}, 1),
    ]
    assert [place.list(filters=filters).total for filters, _ in wanted] == [count for _, count in wanted]
    numbers = place.aggregate("policy", {"count": True, "avg": "reward"}, kinds=["reward"])
    assert numbers == [{"policy": "greedy", "count": 2, "avg_reward": 3.0}]


@shows("entity_nodes", "memory_relations", "entity_relations", "neighbours", "paths")
def test_the_graph(place: Memory) -> None:
    fact = place.know_fact("Alice", "works at", "Acme", confidence=0.8)
    place.know_fact("Acme", "is in", "Berlin")
    assert [entity.name for entity in place.entities().items] == ["Acme", "Alice", "Berlin"]
    assert [(met.node.name, met.distance) for met in place.neighbours("alice", depth=2)] == [
        ("Acme", 1),
        ("Berlin", 2),
    ]
    (way,) = place.paths("Alice", "Berlin")
    edge = way.edges[0]
    assert (edge.relation, edge.memory_id, edge.confidence) == ("works at", fact.id, 0.8)
    first, second = place.remember_episode("one"), place.remember_episode("two")
    place.link(second.id, first.id, relation="follows")
    (link,) = place.links(first.id).incoming
    assert (link.source.name, link.relation) == (second.id, "follows")
    place.unlink(second.id, first.id)
    assert place.links(first.id).incoming == ()
