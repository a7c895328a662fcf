"""Opening and writing as with agentic_memory, in our names: each test shows rows of the page on it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine
from support.mapping import rows
from support.stores import NOON, OpenMemory, texts

import mnemolog
from mnemolog import Memory, MemoryItem, Receipt
from mnemolog.embedders import HashingEmbedder
from mnemolog.schemas.details import Episode, Procedure, Reflection, Reward, Triple
from mnemolog.schemas.errors import InvalidInputError, NotFoundError

shows = partial(rows, "agentic_memory")


def read(mem: Memory, receipt: Receipt) -> MemoryItem:
    found = mem.get(receipt.id)
    assert found is not None
    return found


@shows(
    "AgentMemory",
    "with",
    "tables, collections and graphs made at start",
    "embedding_model",
    "EmbeddingProvider.embed_fn",
    "embedding_dim",
)
def test_a_folder_and_a_function_are_all_it_needs(tmp_path: Path) -> None:
    asked: list[str] = []

    def embed(batch: list[str]) -> Any:
        asked.extend(batch)
        return HashingEmbedder(8).embed(batch)

    with mnemolog.open(tmp_path / "new", embedder=embed) as mem:
        mem.remember("a note")
        assert texts(mem.recall("note")) == ["a note"]
        (vector,) = mem.to_arrow(["vector"]).column("vector").to_pylist()
        assert len(vector) == 8
    assert {"a note", "note"} <= set(asked)


@shows("POSTGRES_HOST", "one embedding model for ever")
def test_the_command_line_takes_variables_and_moves_to_another_model(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path / "memory")
    cli.ok("remember", "a note", "--embedder", "none")
    cli.ok("replay", "--embedder", "hashing")
    with mnemolog.open(tmp_path / "memory", embedder="hashing") as mem:
        assert mem.recall("note")[0].origins == ("vector", "keyword")


@shows("collection_prefix", "MemoryConfig.top_k", "recall(top_k)")
def test_namespaces_part_memories_and_k_bounds_the_hits_of_each_kind(place: Memory) -> None:
    for number in range(4):
        place.remember(f"step {number}")
        place.remember_episode(f"took step {number}")
    assert len(place.recall("step", k=3)) == 3
    assert len(place.recall("step")) == 5
    assert {kind: len(hits) for kind, hits in place.recall("step", k=2, group_by_kind=True).items()} == {
        "note": 2,
        "episode": 2,
    }
    assert not place.at((*place.namespace, "other")).recall("step")


@shows(
    "remember_episode(content)",
    "remember_episode(session_id)",
    "remember_episode(context)",
    "remember_episode(outcome)",
    "remember_episode(importance)",
    "remember_episode(metadata)",
    "helpers return the model",
    "BaseMemory.id",
    "BaseMemory.content",
    "BaseMemory.created_at",
    "naive times",
)
def test_episodes(place: Memory) -> None:
    made = place.remember_episode(
        "asked about Paris",
        thread_id="s1",
        agent_id="weather",
        context={"user": "alice"},
        outcome="success",
        importance=0.8,
        metadata={"lang": "en"},
        occurred_at=datetime(2026, 1, 1),
    )
    item = read(place, made)
    assert (item.id, item.text, item.kind, item.metadata) == (
        made.id,
        "asked about Paris",
        "episode",
        {"lang": "en"},
    )
    assert (item.thread_id, item.agent_id, item.importance) == ("s1", "weather", 0.8)
    assert item.detail == Episode(context={"user": "alice"}, outcome="success")
    assert item.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert item.recorded_at.tzinfo is UTC
    plain = read(place, place.remember_episode("nothing said"))
    assert (plain.importance, plain.detail) == (None, Episode(outcome="unknown"))
    with pytest.raises(InvalidInputError):
        place.remember_episode("x", outcome="splendid")


@shows("know_fact(subject)", "know_fact(content)", "know_fact(confidence)", "what is embedded of each type")
def test_facts(place: Memory) -> None:
    made = place.know_fact(
        "Paris",
        "is capital of",
        "France",
        content="since 987",
        confidence=0.9,
        source="wiki",
        metadata={"checked": True},
    )
    item = read(place, made)
    assert (item.text, item.source, item.metadata) == (
        "Paris is capital of France\nsince 987",
        "wiki",
        {"checked": True},
    )
    assert item.detail == Triple(
        subject="Paris", predicate="is capital of", object="France", content="since 987", confidence=0.9
    )
    assert read(place, place.know_fact("a", "b", "c")).text == "a b c"


@shows("learn_procedure(name)", "learn_procedure(description)", "action", "step_order")
def test_procedures(place: Memory) -> None:
    steps: list[dict[str, Any]] = [
        {"action": "compose", "parameters": {"to": "Bob"}, "expected_outcome": "draft ready"},
        {"action": "send"},
    ]
    made = place.learn_procedure(
        "send_email",
        steps,
        description="to a contact",
        trigger_conditions=["wants to send"],
        metadata={"v": 1},
    )
    item = read(place, made)
    assert isinstance(item.detail, Procedure)
    assert [step.action for step in item.detail.steps] == ["compose", "send"]
    first = item.detail.steps[0]
    assert (first.parameters, first.expected_outcome) == ({"to": "Bob"}, "draft ready")
    assert (item.detail.description, item.detail.trigger_conditions) == ("to a contact", ("wants to send",))
    assert item.metadata == {"v": 1}
    assert item.text == "send_email\nto a contact\n1. compose → draft ready\n2. send"
    with pytest.raises(InvalidInputError):
        place.learn_procedure("nothing to do", [])


@shows(
    "reflect(content)",
    "reflect(improvement_suggestion)",
    "reflect(source_episode_id)",
    "reflect(confidence)",
    "episode_reflection",
)
def test_reflections_know_their_episode(place: Memory) -> None:
    episode = place.remember_episode("which Paris?")
    made = place.reflect(
        "I guessed",
        "ask first",
        improvement="say which",
        source_episode_id=episode.id,
        confidence=0.7,
        metadata={"n": 1},
    )
    item = read(place, made)
    assert item.detail == Reflection(
        content="I guessed",
        lesson="ask first",
        improvement="say which",
        source_episode=episode.id,
        confidence=0.7,
    )
    assert (item.text, item.metadata) == ("I guessed\nLesson: ask first\nTo improve: say which", {"n": 1})
    assert [met.node.name for met in place.provenance(made.id).upstream] == [episode.id]
    with pytest.raises(NotFoundError):
        place.reflect("x", "y", source_episode_id="unknown")


@shows("record_reward(state_description)", "record_reward(outcome)", "transitions between states of rewards")
def test_rewards(place: Memory) -> None:
    made = place.record_reward(
        "low battery",
        "recharge",
        1.5,
        outcome="restored",
        policy="energy",
        next_state="full",
        context={"t": 1},
        metadata={"n": 1},
    )
    item = read(place, made)
    assert isinstance(item.detail, Reward)
    assert (item.detail.reward, item.detail.policy, item.detail.context) == (1.5, "energy", {"t": 1})
    assert (item.text, item.metadata) == (
        "low battery\nAction: recharge\nOutcome: restored",
        {"n": 1},
    )
    (met,) = place.neighbours("low battery", type="state")
    assert (met.node.name, met.edge.relation, met.edge.reward, met.edge.policy) == (
        "full",
        "recharge",
        1.5,
        "energy",
    )
    default = read(place, place.record_reward("a", "b", -1)).detail
    assert isinstance(default, Reward)
    assert default.policy == "default"


def test_times_of_a_handle_are_those_of_its_clock(open_memory: OpenMemory) -> None:
    mem = open_memory(clock=lambda: NOON)
    assert read(mem, mem.remember("now")).occurred_at == NOON
