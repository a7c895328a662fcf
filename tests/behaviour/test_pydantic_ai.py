"""Pydantic AI's agents on our cache, with models that count their calls."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    BinaryImage,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage
from support.stores import OpenMemory, Store

import mnemolog
from mnemolog.adapters.pydantic_ai import CachedModel
from mnemolog.memory import Memory

Reply = Callable[[list[ModelMessage], AgentInfo], ModelResponse]


class Counted:
    """A model that answers as `reply` does, by default with the number of the call."""

    def __init__(self, reply: Reply | None = None, **settings: Any) -> None:
        self.calls = 0
        self._reply = reply or (lambda messages, info: ModelResponse([TextPart(str(self.calls))]))
        self.model = FunctionModel(self._answer, **settings)

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.calls += 1
        return self._reply(messages, info)


class Answer(BaseModel):
    """What an agent may have to say."""

    text: str


def run(model: CachedModel, asked: Any = "hi", **options: Any) -> Any:
    """What an agent says."""
    return Agent(model, **options).run_sync(asked).output


def test_a_run_is_served_from_the_cache_tool_calls_too(place: Memory) -> None:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        usage = RequestUsage(input_tokens=100, output_tokens=20)
        if len(messages) == 1:
            thinking = ThinkingPart("hm", signature="s", provider_name="function")
            return ModelResponse([thinking, ToolCallPart("weather", {"city": "Oslo"})], usage=usage)
        return ModelResponse([TextPart("sunny — 晴")], usage=usage, finish_reason="stop")

    counted = Counted(reply, model_name="m-1")
    place.cache.llm.set_costs({"m-1": (0.01, 0.1)})
    agent = Agent(CachedModel(counted.model, place), instructions="be brief")

    @agent.tool_plain
    def weather(city: str) -> str:
        return f"sunny in {city}"

    first, again = agent.run_sync("weather?"), agent.run_sync("weather?")
    assert (first.output, again.output, counted.calls) == ("sunny — 晴", "sunny — 晴", 2)
    kept, found = (
        [message for message in result.all_messages() if isinstance(message, ModelResponse)]
        for result in (first, again)
    )
    assert [(one.parts, one.usage, one.finish_reason) for one in found] == [
        (one.parts, one.usage, one.finish_reason) for one in kept
    ]
    assert {one.run_id for one in found} != {one.run_id for one in kept}
    stats = place.cache.stats()
    assert (stats.per_model["m-1"].hits, stats.per_model["m-1"].misses) == (2, 2)
    assert stats.saved_micros == 2 * 3_000_000


def test_every_part_of_a_request_counts(place: Memory) -> None:
    def tool(kind: str) -> Callable[..., str]:
        def look(query: str) -> str:
            return query

        look.__doc__ = kind
        return look

    counted = Counted()
    model = CachedModel(counted.model, place)
    kinds: list[dict[str, Any]] = [
        {},
        {"instructions": "be brief"},
        {"system_prompt": "be brief"},
        {"model_settings": ModelSettings(temperature=0.5)},
        {"model_settings": ModelSettings(extra_body={"seed": 1})},
        {"tools": [tool("Look.")]},
        {"tools": [tool("Look well.")]},
        {"asked": "another"},
        {"asked": ["see", BinaryContent(b"\x00\xff", media_type="image/png")]},
        {"asked": ["see", BinaryContent(b"\x00\xfe", media_type="image/png")]},
    ]
    said = [run(model, **kind) for kind in kinds]
    assert said == [str(number + 1) for number in range(len(kinds))]
    assert [run(model, **kind) for kind in kinds] == said
    assert run(model, model_settings=ModelSettings(timeout=9.0)) == "1"
    assert run(CachedModel(Counted(model_name="m-2").model, place)) == "1"
    assert run(CachedModel(Counted(settings=ModelSettings(seed=7)).model, place)) == "1"
    assert place.cache.stats().llm.hits == len(kinds) + 1


def test_typed_output_comes_back(place: Memory) -> None:
    test_model = TestModel(custom_output_args={"text": "typed"}, model_name="t")
    model = CachedModel(test_model, place)
    assert [run(model, output_type=Answer) for _ in range(2)] == [Answer(text="typed")] * 2
    assert place.cache.stats().per_model["t"].hits == 1


def test_bytes_in_a_response_come_back(place: Memory) -> None:
    image = BinaryImage(os.urandom(100), media_type="image/png")
    counted = Counted(
        lambda messages, info: ModelResponse(
            [FilePart(image), TextPart("see")],
            provider_details={"a": [1, None]},
            timestamp=datetime(2026, 1, 1, tzinfo=UTC),
            provider_response_id="r1",
        )
    )
    model = CachedModel(counted.model, place)

    async def ask() -> ModelResponse:
        return await model.request([ModelRequest.user_text_prompt("draw")], None, ModelRequestParameters())

    assert asyncio.run(ask()) == asyncio.run(ask())
    assert counted.calls == 1


def test_errors_and_responses_that_are_not_whole_are_not_cached(place: Memory) -> None:
    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if counted.calls == 1:
            raise TimeoutError("away")
        if counted.calls == 2:
            return ModelResponse([TextPart("half")], finish_reason="error")
        if counted.calls == 3:
            return ModelResponse([TextPart("half")], state="interrupted")
        return ModelResponse([TextPart("whole")])

    counted = Counted(reply)
    model = CachedModel(counted.model, place)

    async def ask() -> str:
        response = await model.request([ModelRequest.user_text_prompt("hi")], None, ModelRequestParameters())
        return str(response.parts[0].content)  # type: ignore[union-attr]

    with pytest.raises(TimeoutError):
        asyncio.run(ask())
    assert [asyncio.run(ask()) for _ in range(4)] == ["half", "half", "whole", "whole"]
    assert counted.calls == 4


def test_a_request_that_json_can_not_describe_is_asked_each_time(place: Memory) -> None:
    counted = Counted()
    model = CachedModel(counted.model, place)
    odd = ModelSettings(extra_body=object())
    assert [run(model, model_settings=odd) for _ in range(2)] == ["1", "2"]


def test_streams_pass_through(place: Memory) -> None:
    async def words(messages: list[ModelMessage], info: AgentInfo) -> Any:
        yield "one "
        yield "two"

    model = CachedModel(FunctionModel(stream_function=words), place)

    async def stream() -> str:
        async with Agent(model).run_stream("hi") as streamed:
            return await streamed.get_output()

    assert [asyncio.run(stream()) for _ in range(2)] == ["one two"] * 2
    assert place.cache.stats().llm.total == 0


def test_other_handles_find_it_and_other_namespaces_do_not(open_memory: OpenMemory) -> None:
    mem, other, stranger = open_memory(), open_memory(), open_memory("bob")
    counted = Counted()
    assert run(CachedModel(counted.model, mem)) == "1"
    other.wait(mem.set_context("then", 1).position)
    assert run(CachedModel(counted.model, mnemolog.AsyncMemory(other))) == "1"
    assert run(CachedModel(counted.model, stranger)) == "2"


def test_equal_requests_at_once(place: Memory) -> None:
    model = CachedModel(TestModel(custom_output_text="same"), place)

    async def many() -> set[str]:
        runs = [Agent(model).run("hi") for _ in range(8)]
        return {result.output for result in await asyncio.gather(*runs)}

    assert asyncio.run(many()) == {"same"}


def test_what_was_stored_by_something_else_is_a_miss(place: Memory) -> None:
    counted = Counted()
    model = CachedModel(counted.model, place)
    params = model._params([ModelRequest.user_text_prompt("hi")], None, ModelRequestParameters())
    for stored in (
        "text",
        {"kind": "request", "parts": []},
        {"kind": "response", "parts": [{"part_kind": "?"}]},
    ):
        place.cache.llm.store(params, stored)

        async def ask() -> ModelResponse:
            return await model.request([ModelRequest.user_text_prompt("hi")], None, ModelRequestParameters())

        asyncio.run(ask())
    assert (counted.calls, place.cache.stats().llm.hits) == (3, 0)


KEY = """
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
import mnemolog
from mnemolog.adapters.pydantic_ai import CachedModel
from mnemolog.caches.requests import request_key
names = {{str(number) for number in range(20)}}
tools = [ToolDefinition(name=name) for name in sorted(names)]
parameters = ModelRequestParameters(function_tools=tools, revealed_tool_names=names)
with mnemolog.open({home!r}, embedder="hashing") as memory:
    model = CachedModel(TestModel(), memory)
    print(request_key(model._params([ModelRequest.user_text_prompt("hi")], None, parameters)))
"""


def test_every_process_makes_the_same_key(folder_store: Store, tmp_path: Path) -> None:
    found = set()
    for seed in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", KEY.format(home=str(tmp_path / "keys"))],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1
