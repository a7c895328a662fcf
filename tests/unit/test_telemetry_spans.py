"""Spans of the verbs: what they say, what they keep to themselves, and whose children they are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode
from support.telemetry import Telemetry

import mnemolog
from mnemolog import AsyncMemory, Fact, Memory
from mnemolog.embedders import HashingEmbedder
from mnemolog.schemas.errors import ClosedError, InvalidInputError, NotFoundError
from mnemolog.telemetry import observe

SECRET = "a-secret-that-no-span-may-hold"


@pytest.fixture
def told() -> Telemetry:
    return Telemetry()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Memory]:
    with mnemolog.open(tmp_path, ("acme", "alice"), embedder="hashing", thread_id="t") as memory:
        yield memory


@pytest.fixture
def mem(plain: Memory, told: Telemetry) -> Memory:
    return told.observe(plain)


def test_a_recall_says_what_it_was_and_what_it_found(mem: Memory, told: Telemetry) -> None:
    mem.remember("Alice is vegetarian", importance=0.5, ttl_seconds=600)
    hits = mem.recall("what does Alice eat?", k=3, threshold=1.5)
    (span,) = told.spans("recall")
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    said = told.last("recall")
    expected = {
        "db.system.name": "mnemolog",
        "db.namespace": "acme/alice",
        "db.operation.name": "recall",
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "mnemolog",
        "gen_ai.memory.store.id": "acme/alice",
        "gen_ai.memory.record.count": 1,
        "gen_ai.conversation.id": "t",
        "mnemolog.k": 3,
        "mnemolog.threshold": 1.5,
        "mnemolog.recall.id": hits.recall_id,
        "mnemolog.recall.candidates": 1,
        "mnemolog.recall.near_miss": False,
        "mnemolog.recall.degraded": False,
    }
    assert expected.items() <= said.items()
    assert said["mnemolog.waited_seconds"] > 0
    written = told.last("remember")
    assert (written["mnemolog.importance"], written["mnemolog.ttl_seconds"]) == (0.5, 600)
    assert written["gen_ai.memory.record.id"] == hits[0].memory.id
    assert written["mnemolog.waited_seconds"] == 0


def test_a_near_miss_is_told_with_its_distance(mem: Memory, told: Telemetry) -> None:
    mem.remember("Alice is vegetarian")
    nearest = mem.recall("vegetarian Alice sails", threshold=0.0).nearest_beyond
    assert nearest is not None
    assert not mem.recall("vegetarian Alice sails", threshold=nearest * 0.9)
    said = told.last("recall")
    assert said["mnemolog.recall.near_miss"] is True
    assert said["mnemolog.recall.nearest_beyond"] == pytest.approx(nearest)


def test_a_consolidation_says_what_it_came_to(mem: Memory, told: Telemetry) -> None:
    mem.remember("Alice moved to Paris", tags=["home"])

    def facts(_: Any) -> list[Fact]:
        return [Fact("home", "Alice lives in Paris"), Fact("boat", "none", tombstone=True)]

    mem.consolidate(extract_facts=facts, tags=["home"], delete_sources=True)
    said = told.last("consolidate")
    assert said["mnemolog.consolidate.mode"] == "facts"
    names = ("considered", "created", "deleted", "unmatched")
    assert [said[f"mnemolog.consolidate.{name}"] for name in names] == [1, 1, 1, 1]


def test_an_error_is_a_status_and_an_exception_and_is_raised(mem: Memory, told: Telemetry) -> None:
    with pytest.raises(NotFoundError):
        mem.update("no-such-id", text="x")
    (span,) = told.spans("update")
    assert span.status.status_code is StatusCode.ERROR
    assert told.last("update")["error.type"] == "NotFoundError"
    assert [event.name for event in span.events] == ["exception"]


def test_no_span_holds_what_a_caller_passed(mem: Memory, told: Telemetry) -> None:
    mem.remember(SECRET, tags=[SECRET], metadata={"a": SECRET}, source="chat")
    mem.recall(SECRET)
    mem.set_context(SECRET, SECRET)
    mem.cache.tool.store("search", {"q": SECRET}, SECRET)
    mem.cache.tool.check("search", {"q": SECRET})
    mem.cache.session.set(SECRET, SECRET)
    for bad in (lambda: mem.recall("x", scoring=SECRET), lambda: mem.remember("x", importance=SECRET)):  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=SECRET):
            bad()
    mem.consolidate(summarize=lambda _: SECRET, older_than_seconds=0)
    spans = told.ended.get_finished_spans()
    assert len(spans) >= 9
    assert not [span.name for span in spans if SECRET in span.to_json()]


def test_texts_are_told_where_that_is_asked_for(plain: Memory, told: Telemetry) -> None:
    mem = told.observe(plain, texts=True)
    mem.recall("what does Alice eat?")
    assert told.last("recall")["gen_ai.memory.query.text"] == "what does Alice eat?"
    with pytest.raises(InvalidInputError):
        mem.recall("x", scoring=SECRET)
    (event,) = told.spans("recall")[-1].events
    assert SECRET in str((event.attributes or {})["exception.message"])


def test_what_a_verb_calls_itself_is_told_once(mem: Memory, told: Telemetry) -> None:
    mem.mark_used(mem.remember("a").id)
    assert len(mem) == 1
    assert [span.name for span in told.ended.get_finished_spans() if "mnemolog." in span.name] == [
        "mnemolog.remember",
        "mnemolog.mark_used",
        "mnemolog.list",
    ]


def test_what_a_function_asks_within_a_verb_does_not_count_as_the_verbs_own(
    mem: Memory, told: Telemetry
) -> None:
    written = mem.remember("a", tags=["t"])

    def asks(_: Any) -> list[Fact]:
        assert mem.get(written.id) is not None
        return []

    mem.consolidate(extract_facts=asks, tags=["t"])
    assert told.last("get")["mnemolog.waited_seconds"] == 0
    assert told.last("consolidate")["mnemolog.waited_seconds"] > 0
    (outer,), (inner,) = told.spans("consolidate"), told.spans("get")
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id


def test_spans_are_children_of_the_programs_and_parents_of_embeddings(mem: Memory, told: Telemetry) -> None:
    tracer = told.provider.get_tracer("program")
    with tracer.start_as_current_span("answer") as answer:
        mem.remember("Alice is vegetarian")
        mem.recall("what does Alice eat?")
    (recall,) = told.spans("recall")
    assert recall.parent is not None
    assert recall.parent.span_id == answer.get_span_context().span_id
    embedded = [span for span in told.ended.get_finished_spans() if span.name.startswith("embeddings ")]
    inside = [span for span in embedded if span.parent and span.parent.span_id == recall.context.span_id]
    (query,) = inside
    assert query.attributes is not None
    assert query.attributes["mnemolog.embedding.texts"] == 1
    assert query.attributes["gen_ai.request.model"] == HashingEmbedder().name


def test_handles_on_other_namespaces_are_observed_too(mem: Memory, told: Telemetry) -> None:
    with mem.at(("acme", "bob"), agent_id="bot") as other:
        other.remember("Bob sails")
        assert other.recall("sails")
    said = told.last("remember")
    assert (said["db.namespace"], said["gen_ai.agent.id"]) == ("acme/bob", "bot")
    assert told.last("recall")["mnemolog.waited_seconds"] > 0
    assert mem.remember("still open").id


def test_caches_are_observed_by_tier(mem: Memory, told: Telemetry) -> None:
    ask = {"model": "m", "messages": []}
    mem.cache.llm.check(ask)
    assert told.last("cache.llm.check")["mnemolog.cache.hit"] is False
    assert told.last("cache.llm.check")["gen_ai.request.model"] == "m"
    mem.cache.tool.store("search", {}, 1)
    assert told.last("cache.tool.store")["gen_ai.tool.name"] == "search"
    assert mem.cache.session.get("k", 7) == 7
    assert told.last("cache.session.get")["mnemolog.cache.hit"] is False


def test_the_async_handle_is_observed_in_the_context_of_its_task(tmp_path: Path, told: Telemetry) -> None:
    async def scenario() -> None:
        options: Any = {"registry": told.registry, "tracer_provider": told.provider}
        async with observe(await AsyncMemory.open(tmp_path, "a", embedder="hashing"), **options) as mem:
            assert isinstance(mem, AsyncMemory)
            with told.provider.get_tracer("program").start_as_current_span("answer"):
                await asyncio.gather(mem.remember("one"), mem.remember("two"))
            await mem.recall("one", group_by_kind=True)
            await mem.cache.llm.check({"model": "m"})
            await mem.at("b").remember("three")
        with pytest.raises(ClosedError):
            await mem.get("x")

    asyncio.run(scenario())
    first, second, third = told.spans("remember")
    assert first.parent is not None
    assert first.parent == second.parent
    assert third.parent is None
    assert told.last("recall")["gen_ai.memory.record.count"] == 2
    assert told.value("cache_requests_total", tier="llm", result="miss") == 1
    assert told.value("errors_total", verb="get", error="ClosedError") is None  # it never reached the verb


def test_a_broken_tracer_breaks_no_verb(plain: Memory, told: Telemetry) -> None:
    class Broken:
        def get_tracer(self, *_: Any, **__: Any) -> Any:
            return self

        def start_span(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no spans today")

    mem = observe(plain, registry=told.registry, tracer_provider=Broken())  # type: ignore[call-overload]
    assert mem.recall("x").items == ()
    with pytest.raises(InvalidInputError):
        mem.recall(" ")
    assert told.value("recalls_total") == 1
