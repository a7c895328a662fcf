"""The short-term caches: answers found again by equal requests, expired, dropped, and counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.stores import NOON, MovingClock, OpenMemory, Store, at_once

from mnemolog.caches.caches import ToolEffectiveness
from mnemolog.caches.counting import FLUSH_EVERY
from mnemolog.caches.lifetimes import ToolPolicy
from mnemolog.memory import Memory
from mnemolog.producers.context_commands import Address
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.topics import CONTEXT

ASK: dict[str, Any] = {
    "model": "m-1",
    "messages": [{"role": "user", "content": "Hi — 你好"}],
    "temperature": 0.0,
    "tools": [{"name": "a", "x": 1}, {"type": "function", "function": {"name": "b"}}],
}


def test_an_answer_is_found_by_an_equal_request_alone(open_memory: OpenMemory) -> None:
    mem, other = open_memory("alice"), open_memory("bob")
    assert not mem.cache.llm.check(ASK).hit
    receipt = mem.cache.llm.store(ASK, {"text": "Hello"}, tokens={"input": 12, "output": 3})
    found = mem.cache.llm.check(
        {**ASK, "temperature": 0, "tools": ASK["tools"][::-1], "stream": True, "seed": None}
    )
    assert (found.hit, found.response) == (True, {"text": "Hello"})
    assert (found.key, found.input_tokens, found.output_tokens) == (receipt.id, 12, 3)
    changes: list[dict[str, Any]] = [
        {"model": "m-2"},
        {"temperature": 0.5},
        {"seed": 1},
        {"messages": []},
        {"logit_bias": {"a": 1}},
    ]
    for change in changes:
        assert not mem.cache.llm.check({**ASK, **change}).hit
    assert not other.cache.llm.check(ASK).hit


def test_any_json_may_be_an_answer_null_too(mem: Memory) -> None:
    responses: list[Any] = [None, "", 0, False, [], {"response": None}]
    for number, response in enumerate(responses):
        mem.cache.llm.store({"model": "m", "n": number}, response)
        mem.cache.tool.store("t", number, response)
    for number, response in enumerate(responses):
        found, called = mem.cache.llm.check({"model": "m", "n": number}), mem.cache.tool.check("t", number)
        assert (found.hit, found.response, called.hit, called.response) == (True, response, True, response)


def test_an_answer_that_its_reader_refuses_is_a_miss_and_counts_as_one(mem: Memory) -> None:
    mem.cache.llm.store(ASK, "41")
    mem.cache.llm.set_costs({"m-1": (1.0, 1.0)})
    assert mem.cache.llm.check(ASK, read=int).response == 41
    mem.cache.llm.store(ASK, "forty", tokens={"input": 1})
    found = mem.cache.llm.check(ASK, read=int)
    assert (found.hit, found.response) == (False, None)
    counts = mem.cache.stats().llm
    assert (counts.hits, counts.misses, counts.saved_micros) == (1, 1, 0)


def test_answers_are_dropped_by_request_by_model_and_all_together(mem: Memory) -> None:
    for model in ("m-1", "m-2"):
        for seed in range(3):
            mem.cache.llm.store({"model": model, "seed": seed}, seed)
    mem.cache.tool.store("m-1", {}, "of a tool named like a model")
    assert mem.cache.llm.invalidate({"model": "m-1", "seed": 0})
    assert not mem.cache.llm.invalidate({"model": "m-1", "seed": 0})
    assert mem.cache.llm.invalidate_by_model("m-1") == 2
    assert mem.cache.llm.invalidate_by_model("m-1") == 0
    assert mem.cache.llm.check({"model": "m-2", "seed": 1}).hit
    assert mem.cache.tool.check("m-1", {}).hit
    assert mem.cache.llm.clear() == 3
    assert mem.cache.clear() == 1


def test_tool_answers_by_name_and_arguments(mem: Memory) -> None:
    mem.cache.tool.store("search", {"q": "tea", "k": 1}, ["green"])
    assert mem.cache.tool.check("search", {"k": 1.0, "q": "tea"}).response == ["green"]
    for tool, args in [
        ("search", {"q": "tea"}),
        ("Search", {"q": "tea", "k": 1}),
        ("search", {"q": "tea", "k": True}),
    ]:
        assert not mem.cache.tool.check(tool, args).hit
    mem.cache.tool.store("a:b|c*", None, 1)
    assert mem.cache.tool.check("a:b|c*").response == 1
    assert mem.cache.tool.invalidate("search", {"q": "tea", "k": 1})
    assert mem.cache.tool.invalidate_by_tool("a:b|c*") == 1
    assert not mem.cache.tool.check("a:b|c*").hit


def test_the_calls_word_goes_before_the_policy_and_that_before_the_default(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    mem = open_memory(clock=clock)
    mem.cache.tool.set_default_ttl(300)
    mem.cache.tool.set_policy("search", 60)
    mem.cache.tool.set_policy("forever", None)
    assert mem.cache.tool.policies() == {"search": ToolPolicy(60), "forever": ToolPolicy(None)}
    assert mem.cache.tool.get_policy("search") == ToolPolicy(60)
    assert mem.cache.tool.get_policy("other") is None
    for tool in ("search", "forever", "other"):
        mem.cache.tool.store(tool, "policy", 1)
        mem.cache.tool.store(tool, "call", 1, ttl_seconds=10)
        mem.cache.tool.store(tool, "kept", 1, ttl_seconds=None)

    def hits(seconds: float) -> set[tuple[str, str]]:
        clock.now = NOON
        clock.advance(seconds=seconds)
        names = [
            (tool, args) for tool in ("search", "forever", "other") for args in ("policy", "call", "kept")
        ]
        return {(tool, args) for tool, args in names if mem.cache.tool.check(tool, args).hit}

    kept = {("search", "kept"), ("forever", "kept"), ("other", "kept"), ("forever", "policy")}
    assert len(hits(9.9)) == 9
    assert hits(10) == kept | {("search", "policy"), ("other", "policy")}
    assert hits(60) == kept | {("other", "policy")}
    assert hits(300) == kept
    assert mem.cache.tool.delete_policy("search")
    assert not mem.cache.tool.delete_policy("search")


def test_policies_hold_for_other_handles_too(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    one.cache.tool.set_policy("search", 60)
    one.wait(one.cache.tool.store("search", 0, 0).position, 60)
    assert other.cache.tool.policies() == {"search": ToolPolicy(60)}


def test_a_session_lives_on_while_it_is_read(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    mem = open_memory(clock=clock, thread_id="t")
    session = mem.cache.session
    session.set("read", 1, ttl_seconds=100)
    session.set("unread", 2, ttl_seconds=100)
    for _ in range(5):
        clock.advance(seconds=60)
        assert session.get("read") == 1
        wait_for_renewal(mem)
    assert session.get("unread") is None
    assert session.get_all() == {"read": 1}
    clock.advance(seconds=100)
    assert session.get("read", "gone") == "gone"


def wait_for_renewal(mem: Memory) -> None:
    """A renewal is no write that a read waits for; a write after it is."""
    mem.set_context("mark", 1)
    mem.get_context("mark")


def test_a_read_soon_after_the_last_appends_nothing(store: Store) -> None:
    clock = MovingClock(NOON)
    mem = store.open(clock=clock, thread_id="t")
    mem.cache.session.set("k", 1, ttl_seconds=100)
    mem.cache.session.set("for ever", 1)
    before = store.ends()[CONTEXT]
    clock.advance(seconds=9)
    assert (mem.cache.session.get("k"), mem.cache.session.get("for ever")) == (1, 1)
    assert store.ends()[CONTEXT] == before
    clock.advance(seconds=9)
    for _ in range(3):
        assert mem.cache.session.get("k") == 1
    assert sum(store.ends()[CONTEXT].values()) == sum(before.values()) + 1


def test_sessions_by_thread(open_memory: OpenMemory) -> None:
    mem = open_memory(thread_id="t1")
    mem.cache.session.set("step/1", "a")
    mem.cache.session.set("step/2", "b", ttl_seconds=60)
    mem.cache.session.set("name", "c", thread_id="t2")
    assert mem.cache.session.scan("step/") == {"step/1": "a", "step/2": "b"}
    assert mem.cache.session.get_all(thread_id="t2") == {"name": "c"}
    assert mem.cache.session.touch() == 1
    assert mem.cache.session.delete("step/1")
    assert not mem.cache.session.delete("step/1")
    assert mem.cache.session.destroy_thread("t1") == 1
    assert mem.cache.session.get("name", thread_id="t2") == "c"
    assert mem.cache.session.clear() == 1
    with pytest.raises(InvalidInputError, match="name a thread"):
        open_memory().cache.session.get("k")


def test_what_can_not_be_read_back_is_a_miss(mem: Memory) -> None:
    """Values that someone else's program put where an answer stands."""
    key = mem.cache.llm.check(ASK).key
    called = mem.cache.tool.check("search", 1).key
    no_answers: list[Any] = [None, 3, "text", [], {}, {"respons": 1}]
    no_policies: list[Any] = [None, 3, {}, {"ttl_seconds": -1}, {"ttl_seconds": "x"}, {"ttl_seconds": True}]
    for value in [*no_answers, {"response": 1, "input_tokens": "many"}]:
        mem._entries.set(Address("llm", None, None, key), value)
        assert not mem.cache.llm.check(ASK).hit
    for value in no_answers:
        mem._entries.set(Address("tool", None, None, called), value)
        assert not mem.cache.tool.check("search", 1).hit
    for value in no_policies:
        mem._entries.set(Address("policy", None, None, "tool:search"), value)
        assert mem.cache.tool.get_policy("search") is None
    mem.cache.llm.store(ASK, "good")
    assert mem.cache.llm.check(ASK).hit


def test_stats_say_what_came_of_all_checks_by_every_handle(open_memory: OpenMemory) -> None:
    one, other = open_memory(thread_id="t"), open_memory(thread_id="t")
    one.cache.llm.set_costs({"m-1": (1e-6, 3e-6)})
    one.cache.llm.check(ASK)
    one.cache.llm.store(ASK, "hi", tokens={"input": 1_000, "output": 200})
    stored = one.cache.tool.store("search", 1, "found", cost=0.25)
    other.wait(stored.position, 60)
    for _ in range(3):
        assert other.cache.llm.check(ASK).hit
        assert other.cache.tool.check("search", 1).hit
    other.cache.tool.check("mail", 1)
    other.cache.session.get("none")
    other.cache.flush()
    first = other.cache.stats()
    stats = one.cache.stats()
    assert (stats.llm.hits, stats.llm.misses, stats.llm.stores, stats.llm.hit_rate) == (3, 1, 1, 0.75)
    assert stats.llm.saved_micros == 3 * 1_600
    assert (stats.tool.hits, stats.tool.misses, stats.tool.total) == (3, 1, 4)
    assert stats.per_tool["search"].saved_micros == 3 * 250_000
    assert (stats.per_tool["mail"].hit_rate, stats.per_model["m-1"].hits) == (0, 3)
    assert (stats.session.hits, stats.session.misses) == (0, 1)
    assert stats.saved_micros == 3 * 1_600 + 3 * 250_000
    assert one.cache.stats() == one.cache.stats() == other.cache.stats() == stats
    assert first.llm.hits == 3


def test_counts_are_there_after_closing_and_count_once(open_memory: OpenMemory) -> None:
    mem = open_memory()
    mem.cache.tool.check("search", 1)
    mem.cache.tool.check("search", 1)
    mem.close()
    mem.close()
    again = open_memory()
    mark = again.set_context("mark", 1)
    again.wait(mark.position, 60)
    assert again.cache.stats().tool.misses == 2


def test_a_check_appends_nothing_but_a_sum_now_and_then(store: Store) -> None:
    mem = store.open()
    mem.cache.tool.store("search", 1, "found", ttl_seconds=None)
    assert mem.cache.tool.check("search", 1).hit
    before = sum(store.ends()[CONTEXT].values())
    for _ in range(2 * FLUSH_EVERY):
        mem.cache.tool.check("search", 1)
    appended = mem.cache.stats().tool.hits
    assert appended == 2 * FLUSH_EVERY + 1
    assert 1 <= sum(store.ends()[CONTEXT].values()) - before <= 3


def test_advice_by_hit_rate_and_time_to_live(mem: Memory) -> None:
    tool = mem.cache.tool
    tool.set_policy("short", 60)
    tool.set_policy("long", 7_200)
    for name, hits, misses, cost in [
        ("short", 9, 1, 0.5),
        ("long", 9, 1, 0.1),
        ("kept", 9, 1, None),
        ("middling", 4, 6, 2.0),
        ("useless", 3, 7, 0.2),
    ]:
        tool.store(name, "hit", "x", cost=cost)
        for _ in range(hits):
            assert tool.check(name, "hit").hit
        for _ in range(misses):
            tool.check(name, "miss")
    assert mem.cache.effectiveness() == [
        ToolEffectiveness("middling", 0.4, 8_000_000, None, "optimal"),
        ToolEffectiveness("short", 0.9, 4_500_000, 60, "increase_ttl"),
        ToolEffectiveness("long", 0.9, 900_000, 7_200, "optimal"),
        ToolEffectiveness("useless", 0.3, 600_000, None, "decrease_ttl_or_disable"),
        ToolEffectiveness("kept", 0.9, 0, None, "optimal"),
    ]


def test_many_threads_store_and_check_at_once(mem: Memory) -> None:
    def work(number: int) -> bool:
        ask = {"model": "m", "seed": number % 8}
        mem.cache.llm.store(ask, number % 8)
        found = mem.cache.llm.check(ask)
        return found.hit and found.response == number % 8

    assert all(at_once([partial(work, number) for number in range(64)]))
    stats = mem.cache.stats()
    assert (stats.llm.hits, stats.llm.misses, stats.llm.stores) == (64, 0, 64)


BAD: list[tuple[str, Callable[[Any], object]]] = [
    ("params", lambda cache: cache.llm.check([])),
    ("params.model", lambda cache: cache.llm.check({"messages": []})),
    ("params.model", lambda cache: cache.llm.check({"model": " "})),
    ("params.temperature", lambda cache: cache.llm.check({"model": "m", "temperature": float("nan")})),
    ("params.messages.0", lambda cache: cache.llm.check({"model": "m", "messages": [b"x"]})),
    ("params.x", lambda cache: cache.llm.check({"model": "m", "x": {1: 2}})),
    ("response", lambda cache: cache.llm.store({"model": "m"}, object())),
    ("response", lambda cache: cache.llm.store({"model": "m"}, "x" * 70_000)),
    ("tokens", lambda cache: cache.llm.store({"model": "m"}, "x", tokens={"in": 1})),
    ("tokens.input", lambda cache: cache.llm.store({"model": "m"}, "x", tokens={"input": -1})),
    ("ttl_seconds", lambda cache: cache.llm.store({"model": "m"}, "x", ttl_seconds=0)),
    ("model", lambda cache: cache.llm.invalidate_by_model("")),
    ("costs", lambda cache: cache.llm.set_costs({"m": (1, -1)})),
    ("costs", lambda cache: cache.llm.set_costs({"m": 3})),
    ("ttl_seconds", lambda cache: cache.llm.set_default_ttl(-1)),
    ("tool", lambda cache: cache.tool.check("", {})),
    ("tool", lambda cache: cache.tool.check(3, {})),
    ("tool", lambda cache: cache.tool.set_policy("t" * 241, 60)),
    ("args.a", lambda cache: cache.tool.check("t", {"a": float("inf")})),
    ("response", lambda cache: cache.tool.store("t", {}, {1})),
    ("cost", lambda cache: cache.tool.store("t", {}, 1, cost=-1)),
    ("cost", lambda cache: cache.tool.store("t", {}, 1, cost=float("nan"))),
    ("ttl_seconds", lambda cache: cache.tool.set_policy("t", 0)),
    ("key", lambda cache: cache.session.set("", 1, thread_id="t")),
    ("thread_id", lambda cache: cache.session.set("k", 1)),
    ("thread_id", lambda cache: cache.session.set("k", 1, thread_id="")),
    ("value", lambda cache: cache.session.set("k", float("nan"), thread_id="t")),
    ("ttl_seconds", lambda cache: cache.session.set("k", 1, thread_id="t", ttl_seconds="x")),
    ("prefix", lambda cache: cache.session.scan(3, thread_id="t")),
    ("thread_id", lambda cache: cache.session.destroy_thread("")),
]


@pytest.mark.parametrize(("field", "call"), BAD)
def test_bad_input_names_its_field_and_appends_nothing(
    store: Store, mem: Memory, field: str, call: Callable[[Any], object]
) -> None:
    before = store.ends()
    with pytest.raises(InvalidInputError) as caught:
        call(mem.cache)
    assert caught.value.field == field
    assert store.ends() == before
