"""What programs know from betterdb-agent-cache, in our names: each test shows rows of that page."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import agents
import pydantic_ai
import pytest
from agents import RunConfig
from agents.models.interface import Model, ModelProvider
from agents.testing import ScriptedModel, assistant_message
from langchain_core.outputs import Generation
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from pydantic_ai.models.test import TestModel
from support.mapping import rows
from support.stores import MovingClock

import mnemolog
from mnemolog import Memory, MnemologError
from mnemolog.adapters.langchain_cache import MnemologLlmCache
from mnemolog.adapters.langgraph_saver import MnemologSaver
from mnemolog.adapters.openai_agents import CachedModelProvider, MnemologSession
from mnemolog.adapters.pydantic_ai import CachedModel
from mnemolog.caches.requests import request_key
from mnemolog.producers.context_commands import Address
from mnemolog.schemas.errors import InvalidInputError, LogError, LogUnavailableError

shows = partial(rows, "betterdb-agent-cache")
ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0}


@shows(
    "AgentCache",
    "llm.check",
    "llm.store",
    "LlmCacheResult.hit",
    "LlmCacheResult.content_blocks",
    "model",
    "openai.prepare_params",
)
def test_answers_of_models(place: Memory) -> None:
    cache = place.cache.llm
    missed = cache.check(ASK)
    assert (missed.hit, missed.response, missed.key) == (False, None, request_key(ASK))
    blocks = [{"type": "text", "text": "hello"}, {"type": "tool_use", "id": "1", "input": {}}]
    cache.store(ASK, blocks, tokens={"input": 9, "output": 3})
    found = cache.check({**ASK, "stream": True, "temperature": 0.0})
    assert (found.hit, found.response) == (True, blocks)
    assert (found.key, found.input_tokens, found.output_tokens) == (missed.key, 9, 3)
    assert not cache.check({**ASK, "seed": 1}).hit
    tools = [{"name": "b"}, {"name": "a"}]
    assert request_key({**ASK, "tools": tools}) == request_key({**ASK, "tools": tools[::-1]})


@shows("llm.clear", "invalidate_by_model", "AgentCache.flush")
def test_answers_are_dropped(place: Memory) -> None:
    cache = place.cache
    for model in ("a", "b"):
        for seed in range(2):
            cache.llm.store({"model": model, "seed": seed}, "x")
    assert cache.llm.invalidate({"model": "a", "seed": 0})
    assert (cache.llm.invalidate_by_model("a"), cache.llm.clear()) == (1, 2)
    cache.tool.store("t", {}, 1)
    cache.session.set("k", 1, thread_id="t")
    assert cache.clear() == 2


@shows(
    "tool.check",
    "ToolCacheResult.hit",
    "tool.store",
    "tool.invalidate",
    "invalidate_by_tool",
)
def test_answers_of_tools(place: Memory) -> None:
    cache = place.cache.tool
    cache.store("ns:search", {"q": 1}, ["x"], cost=0.01)
    found = cache.check("ns:search", {"q": 1})
    assert (found.hit, found.tool, found.response) == (True, "ns:search", ["x"])
    assert found.key == cache.check("ns:search", {"q": 1}).key
    assert cache.invalidate("ns:search", {"q": 1})
    assert not cache.check("ns:search", {"q": 1}).hit
    cache.store("ns:search", {"q": 1}, 1)
    assert cache.invalidate_by_tool("ns:search") == 1


@shows(
    "default_ttl",
    "set_policy",
    "get_policy",
    "list_policy_names",
    "reset_policies",
    "time to live: call, policy, tier, default",
)
def test_times_to_live(place: Memory, clock: MovingClock) -> None:
    cache = place.cache.tool
    cache.set_default_ttl(100)
    cache.set_policy("fast", 10)
    policy = cache.get_policy("fast")
    assert policy is not None
    assert (policy.ttl_seconds, list(cache.policies())) == (10, ["fast"])
    cache.store("fast", 1, "call", ttl_seconds=1_000)
    cache.store("fast", 2, "policy")
    cache.store("slow", 3, "tier")
    place.cache.llm.set_default_ttl(50)
    place.cache.llm.store(ASK, "x")
    clock.advance(seconds=60)
    assert [cache.check(*call).hit for call in (("fast", 1), ("fast", 2), ("slow", 3))] == [True, False, True]
    assert not place.cache.llm.check(ASK).hit
    clock.advance(seconds=60)
    assert not cache.check("slow", 3).hit
    assert cache.delete_policy("fast")
    assert cache.policies() == {}


@shows(
    "session.get",
    "session.set",
    "session.get_all",
    "scan_fields_by_prefix",
    "session.delete",
    "session.destroy_thread",
    "session.touch",
)
def test_sessions(place: Memory, clock: MovingClock) -> None:
    session = place.at(place.namespace, thread_id="t").cache.session
    session.set("a.x", 1, ttl_seconds=100)
    session.set("a.y", 2)
    clock.advance(seconds=60)
    assert session.get("a.x") == 1
    session.set("b", 3)
    clock.advance(seconds=60)
    assert session.touch() == 1
    clock.advance(seconds=60)
    assert session.get_all() == {"a.x": 1, "a.y": 2, "b": 3}
    assert session.scan("a.") == {"a.x": 1, "a.y": 2}
    assert session.delete("b")
    assert session.get("b", "nothing") == "nothing"
    assert session.destroy_thread("t") == 2
    session.set("c", 1)
    place.set_context("d", 1, thread_id="t")
    assert place.destroy_thread("t") == 2


@shows(
    "cost_table",
    "AgentCache.stats",
    "TierStats.hits",
    "SessionStats.reads",
    "AgentCacheStats.cost_saved_micros",
    "AgentCacheStats.per_tool",
    "tool_effectiveness",
    "ToolEffectivenessEntry.tool",
)
def test_what_caching_was_good_for(place: Memory) -> None:
    cache = place.cache
    cache.llm.set_costs({"m": (0.001, 0.002)})
    cache.llm.check(ASK)
    cache.llm.store(ASK, "x", tokens={"input": 10, "output": 5})
    cache.llm.check(ASK)
    cache.tool.store("t", 1, "x", ttl_seconds=60, cost=0.5)
    cache.tool.set_policy("t", 60)
    for _ in range(9):
        cache.tool.check("t", 1)
    cache.session.set("k", 1, thread_id="t")
    cache.session.get("k", thread_id="t")
    stats = cache.stats()
    assert (stats.llm.hits, stats.llm.misses, stats.llm.total, stats.llm.hit_rate) == (1, 1, 2, 0.5)
    assert (stats.session.total, stats.session.stores) == (1, 1)
    assert (stats.per_tool["t"].hits, stats.per_model["m"].saved_micros) == (9, 20_000)
    assert stats.saved_micros == 20_000 + 9 * 500_000
    (advice,) = cache.effectiveness()
    assert (advice.tool, advice.hit_rate, advice.ttl_seconds) == ("t", 1.0, 60)
    assert (advice.saved_micros, advice.recommendation) == (4_500_000, "increase_ttl")


@shows("a corrupt entry is a miss and deleted")
def test_a_corrupt_entry_is_a_miss(place: Memory) -> None:
    key = place.cache.llm.store(ASK, "x").id
    place._entries.set(Address("llm", None, None, key), ["no answer"], None)
    assert not place.cache.llm.check(ASK).hit
    place.cache.llm.store(ASK, "y")
    assert place.cache.llm.check(ASK).response == "y"


@shows("AgentCacheError", "AgentCacheUsageError", "ValkeyCommandError", "AgentCache.shutdown")
def test_errors(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path / "m", embedder="none") as mem:
        for bad in ({}, {"model": "m", "image": b"bytes"}):
            with pytest.raises(InvalidInputError):
                mem.cache.llm.check(bad)
    with pytest.raises(MnemologError):
        mem.cache.llm.store(ASK, "x")
    (tmp_path / "file").write_text("")
    with pytest.raises(LogUnavailableError) as failed:
        mnemolog.open(tmp_path / "file" / "below", embedder="none")
    assert isinstance(failed.value, LogError)


@shows("BetterDBLlmCache")
def test_the_cache_of_langchain(place: Memory) -> None:
    cache = MnemologLlmCache(place)
    answers = [Generation(text="hello")]
    cache.update("hi", "model", answers)
    assert cache.lookup("hi", "model") == asyncio.run(cache.alookup("hi", "model")) == answers
    cache.clear()
    assert cache.lookup("hi", "model") is None


@shows("BetterDBSaver")
def test_the_checkpointer_of_langgraph(place: Memory) -> None:
    saver = MnemologSaver(place)
    thread: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    first = saver.put(thread, empty_checkpoint(), {"step": 0, "run_id": "r"}, {})
    second = asyncio.run(saver.aput(first, empty_checkpoint(), {"step": 1}, {}))
    asyncio.run(saver.aput_writes(second, [("channel", 1)], "task"))
    saver.copy_thread("t", "copy")
    for found in (saver.get_tuple(thread), asyncio.run(saver.aget_tuple(thread))):
        assert found is not None
        assert (found.metadata, found.pending_writes) == ({"step": 1}, [("task", "channel", 1)])
    saver.delete_for_runs(["r"])
    assert [found.metadata["step"] for found in saver.list(thread)] == [1]
    saver.prune(["t"])
    asyncio.run(saver.adelete_thread("t"))
    assert [found.config["configurable"]["thread_id"] for found in saver.list(None)] == ["copy"]


@shows("openai_agents.CachedModel")
def test_cached_models_of_openai_agents(place: Memory) -> None:
    class Provider(ModelProvider):
        def get_model(self, model_name: str | None) -> Model:
            return ScriptedModel([[assistant_message(f"of {model_name}")]])

    config = RunConfig(model_provider=CachedModelProvider(Provider(), place), tracing_disabled=True)
    session = MnemologSession("s", place)
    agent = agents.Agent(name="a", model="m")
    runs = [agents.Runner.run_sync(agent, "hi", run_config=config) for _ in range(2)]
    assert [one.final_output for one in runs] == ["of m", "of m"]
    agents.Runner.run_sync(agent, "hi", run_config=config, session=session)
    assert len(asyncio.run(session.get_items())) == 2
    assert place.cache.stats().per_model["m"].hits == 2


@shows("pydantic_ai.CachedModel")
def test_cached_models_of_pydantic_ai(place: Memory) -> None:
    agent = pydantic_ai.Agent(CachedModel(TestModel(custom_output_text="hello"), place))
    assert [agent.run_sync("hi").output for _ in range(2)] == ["hello", "hello"]
    assert place.cache.stats().per_model["test"].hits == 1
