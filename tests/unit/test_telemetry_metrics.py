"""Metrics of handles: what is counted, what is looked up at a scrape, and what never grows."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from support.telemetry import Telemetry
from support.workers import wait_until

import mnemolog
from mnemolog import Fact, Memory
from mnemolog.caches.caches import Caches
from mnemolog.caches.llm import LlmCache
from mnemolog.caches.sessions import SessionCache
from mnemolog.caches.tool import ToolCache
from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.deadletter_queue import DeadLetterQueue
from mnemolog.producers.clock import utc_now
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.errors import ClosedError, InvalidInputError
from mnemolog.schemas.ports import Log
from mnemolog.schemas.records import Record
from mnemolog.schemas.topics import MEMORIES
from mnemolog.telemetry import observe
from mnemolog.telemetry.instruments import MAX_NAMESPACES, OTHER
from mnemolog.telemetry.looks import PATIENCE_SECONDS
from mnemolog.telemetry.observed import NOT_VERBS, ObservedMemory
from mnemolog.telemetry.observed_caches import (
    ObservedCaches,
    ObservedLlmCache,
    ObservedSessionCache,
    ObservedToolCache,
)


@pytest.fixture
def told() -> Telemetry:
    return Telemetry()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Memory]:
    with mnemolog.open(tmp_path / "m", "a", embedder="hashing") as memory:
        yield memory


@pytest.fixture
def mem(plain: Memory, told: Telemetry) -> Memory:
    return told.observe(plain)


def methods(owner: type) -> dict[str, Any]:
    return {
        name: found
        for name, found in inspect.getmembers(owner, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize(
    ("plain_class", "observed"),
    [
        (Memory, ObservedMemory),
        (Caches, ObservedCaches),
        (LlmCache, ObservedLlmCache),
        (ToolCache, ObservedToolCache),
        (SessionCache, ObservedSessionCache),
    ],
)
def test_every_verb_is_observed_with_its_signature(plain_class: type, observed: type) -> None:
    own = vars(observed)
    for name, method in methods(plain_class).items():
        assert name in own, f"{observed.__name__}.{name} is not observed"
        assert inspect.signature(own[name]) == inspect.signature(method)
    assert {"at", "close"} == NOT_VERBS


def test_recalls_are_counted_by_what_they_found(mem: Memory, told: Telemetry) -> None:
    mem.remember_many(["Alice is vegetarian", "Bob sails"])
    assert len(mem.recall("Alice vegetarian")) == 2
    nearest = mem.recall("vegetarian Alice sings", threshold=0.0).nearest_beyond
    assert nearest is not None
    mem.recall("vegetarian Alice sings", threshold=nearest * 0.9)
    assert told.value("recalls_total") == 3
    assert told.value("recall_hits_total") == 2
    assert told.value("recall_empty_total") == 2
    assert told.value("recall_near_misses_total") == 1
    assert told.value("verb_seconds_count", verb="recall") == 3
    assert told.value("writes_total", verb="remember_many") == 2
    waits = told.value("wait_seconds_count")
    assert waits is not None
    assert 1 <= waits <= 3


def test_recalls_by_keywords_alone_are_told(tmp_path: Path, told: Telemetry) -> None:
    def fails(texts: list[str]) -> Any:
        if "question" in texts:
            raise OSError("away")
        return np.ones((len(texts), 4), dtype=np.float32) / 2

    with told.observe(mnemolog.open(tmp_path, embedder=fails)) as mem:
        mem.remember("other")
        mem.recall("question")
        assert told.value("recall_degraded_total") == 1
        errors = told.value("embedding_errors_total")
        assert errors is not None
        assert errors >= 1


def test_errors_are_counted_by_verb_and_class(mem: Memory, told: Telemetry) -> None:
    for _ in range(2):
        with pytest.raises(InvalidInputError):
            mem.remember("  ")
    with pytest.raises(InvalidInputError):
        mem.consolidate(summarize=lambda _: "x")
    assert told.value("errors_total", verb="remember", error="InvalidInputError") == 2
    assert told.value("errors_total", verb="consolidate", error="InvalidInputError") == 1
    assert told.value("writes_total", verb="remember") is None


def test_classes_of_errors_that_are_not_ours_are_one(mem: Memory, told: Telemetry) -> None:
    def stops(_: Any) -> str:
        raise KeyboardInterrupt

    mem.remember("x", tags=["t"])
    with pytest.raises(KeyboardInterrupt):
        mem.consolidate(summarize=stops, tags=["t"])
    assert told.value("errors_total", verb="consolidate", error=OTHER) == 1


def test_consolidations_and_what_came_of_them(mem: Memory, told: Telemetry) -> None:
    mem.remember("Alice moved to Paris", tags=["home"])
    facts = [Fact("home", "Alice lives in Paris"), Fact("boat", "none", tombstone=True)]
    mem.consolidate(extract_facts=lambda _: facts, tags=["home"])
    assert told.value("consolidations_total", mode="facts") == 1
    assert told.value("consolidated_total", outcome="created") == 1
    assert told.value("consolidated_total", outcome="unmatched") == 1


def test_caches_are_counted_by_tier_and_result(mem: Memory, told: Telemetry) -> None:
    ask = {"model": "m", "messages": []}
    cache = mem.cache
    cache.llm.set_costs({"m": (0.001, 0.002)})
    cache.llm.check(ask)
    cache.llm.store(ask, "héllo", tokens={"input": 1000, "output": 500})
    cache.llm.check(ask)
    cache.tool.store("search", {}, [1, 2], cost=0.5)
    cache.tool.check("search", {})
    cache.session.set("k", None, thread_id="t")
    assert cache.session.get("k", 7, thread_id="t") is None
    assert told.value("cache_requests_total", tier="llm", result="miss") == 1
    assert told.value("cache_requests_total", tier="llm", result="hit") == 1
    assert told.value("cache_requests_total", tier="tool", result="hit") == 1
    assert told.value("cache_requests_total", tier="session", result="hit") == 1
    assert told.value("cache_saved_cost_total", tier="llm") == pytest.approx(2.0)
    assert told.value("cache_saved_cost_total", tier="tool") == pytest.approx(0.5)
    assert told.value("cache_stored_bytes_total", tier="llm") == len('"héllo"'.encode())
    assert told.value("cache_stores_total", tier="tool") == 1
    assert cache.stats().llm.hits == 1


def test_what_the_model_is_asked_is_counted_once_whoever_watches(plain: Memory, told: Telemetry) -> None:
    first, second = told.observe(plain), told.observe(plain)
    first.wait(first.remember_many(["one", "two", "three"])[-1].position)
    second.recall("what?")
    second.recall("what?")  # its vector is remembered
    assert told.value("embedding_texts_total") == 4
    calls = told.value("embedding_calls_total")
    assert calls == told.value("embedding_seconds_count")
    second.close()
    with pytest.raises(ClosedError):
        first.recall("x")


def test_gauges_are_looked_up_at_the_scrape(mem: Memory, told: Telemetry) -> None:
    receipts = mem.remember_many(["one", "two", "three"])
    mem.wait(receipts[-1].position)
    assert told.value("active_memories") == 3
    mem.forget(receipts[0].id)
    mem.set_config(max_items_per_scope=1)
    mem.remember("four", importance=0.9)
    for number in range(2):
        mem.cache.session.set("k", 1, thread_id=f"t{number}")
    assert mem.cache.session.get("k", thread_id="t1") == 1
    assert told.value("active_sessions") == 2
    assert told.value("lag_events", topic="mnemolog.context", partition="0") == 0
    wait_until(lambda: told.value("active_memories") == 1, "the rule to let two go")
    assert told.value("evictions_total", rule="capacity") == 2
    assert told.value("forgotten_total") == 1


def test_dead_letters_wait_until_a_person_decides(tmp_path: Path, told: Telemetry) -> None:
    with told.observe(mnemolog.open(tmp_path, "a", embedder="none")) as mem:
        assert told.value("dead_letters") == 0
        with EmbeddedLog(tmp_path / "log.sqlite") as log:
            bad = log.append([Record(MEMORIES, b"a", b"\xff no event"), Record(MEMORIES, b"a", b"{}")])
            mem.wait(bad[-1])
            assert told.value("dead_letters") == 2
            queue = DeadLetterQueue(log, utc_now)
            queue.drop(queue.letters()[0])
        assert told.value("dead_letters") == 1


def test_a_scrape_that_fails_leaves_the_rest_and_is_counted(
    mem: Memory, told: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem.remember("x")

    def broken(*_: Any) -> Any:
        raise OSError("the store is away")

    monkeypatch.setattr(mem._queries, "lag", broken)
    text = generate_latest(told.registry).decode()
    assert 'mnemolog_writes_total{verb="remember"} 1.0' in text
    assert "mnemolog_active_memories " in text
    assert "mnemolog_lag_events{" not in text
    assert told.value("scrape_errors_total") == 2  # this look is one too


def test_a_scrape_does_not_wait_for_what_does_not_answer(
    mem: Memory, told: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, lag = threading.Event(), mem._queries.lag

    def slow(log: Log) -> dict[str, int]:
        answers.wait(60)
        return lag(log)

    monkeypatch.setattr(mem._queries, "lag", slow)
    threads = threading.active_count()
    for _ in range(3):
        begun = time.monotonic()
        found = {name for name, _ in told.series()}
        assert time.monotonic() - begun < 2 * PATIENCE_SECONDS
        assert "mnemolog_active_memories" in found
        assert "mnemolog_lag_events" not in found
    assert threading.active_count() <= threads + 1  # the first look, which goes on
    answers.set()
    wait_until(lambda: any(name == "mnemolog_lag_events" for name, _ in told.series()), "the lag")


@pytest.mark.parametrize("closes", ["observed", "plain"])
def test_closing_either_closes_both_and_takes_the_gauges_away(
    plain: Memory, told: Telemetry, closes: str
) -> None:
    mem = told.observe(plain)
    mem.remember("x")
    (mem if closes == "observed" else plain).close()
    for one in (mem, plain):
        with pytest.raises(ClosedError):
            one.recall("x")
    assert told.value("active_memories") is None
    assert told.value("writes_total", verb="remember") == 1
    assert told.value("scrape_errors_total") in (None, 0)
    mem.close()


def test_handles_share_a_registry_and_count_together(tmp_path: Path, told: Telemetry) -> None:
    with (
        told.observe(mnemolog.open(tmp_path / "one", "a", embedder="hashing")) as one,
        told.observe(mnemolog.open(tmp_path / "two", "a", embedder="hashing")) as two,
        told.observe(mnemolog.open(tmp_path / "one", "a", embedder="hashing")) as again,
    ):
        for mem in (one, two):
            mem.wait(mem.remember("x").position)
        again.recall("x")
        assert told.value("writes_total", verb="remember") == 2
        assert told.value("active_memories") == 2  # those of the folder "one" count once


def test_another_prefix_is_another_set_and_other_names_are_refused(plain: Memory, told: Telemetry) -> None:
    told.observe(plain)
    other = told.observe(plain, prefix="second")
    other.recall("x")
    assert told.value("recalls_total") == 0
    assert told.registry.get_sample_value("second_recalls_total") == 1
    registry = CollectorRegistry()
    taken = Counter("mine_writes", "", registry=registry)
    with pytest.raises(InvalidInputError, match="prefix"):
        observe(plain, registry=registry, prefix="mine")
    registry.unregister(taken)
    assert observe(plain, registry=registry, prefix="mine").recall("x").items == ()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"prefix": "no-name"}, "prefix"),
        ({"prefix": 3}, "prefix"),
        ({"labels": ["user"]}, "labels"),
        ({"labels": "namespaces"}, "labels"),
        ({"registry": object()}, "registry"),
    ],
)
def test_bad_arguments_are_refused(plain: Memory, options: Any, field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        observe(plain, **{"registry": CollectorRegistry(), **options})
    assert refused.value.field == field


def test_what_can_not_be_observed_is_refused(plain: Memory, told: Telemetry) -> None:
    mem = told.observe(plain)
    for thing in (mem, None, "memory"):
        with pytest.raises(InvalidInputError, match="not observed yet"):
            told.observe(thing)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="labels"):
        told.observe(plain, labels=["namespace"])
    mem.close()
    with pytest.raises(ClosedError):
        told.observe(plain)


def test_ten_thousand_namespaces_do_not_grow_the_registry(plain: Memory, told: Telemetry) -> None:
    mem = observe(plain, registry=told.registry)
    fails: Callable[[Memory], object] = lambda one: one.recall(" ")  # noqa: E731 quick, and touches no view
    with suppress(InvalidInputError):
        fails(mem)
    before = told.series()
    for number in range(10_000):
        with suppress(InvalidInputError):
            fails(mem.at(("tenant", str(number))))
    assert told.series() == before
    assert told.value("errors_total", verb="recall", error="InvalidInputError") == 10_001


def test_namespaces_as_a_label_are_bounded(plain: Memory, told: Telemetry) -> None:
    mem = told.observe(plain, labels=["namespace"])
    assert plain.namespace == ("a",)
    mem.wait(mem.remember("x").position)
    assert told.value("writes_total", verb="remember", namespace="a") == 1
    assert told.value("active_memories", namespace="a") == 1
    for number in range(MAX_NAMESPACES + 500):
        with suppress(InvalidInputError):
            mem.at(("tenant", str(number))).recall(" ")
    errors = {"verb": "recall", "error": "InvalidInputError"}
    assert told.value("errors_total", namespace="tenant/1", **errors) == 1
    assert told.value("errors_total", namespace=OTHER, **errors) == 501
    assert len({labels for _, labels in told.series() if ("namespace", OTHER) in labels}) > 0


def test_the_exposition_is_sound(mem: Memory, told: Telemetry) -> None:
    mem.recall("x")
    families = list(text_string_to_metric_families(generate_latest(told.registry).decode()))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    assert all(family.documentation for family in families)


def test_an_embedder_hears_nothing_after_the_handle_is_closed(tmp_path: Path, told: Telemetry) -> None:
    model = HashingEmbedder(8)
    with mnemolog.open(tmp_path, embedder=model) as plain:
        other = plain.at("other")
        told.observe(other).close()
        plain.recall("x")
        plain.wait(plain.remember("text").position)
    assert told.value("embedding_calls_total") == 0
