"""Awaited, no adapter asks the memory in the event loop's own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pydantic_ai
import pytest
from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from pydantic_ai.models.test import TestModel
from support.stores import NOON, OpenMemory

from mnemolog.adapters import openai_agents
from mnemolog.adapters import pydantic_ai as ours
from mnemolog.adapters.langchain_cache import MnemologLlmCache
from mnemolog.adapters.langgraph_saver import MnemologSaver
from mnemolog.memory import Memory

THREAD: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


async def langchain(memory: Memory) -> None:
    model = FakeListChatModel(responses=["a", "b"], cache=MnemologLlmCache(memory))
    assert [(await model.ainvoke("hi")).text for _ in range(2)] == ["a", "a"]
    await MnemologLlmCache(memory).aclear()


async def langgraph(memory: Memory) -> None:
    saver = MnemologSaver(memory)
    place = await saver.aput(THREAD, empty_checkpoint(), {}, {})
    await saver.aput_writes(place, [("channel", 1)], "task")
    assert await saver.aget_tuple(THREAD) is not None
    assert len([found async for found in saver.alist(THREAD)]) == 1
    await saver.acopy_thread("t", "copy")
    await saver.aprune(["t"])
    await saver.adelete_for_runs(["run"])
    await saver.adelete_thread("t")


async def agents(memory: Memory) -> None:
    model = openai_agents.CachedModel(ScriptedModel([[assistant_message("a")]]), memory)
    session = openai_agents.MnemologSession("s", memory)
    agent, config = Agent(name="a", model=model), RunConfig(tracing_disabled=True)
    for _ in range(2):
        await session.clear_session()
        assert (await Runner.run(agent, "hi", session=session, run_config=config)).final_output == "a"
    assert await session.pop_item() is not None


async def pydantic(memory: Memory) -> None:
    agent = pydantic_ai.Agent(ours.CachedModel(TestModel(custom_output_text="a"), memory))
    assert [(await agent.run("hi")).output for _ in range(2)] == ["a", "a"]


@pytest.mark.parametrize("use", [langchain, langgraph, agents, pydantic])
def test_the_event_loop_never_waits_for_the_memory(
    open_memory: OpenMemory, use: Callable[[Memory], Awaitable[Any]]
) -> None:
    asked_in: set[threading.Thread] = set()

    def clock() -> datetime:
        asked_in.add(threading.current_thread())
        return NOON

    memory = open_memory(clock=clock)

    async def main() -> None:
        asked_in.clear()
        await use(memory)

    asyncio.run(main())
    assert asked_in
    assert threading.current_thread() not in asked_in
