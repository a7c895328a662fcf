"""LangChain's cache of answers, under real models of langchain-core that count their calls."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.prompts import PromptTemplate
from support.stores import OpenMemory

from mnemolog.adapters.langchain_cache import MnemologLlmCache
from mnemolog.memory import Memory
from mnemolog.schemas.errors import InvalidInputError

TOOL_CALL: dict[str, Any] = {"name": "search", "args": {"q": {"lc": 1, "id": ["x"]}}, "id": "call-1"}
RICH = AIMessage(
    content=[{"type": "text", "text": "Grüße 👋"}, {"type": "image_url", "image_url": {"url": "data:x"}}],
    tool_calls=[{**TOOL_CALL, "type": "tool_call"}],
    usage_metadata={"input_tokens": 120, "output_tokens": 30, "total_tokens": 150},
    response_metadata={"finish_reason": "tool_calls"},
)


class Chat(FakeMessagesListChatModel):
    """A chat model that says its name, as hosted ones do, and each answer once."""

    model_name: str = "m-1"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}


@pytest.fixture(autouse=True)
def no_cache_after() -> Iterator[None]:
    yield
    set_llm_cache(None)


@pytest.fixture
def cache(place: Memory) -> MnemologLlmCache:
    made = MnemologLlmCache(place)
    set_llm_cache(made)
    return made


def chat(*messages: BaseMessage, **settings: Any) -> Chat:
    """A model that says these in turn."""
    return Chat(responses=list(messages), **settings)


@pytest.mark.usefixtures("cache")
def test_a_chat_model_is_asked_once_for_equal_requests(place: Memory) -> None:
    place.cache.llm.set_costs({"m-1": (0.001, 0.002)})
    model = chat(RICH, AIMessage("second"))
    first, again = model.invoke("hi"), model.invoke([HumanMessage("hi", id="another")])
    assert isinstance(again, AIMessage)
    assert (again.content, again.tool_calls) == (first.content, RICH.tool_calls)
    assert again.response_metadata["finish_reason"] == "tool_calls"
    assert again.usage_metadata is not None
    assert again.usage_metadata["total_tokens"] == 150
    assert model.invoke("another question").content == "second"
    stats = place.cache.stats()
    assert (stats.per_model["m-1"].hits, stats.per_model["m-1"].misses) == (1, 2)
    assert stats.saved_micros == 180_000
    assert chat(AIMessage("of m-2"), model_name="m-2").invoke("hi").content == "of m-2"
    assert chat(AIMessage("stopped"), AIMessage("no")).invoke("hi", stop=["."]).content == "stopped"


def test_awaited_too_and_for_other_handles(open_memory: OpenMemory) -> None:
    mem, other = open_memory(), open_memory()

    async def ask() -> tuple[str, str]:
        model = chat(AIMessage("first"), AIMessage("second"))
        set_llm_cache(MnemologLlmCache(mem))
        first = await model.ainvoke("hi")
        other.wait(mem.set_context("then", 1).position)
        set_llm_cache(MnemologLlmCache(other))
        return first.text, (await model.ainvoke("hi")).text

    assert asyncio.run(ask()) == ("first", "first")


def test_a_text_model_is_cached_too(cache: MnemologLlmCache) -> None:
    model = FakeListLLM(responses=["one", "two", "three"])
    assert [model.invoke("hi"), model.invoke("hi"), model.invoke("ho")] == ["one", "one", "two"]
    cache.clear()
    assert model.invoke("hi") == "three"


@pytest.mark.parametrize(
    "answers",
    [
        [Generation(text="a", generation_info={"finish_reason": "stop"}), Generation(text="b")],
        [ChatGeneration(message=RICH)],
        [ChatGeneration(message=AIMessageChunk(content="part"))],
        [],
    ],
    ids=["text", "message", "chunk", "none"],
)
def test_answers_come_back_as_they_were(place: Memory, answers: list[Generation]) -> None:
    cache = MnemologLlmCache(place)
    assert cache.lookup("p", "model") is None
    cache.update("p", "model", answers)
    assert cache.lookup("p", "model") == answers
    assert asyncio.run(cache.alookup("p", "model")) == answers
    assert (cache.lookup("p", "other"), cache.lookup("q", "model")) == (None, None)
    asyncio.run(cache.aclear())
    assert cache.lookup("p", "model") is None


def test_a_message_is_kept_once(place: Memory) -> None:
    cache, long = MnemologLlmCache(place), [ChatGeneration(message=AIMessage("x" * 60_000))]
    cache.update("p", "model", long)
    assert cache.lookup("p", "model") == long
    assert long[0].text == "x" * 60_000


@pytest.mark.parametrize(
    "stored",
    [
        "not JSON",
        {"no": "list"},
        [1],
        [{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}}],
        [json.loads(json.dumps(dumpd(PromptTemplate.from_template("{x}"))))],
        [{"lc": 1, "type": "secret", "id": ["HOME"]}],
    ],
)
def test_what_is_no_answer_is_a_miss_and_is_never_made(
    place: Memory, stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = MnemologLlmCache(place)
    for made in ("os.system", "langchain_core.prompts.PromptTemplate.__init__"):
        monkeypatch.setattr(made, lambda *args, **kwargs: pytest.fail("it was made"))
    place.cache.llm.store({"model": "langchain", "langchain": {"prompt": "p", "llm": "m"}}, stored)
    assert cache.lookup("p", "m") is None
    assert place.cache.stats().llm.hits == 0
    cache.update("p", "m", [Generation(text="again")])
    assert cache.lookup("p", "m") == [Generation(text="again")]


def test_a_model_that_fails_is_asked_again(place: Memory) -> None:
    set_llm_cache(MnemologLlmCache(place))

    class Failing(Chat):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            raise TimeoutError("the model is away")

    for _ in range(2):
        with pytest.raises(TimeoutError):
            Failing(responses=[]).invoke("hi")
    counts = place.cache.stats().llm
    assert (counts.misses, counts.stores) == (2, 0)


def test_an_answer_that_can_not_be_kept_is_given_all_the_same(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    mem = open_memory()
    set_llm_cache(MnemologLlmCache(mem))
    model = chat(AIMessage("x" * 70_000), AIMessage("closed"))
    with caplog.at_level(logging.WARNING):
        assert len(model.invoke("hi").text) == 70_000
        mem.close()
        assert model.invoke("hi").text == "closed"
    assert "not cached" in caplog.text
    assert "not asked" in caplog.text


def test_many_threads_ask_at_once(cache: MnemologLlmCache) -> None:
    model = FakeListLLM(responses=["same"] * 50)
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(model.invoke("hi"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == ["same"] * 8
    assert cache.lookup("hi", "nothing") is None


def test_a_time_to_live_is_checked_when_the_cache_is_made(place: Memory) -> None:
    for wrong in (0, -1, float("nan"), "1"):
        with pytest.raises(InvalidInputError, match="ttl_seconds"):
            MnemologLlmCache(place, ttl_seconds=wrong)  # type: ignore[arg-type]
