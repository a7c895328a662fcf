"""The OpenAI Agents SDK on our cache and sessions: its Runner, with a model that counts its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from agents import (
    Agent,
    ComputerTool,
    ModelSettings,
    RunConfig,
    Runner,
    SQLiteSession,
    WebSearchTool,
    function_tool,
    set_tracing_disabled,
)
from agents.items import ModelResponse
from agents.memory import Session, SessionSettings
from agents.models.interface import Model, ModelProvider
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.usage import Usage
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails
from pydantic import BaseModel
from support.stores import MovingClock, OpenMemory

import mnemolog
from mnemolog.adapters.openai_agents import CachedModel, CachedModelProvider, MnemologSession
from mnemolog.memory import Memory
from mnemolog.schemas.errors import InvalidInputError

USAGE = Usage(
    requests=1,
    input_tokens=100,
    output_tokens=20,
    total_tokens=120,
    input_tokens_details=InputTokensDetails(cached_tokens=7, cache_write_tokens=0),
    output_tokens_details=OutputTokensDetails(reasoning_tokens=5),
)


@pytest.fixture(autouse=True)
def no_tracing() -> None:
    set_tracing_disabled(True)


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


@function_tool
def weather_of_tomorrow(city: str) -> str:
    """The weather in a city tomorrow."""
    return f"rain in {city}"


class Answer(BaseModel):
    """What an agent may have to say."""

    text: str


def says(*texts: str) -> ScriptedModel:
    """A model that says these, one a call, and then fails."""
    return ScriptedModel([ModelStep(output=[assistant_message(text)], usage=USAGE) for text in texts])


def run(agent: Agent[Any], asked: Any = "hi", **options: Any) -> str:
    """What an agent says at last."""
    return str(Runner.run_sync(agent, asked, **options).final_output)


def test_a_run_is_served_from_the_cache_tool_calls_too(place: Memory) -> None:
    place.cache.llm.set_costs({"m-1": (0.01, 0.1)})
    model = ScriptedModel(
        [
            ModelStep(output=[function_call("weather", {"city": "Oslo"}, call_id="c1")], usage=USAGE),
            ModelStep(output=[assistant_message("sunny")], usage=USAGE, response_id="resp-2"),
        ]
    )
    cached = CachedModel(model, place, name="m-1")
    agent = Agent(name="a", instructions="be brief", model=cached, tools=[weather])
    first, again = (Runner.run_sync(agent, "weather in Oslo?") for _ in range(2))
    assert (first.final_output, again.final_output, len(model.calls)) == ("sunny", "sunny", 2)
    assert again.raw_responses == first.raw_responses
    assert again.raw_responses[1].response_id == "resp-2"
    assert again.context_wrapper.usage.total_tokens == 240
    stats = place.cache.stats()
    assert (stats.per_model["m-1"].hits, stats.per_model["m-1"].misses) == (2, 2)
    assert stats.saved_micros == 2 * 3_000_000


CHANGES: dict[str, Callable[[Agent[Any]], Agent[Any]]] = {
    "instructions": lambda agent: agent.clone(instructions="be long"),
    "settings": lambda agent: agent.clone(model_settings=ModelSettings(temperature=0.5)),
    "extra settings": lambda agent: agent.clone(model_settings=ModelSettings(extra_body={"seed": 1})),
    "a tool": lambda agent: agent.clone(tools=[weather]),
    "another tool": lambda agent: agent.clone(tools=[weather_of_tomorrow]),
    "a hosted tool": lambda agent: agent.clone(tools=[WebSearchTool()]),
    "its setting": lambda agent: agent.clone(tools=[WebSearchTool(search_context_size="high")]),
    "a handoff": lambda agent: agent.clone(handoffs=[Agent(name="other")]),
}


def test_every_part_of_a_request_counts(place: Memory) -> None:
    texts = [str(number) for number in range(len(CHANGES) + 3)]
    agent = Agent(name="a", model=CachedModel(says(*texts), place, name="m"))
    kinds = [agent, *(change(agent) for change in CHANGES.values())]
    said = [run(kind) for kind in kinds] + [run(agent, "another question")]
    said.append(run(agent.clone(model=CachedModel(says("of m-2"), place, name="m-2"))))
    assert said == [*texts[: len(kinds) + 1], "of m-2"]
    assert [run(kind) for kind in kinds] == said[: len(kinds)]
    timed = agent.clone(model_settings=ModelSettings(timeout=30.0))
    assert run(timed) == said[0]  # how it is asked is no part of what is asked


class Hinted(ScriptedModel):
    """A model that takes the hint of which run a request is of, as OpenAI's do."""

    def _supports_default_prompt_cache_key(self) -> bool:
        return True


def test_the_hint_to_a_provider_s_own_cache_is_passed_on_and_does_not_count(place: Memory) -> None:
    model = Hinted([[assistant_message("once")], [assistant_message("twice")]])
    agent = Agent(name="a", model=CachedModel(model, place))
    assert [run(agent), run(agent)] == ["once", "once"]
    assert model.first_call is not None
    assert "prompt_cache_key" in (model.first_call.model_settings.extra_args or {})
    seeded = agent.clone(model_settings=ModelSettings(extra_args={"seed": 1}))
    assert [run(seeded), run(seeded)] == ["twice", "twice"]


def test_an_output_schema_counts(place: Memory) -> None:
    model = says("plain", '{"text": "typed"}')
    agent = Agent(name="a", model=CachedModel(model, place))
    typed = agent.clone(output_type=Answer)
    for _ in range(2):
        assert run(agent) == "plain"
        assert Runner.run_sync(typed, "hi").final_output == Answer(text="typed")
    assert len(model.calls) == 2


class Named(ModelProvider):
    """A provider of models by name, as the SDK's are."""

    def __init__(self) -> None:
        self.models: dict[str | None, ScriptedModel] = {}
        self.closed = False

    def get_model(self, model_name: str | None) -> Model:
        return self.models.setdefault(model_name, says(f"of {model_name}", "again"))

    async def aclose(self) -> None:
        self.closed = True


def test_a_provider_caches_each_of_its_models(open_memory: OpenMemory) -> None:
    mem, other, named = open_memory(), open_memory(), Named()
    for name in ("m-1", "m-2", "m-1"):
        config = RunConfig(model_provider=CachedModelProvider(named, mem))
        assert run(Agent(name="a", model=name), run_config=config) == f"of {name}"
    other.wait(mem.set_context("then", 1).position)
    provider = CachedModelProvider(named, other)
    assert run(Agent(name="a", model="m-2"), run_config=RunConfig(model_provider=provider)) == "of m-2"
    assert {name: len(model.calls) for name, model in named.models.items()} == {"m-1": 1, "m-2": 1}
    asyncio.run(provider.aclose())
    assert named.closed


def test_an_error_is_raised_and_the_model_asked_again(place: Memory) -> None:
    model = ScriptedModel([ModelStep.raise_error(TimeoutError("away")), [assistant_message("back")]])
    agent = Agent(name="a", model=CachedModel(model, place))
    with pytest.raises(TimeoutError):
        run(agent)
    assert [run(agent), run(agent), len(model.calls)] == ["back", "back", 2]


def ask(model: Model, **options: Any) -> Coroutine[Any, Any, ModelResponse]:
    """Ask a model as the Runner does."""
    from agents.models.interface import ModelTracing

    known: dict[str, Any] = {"previous_response_id": None, "conversation_id": None, "prompt": None}
    tools = options.pop("tools", [])
    return model.get_response(
        None, "hi", ModelSettings(), tools, None, [], ModelTracing.DISABLED, **{**known, **options}
    )


def test_what_a_server_keeps_and_what_json_can_not_describe_is_asked_each_time(place: Memory) -> None:
    class Desk:
        """A computer that is an object of this program."""

    async def several() -> list[str]:
        model = CachedModel(says(*map(str, range(9))), place)
        computer: Any = Desk()
        desk: Any = ComputerTool(computer=computer)
        asked: list[dict[str, Any]] = [
            {"conversation_id": "conv"},
            {"conversation_id": "conv"},
            {"tools": [desk]},
            {"tools": [desk]},
            {"previous_response_id": "r1"},
            {"previous_response_id": "r2"},
            {"previous_response_id": "r1"},
            {"prompt": {"id": "p"}},
            {},
        ]
        answers = [await ask(model, **options) for options in asked]
        outputs: list[Any] = [answer.output[0] for answer in answers]
        return [output.content[0].text for output in outputs]

    assert asyncio.run(several()) == ["0", "1", "2", "3", "4", "5", "4", "6", "7"]


def test_streams_pass_through(place: Memory) -> None:
    model = says("one", "two")
    agent = Agent(name="a", model=CachedModel(model, place))

    async def stream() -> tuple[str, int]:
        streamed = Runner.run_streamed(agent, "hi")
        events = [event async for event in streamed.stream_events()]
        return str(streamed.final_output), len(events)

    assert [asyncio.run(stream())[0], asyncio.run(stream())[0]] == ["one", "two"]
    assert place.cache.stats().llm.total == 0


def test_equal_requests_at_once(place: Memory) -> None:
    async def many() -> set[str]:
        agent = Agent(name="a", model=CachedModel(says(*["same"] * 8), place))
        return {
            str(one.final_output)
            for one in await asyncio.gather(*(Runner.run(agent, "hi") for _ in "12345678"))
        }

    assert asyncio.run(many()) == {"same"}


def test_an_async_memory_serves_as_well(place: Memory) -> None:
    memory = mnemolog.AsyncMemory(place)
    agent = Agent(name="a", model=CachedModel(says("once"), memory))
    session = MnemologSession("s", memory)
    assert [run(agent, session=session), len(asyncio.run(session.get_items()))] == ["once", 2]
    assert run(agent) == "once"


@pytest.fixture(params=["reference", "mnemolog"])
def session(request: pytest.FixtureRequest, place: Memory) -> Session:
    return SQLiteSession("s") if request.param == "reference" else MnemologSession("s", place)


def said(items: list[Any]) -> list[str]:
    """The texts of items."""
    return [item["content"] for item in items]


def user(*texts: str) -> list[Any]:
    """Items that a user said."""
    return [{"role": "user", "content": text} for text in texts]


def test_a_session_is_a_list_that_grows_and_shrinks_at_its_end(session: Session) -> None:
    async def use() -> None:
        assert isinstance(session, Session)
        assert (await session.get_items(), await session.pop_item()) == ([], None)
        await session.add_items([])
        await session.add_items(user("a", "b", "c"))
        await session.add_items(user("d"))
        for limit, expected in ((None, "abcd"), (2, "cd"), (3, "bcd"), (9, "abcd"), (0, "")):
            assert said(await session.get_items(limit)) == list(expected), limit
        assert said([await session.pop_item(), await session.pop_item()]) == ["d", "c"]
        await session.add_items(user("e"))
        assert said(await session.get_items()) == ["a", "b", "e"]
        await session.clear_session()
        assert await session.get_items() == []
        await session.add_items(user("f"))
        assert said(await session.get_items()) == ["f"]

    asyncio.run(use())


def test_a_runner_remembers_by_it(session: Session) -> None:
    model = says("hello Ann", "you are Ann")
    agent = Agent(name="a", model=model)
    run(agent, "I am Ann", session=session)
    assert run(agent, "who am I?", session=session) == "you are Ann"
    assert [item.get("role") for item in model.calls[1].input] == ["user", "assistant", "user"]


def test_sessions_are_kept_apart_shared_by_handles_and_of_any_size(open_memory: OpenMemory) -> None:
    mem, other = open_memory(), open_memory()
    big = {"role": "user", "content": "ä" * 100_000, "nested": [[[1.5, None, True]]] * 10_000}

    async def use() -> None:
        await MnemologSession("s", mem).add_items([big, *user("last")])  # type: ignore[list-item]
        await MnemologSession("t", mem).add_items(user("other"))
        other.wait(mem.set_context("then", 1).position)
        limited = MnemologSession("s", other, session_settings=SessionSettings(limit=1))
        assert said(await limited.get_items()) == ["last"]
        assert said([await limited.pop_item()]) == ["last"]
        assert await limited.get_items(5) == [big]
        await limited.clear_session()
        assert other.list_context(agent_id="openai-agents", thread_id="s").total == 0
        assert said(await MnemologSession("t", other).get_items()) == ["other"]

    asyncio.run(use())


def test_sessions_outlive_caches_unless_told_otherwise(place: Memory, clock: MovingClock) -> None:
    place.cache.session.set_default_ttl(1)

    async def use() -> list[int]:
        kept, fleeting = MnemologSession("s", place), MnemologSession("t", place, ttl_seconds=60)
        await kept.add_items(user("a"))
        await fleeting.add_items(user("b"))
        before = len(await fleeting.get_items())
        place.cache.clear()
        clock.advance(days=30)
        return [before, len(await kept.get_items()), len(await fleeting.get_items())]

    assert asyncio.run(use()) == [1, 1, 0]


def test_bad_sessions_are_refused(place: Memory) -> None:
    unfit: list[Any] = [{"role": "user", "content": b"bytes"}]
    with pytest.raises(InvalidInputError, match="ttl_seconds"):
        MnemologSession("s", place, ttl_seconds=-1)
    with pytest.raises(InvalidInputError, match="thread_id"):
        asyncio.run(MnemologSession(" ", place).add_items(user("a")))
    with pytest.raises(InvalidInputError, match="session_id"):
        MnemologSession(cast("Any", None), place)
    with pytest.raises(InvalidInputError, match="JSON"):
        asyncio.run(MnemologSession("s", place).add_items(unfit))
    for nothing in (None, ["text"], [5], "text"):
        with pytest.raises(InvalidInputError, match="items"):
            asyncio.run(MnemologSession("s", place).add_items(cast("Any", nothing)))
    assert asyncio.run(MnemologSession("s", place).get_items()) == []
