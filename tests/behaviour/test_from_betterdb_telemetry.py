"""Telemetry as in betterdb-agent-memory and betterdb-agent-cache, in our names, on a folder and on Kafka."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from support.mapping import rows
from support.stores import OpenMemory
from support.telemetry import Telemetry
from support.workers import wait_until

from mnemolog import Fact, Memory
from mnemolog.schemas.errors import InvalidInputError

shows = partial(rows, "betterdb-agent-memory")
shows_cache = partial(rows, "betterdb-agent-cache")


@pytest.fixture
def told() -> Telemetry:
    return Telemetry()


@shows("telemetry", "agent_memory.remember")
def test_each_verb_is_a_span_that_says_what_came_of_it(place: Memory, told: Telemetry) -> None:
    mem = told.observe(place, prefix="mine")
    mem.remember("Alice moved to Paris", importance=0.9, ttl_seconds=600, tags=["home"])
    mem.recall("where does Alice live?", k=4)
    mem.consolidate(extract_facts=lambda _: [Fact("boat", "gone", tombstone=True)], tags=["home"])
    written, found, done = (told.last(verb) for verb in ("remember", "recall", "consolidate"))
    assert (written["mnemolog.importance"], written["mnemolog.ttl_seconds"]) == (0.9, 600)
    assert (found["mnemolog.k"], found["gen_ai.memory.record.count"]) == (4, 1)
    assert found["mnemolog.recall.candidates"] == 1
    assert done["mnemolog.consolidate.considered"] == 1
    assert done["mnemolog.consolidate.unmatched"] == 1
    assert done["mnemolog.consolidate.created"] == done["mnemolog.consolidate.deleted"] == 0
    assert told.registry.get_sample_value("mine_recalls_total") == 1


@shows("agent_memory_items")
def test_the_metrics_of_memories(open_memory: OpenMemory, told: Telemetry) -> None:
    mem = told.observe(open_memory())
    mem.remember_many(["Alice is vegetarian", "Alice sails"])
    mem.recall("Alice sails")
    nearest = mem.recall("vegetarian Alice sings", threshold=0.0).nearest_beyond
    assert nearest is not None
    mem.recall("vegetarian Alice sings", threshold=nearest * 0.9)
    mem.consolidate(extract_facts=lambda _: [Fact("boat", "gone", tombstone=True)], older_than_seconds=0)
    counts = ("recalls", "recall_hits", "recall_empty", "recall_near_misses")
    assert [told.value(f"{name}_total") for name in counts] == [3, 2, 2, 1]
    assert told.value("verb_seconds_count", verb="recall") == 3
    assert told.value("consolidations_total", mode="facts") == 1
    assert told.value("consolidated_total", outcome="unmatched") == 1
    assert (told.value("embedding_texts_total") or 0) >= 2
    assert told.value("active_memories") == 2
    mem.set_config(max_items_per_scope=1)
    mem.remember("Alice reads")
    wait_until(lambda: told.value("evictions_total", rule="capacity") == 2, "two memories to be let go")


@shows_cache("telemetry")
def test_the_metrics_of_caches(place: Memory, told: Telemetry) -> None:
    mem = told.observe(place)
    ask: dict[str, Any] = {"model": "m", "messages": []}
    mem.cache.llm.set_costs({"m": (0.001, 0.001)})
    assert not mem.cache.llm.check(ask).hit
    mem.cache.llm.store(ask, "hi", tokens={"input": 900, "output": 100})
    assert mem.cache.llm.check(ask).saved_micros == 1_000_000
    mem.cache.tool.store("search", {}, 1, cost=0.25)
    assert mem.cache.tool.check("search", {}).saved_micros == 250_000
    mem.cache.session.set("k", 1, thread_id="t")
    assert mem.cache.session.get("k", thread_id="t") == 1
    for tier, cost in (("llm", 1.0), ("tool", 0.25), ("session", None)):
        assert told.value("cache_requests_total", tier=tier, result="hit") == 1
        assert told.value("cache_stored_bytes_total", tier=tier)
        assert told.value("cache_saved_cost_total", tier=tier) == cost
    assert told.value("active_sessions") == 1
    assert told.value("verb_seconds_count", verb="cache.llm.check") == 2
    assert told.last("cache.tool.check")["gen_ai.tool.name"] == "search"


def test_errors_and_lag_are_told(open_memory: OpenMemory, told: Telemetry) -> None:
    mem = told.observe(open_memory())
    with pytest.raises(InvalidInputError):
        mem.remember(" ")
    assert told.value("errors_total", verb="remember", error="InvalidInputError") == 1
    mem.wait(mem.remember("x").position)
    topics = {dict(labels)["topic"] for name, labels in told.series() if name == "mnemolog_lag_events"}
    assert topics == {f"mnemolog.{name}" for name in ("memories", "feedback", "context", "config")}
    assert told.value("scrape_errors_total") == 0
