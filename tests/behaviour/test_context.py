"""Context by agent and thread: set, read, listed, touched, expired, deleted, destroyed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.stores import NOON, MovingClock, OpenMemory, Store, at_once

from mnemolog.memory import Memory
from mnemolog.schemas.errors import InvalidInputError

VALUES: list[Any] = [None, True, 0, -1.5, "", 'text — 咖啡 \n"quoted"', [], {"a": [1, {"b": None}]}, 10**40]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_comes_back_as_it_was(mem: Memory, value: Any) -> None:
    mem.set_context("key", value)
    found = mem.get_context("key", default="nothing")
    assert (found, type(found)) == (value, type(value))


def test_the_last_value_holds_and_a_caller_can_not_change_it(mem: Memory) -> None:
    mem.set_context("cart", ["tea"])
    receipt = mem.set_context("cart", ["tea", "milk"])
    assert receipt.position.topic == "mnemolog.context"
    mem.get_context("cart").append("rum")
    assert mem.get_context("cart") == ["tea", "milk"]
    assert mem.get_context("none") is None
    assert mem.get_context("none", 3) == 3


def test_agents_threads_and_namespaces_never_meet(open_memory: OpenMemory) -> None:
    """Separators, wildcards and prefixes in names are letters like any others."""
    parts = ["a", "a|b", "b", "|", "*", "%", "a*", "", None]
    places = [(agent, thread) for agent in parts if agent != "" for thread in parts if thread != ""]
    mem = open_memory()
    for number, (agent, thread) in enumerate(places):
        mem.set_context("k", number, agent_id=agent, thread_id=thread)
        mem.set_context("k|x", -number, agent_id=agent, thread_id=thread)
    for number, (agent, thread) in enumerate(places):
        assert mem.get_context("k", agent_id=agent, thread_id=thread) == number
        assert mem.list_context(agent_id=agent, thread_id=thread).total == 2
    for other in ("alice|", "ali", "alic*", ("alice", "x")):
        assert open_memory(other).get_context("k", agent_id="a", thread_id="a") is None


def test_the_handles_agent_and_thread_are_the_defaults_and_none_names_no_one(open_memory: OpenMemory) -> None:
    plain, own = open_memory(), open_memory(agent_id="planner", thread_id="t1")
    at = own.set_context("goal", "lunch").position
    assert plain.get_context("goal", after=at) is None
    assert plain.get_context("goal", agent_id="planner", thread_id="t1") == "lunch"
    own.set_context("goal", "world peace", agent_id=None, thread_id=None)
    assert own.get_context("goal") == "lunch"
    assert own.get_context("goal", agent_id=None, thread_id=None) == "world peace"


def test_it_expires_by_the_clock_and_is_touched(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    mem = open_memory(clock=clock)
    for key in ("a", "b", "c"):
        mem.set_context(key, key, ttl_seconds=60)
    clock.advance(seconds=59)
    assert mem.get_context("a") == "a"
    assert mem.touch_context("b", 60)
    assert mem.touch_context("c", None)
    clock.advance(seconds=1)
    assert mem.get_context("a") is None
    assert [entry.key for entry in mem.list_context().items] == ["b", "c"]
    assert not mem.touch_context("a", 60)
    clock.advance(days=9999)
    assert [entry.key for entry in mem.list_context().items] == ["c"]


def test_setting_again_sets_when_it_expires_too(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    mem = open_memory(clock=clock)
    mem.set_context("a", 1, ttl_seconds=60)
    assert mem.touch_context("a", 600)
    mem.set_context("a", 2)
    clock.advance(days=1)
    assert mem.get_context("a") == 2


def test_delete_tells_whether_there_was_anything(mem: Memory) -> None:
    mem.set_context("a", 1)
    assert mem.delete_context("a")
    assert not mem.delete_context("a")
    assert mem.get_context("a") is None
    mem.set_context("a", 2)
    assert mem.get_context("a") == 2


def test_many_keys_are_deleted_at_once_and_no_others(open_memory: OpenMemory) -> None:
    mem = open_memory(agent_id="a", thread_id="t")
    for key in ("x", "y", "z"):
        mem.set_context(key, 1)
        mem.set_context(key, 2, thread_id="t2")
    assert mem.delete_context_many(key for key in ("x", "z", "x", "never")) == 2
    assert [entry.key for entry in mem.list_context().items] == ["y"]
    assert mem.list_context(thread_id="t2").total == 3
    assert mem.delete_context_many([]) == 0
    mem.set_context("x", 3)
    assert mem.get_context("x") == 3


def test_list_by_prefix_and_substring(mem: Memory) -> None:
    mem.set_context("user/name", "Zoë O'Brien")
    mem.set_context("user/Theme", {"mode": "DARK"})
    mem.set_context("task%", 'say "hi"\nto Zoë')
    assert [entry.key for entry in mem.list_context().items] == ["task%", "user/Theme", "user/name"]
    assert [entry.key for entry in mem.list_context("user/").items] == ["user/Theme", "user/name"]
    assert [entry.key for entry in mem.list_context("%").items] == []
    for contains, keys in {
        "dark": ["user/Theme"],
        "THEME": ["user/Theme"],
        "zoë": ["task%", "user/name"],
        'say "hi"\n': ["task%"],
        "o'brien": ["user/name"],
        "%": ["task%"],
        "_": [],
        ".*": [],
    }.items():
        assert [entry.key for entry in mem.list_context(contains=contains).items] == keys, contains
    page = mem.list_context("user/", limit=1, offset=1)
    assert ([entry.value for entry in page.items], page.total) == (["Zoë O'Brien"], 2)


def test_destroying_a_thread_takes_all_of_it_and_nothing_else(open_memory: OpenMemory) -> None:
    mem = open_memory(agent_id="a", thread_id="t")
    mem.set_context("k", 1)
    mem.set_context("k", 2, agent_id=None)
    mem.set_context("k", 3, agent_id="b")
    mem.set_context("k", 4, thread_id="t2")
    mem.cache.session.set("s", 5)
    mem.cache.session.set("s", 6, thread_id="t2")
    mem.cache.tool.store("search", {"q": 1}, "found")
    assert mem.destroy_thread("t", agent_id="b") == 1
    assert mem.destroy_thread("t") == 3
    assert mem.destroy_thread("t") == 0
    assert (mem.get_context("k"), mem.get_context("k", agent_id=None)) == (None, None)
    assert (mem.get_context("k", thread_id="t2"), mem.cache.session.get("s", thread_id="t2")) == (4, 6)
    assert mem.cache.session.get_all() == {}
    assert mem.cache.tool.check("search", {"q": 1}).hit
    mem.set_context("k", 7)
    assert mem.get_context("k") == 7


def test_forgetting_the_namespace_forgets_its_context(open_memory: OpenMemory) -> None:
    mem, other = open_memory("alice", agent_id="a"), open_memory("bob", agent_id="a")
    for one in (mem, other):
        one.remember("tea")
        one.set_context("k", 1)
        one.cache.tool.set_policy("search", 60)
        one.cache.llm.store({"model": "m"}, "answer")
    assert mem.forget_scope({"kind": "note"}) == 1
    assert mem.get_context("k") == 1
    mem.forget_scope(everything=True)
    assert (mem.get_context("k"), mem.cache.tool.policies()) == (None, {})
    assert not mem.cache.llm.check({"model": "m"}).hit
    assert (other.get_context("k"), other.cache.llm.check({"model": "m"}).hit) == (1, True)


def test_recall_by_kind_shows_the_context_that_speaks_of_the_query(open_memory: OpenMemory) -> None:
    mem = open_memory(agent_id="a", thread_id="t")
    mem.remember("Alice drinks green tea")
    mem.set_context("favourite_drink", "green tea")
    mem.set_context("theme", "dark")
    mem.set_context("drink", "rum", agent_id="b")
    found = mem.recall("what tea does she drink?", group_by_kind=True)
    assert set(found) == {"note", "context"}
    (hit,) = found["context"]
    assert (hit.memory.id, hit.memory.metadata["value"]) == ("favourite_drink", "green tea")
    assert hit.memory.text == "favourite_drink: green tea"
    assert hit.score == 1
    assert found["context"].recall_id
    assert "context" not in mem.recall("what is the weather?", group_by_kind=True)
    assert "context" not in mem.recall("tea", group_by_kind=True, kinds=["note"])
    assert "context" in mem.recall("tea", group_by_kind=True, kinds=["note", "context"])
    assert "context" not in mem.recall("tea", group_by_kind=True, tags=["x"])
    assert "context" not in mem.recall("rum", group_by_kind=True)
    assert mem.recall("rum", agent_id="b", group_by_kind=True)["context"].ids == ["drink"]
    assert "context" not in open_memory().recall("tea", group_by_kind=True)


def test_another_handle_sees_it_after_its_position_and_after_reopening(open_memory: OpenMemory) -> None:
    one = open_memory()
    receipt = one.set_context("k", "v")
    other = open_memory()
    assert other.get_context("k", after=receipt.position) == "v"
    assert other.list_context(after=str(receipt.position)).total == 1
    receipt = one.set_context("k", "w")
    assert other.get_context("k", after=receipt.position) == "w"


def test_many_writers_of_one_key_leave_the_value_that_is_last_in_the_log(open_memory: OpenMemory) -> None:
    mem = open_memory()

    def write(number: int) -> tuple[int, int]:
        return mem.set_context("k", number).position.offset, number

    written = at_once([partial(write, number) for number in range(64)])
    assert mem.get_context("k") == max(written)[1]


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def itself() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


BAD: list[tuple[str, dict[str, Any]]] = [
    ("key", {"key": ""}),
    ("key", {"key": "  "}),
    ("key", {"key": "a\n"}),
    ("key", {"key": 3}),
    ("key", {"key": None}),
    ("key", {"key": b"k"}),
    ("key", {"key": "k" * 257}),
    ("key", {"key": "\ud800"}),
    ("agent_id", {"agent_id": ""}),
    ("agent_id", {"agent_id": 3}),
    ("thread_id", {"thread_id": " "}),
    ("ttl_seconds", {"ttl_seconds": 0}),
    ("ttl_seconds", {"ttl_seconds": -1}),
    ("ttl_seconds", {"ttl_seconds": float("nan")}),
    ("ttl_seconds", {"ttl_seconds": float("inf")}),
    ("ttl_seconds", {"ttl_seconds": True}),
    ("ttl_seconds", {"ttl_seconds": "60"}),
    ("ttl_seconds", {"ttl_seconds": 1e300}),
    ("value", {"value": float("nan")}),
    ("value", {"value": {"a": [float("-inf")]}}),
    ("value", {"value": object()}),
    ("value", {"value": b"bytes"}),
    ("value", {"value": (1, 2)}),
    ("value", {"value": {1: 2}}),
    ("value", {"value": {b"k": 2}}),
    ("value", {"value": "\ud800"}),
    ("value", {"value": deep(33)}),
    ("value", {"value": deep(5_000)}),
    ("value", {"value": itself()}),
    ("value", {"value": "x" * 70_000}),
    ("value", {"value": ["é" * 1_000] * 40}),
    ("value", {"value": 10**200_000}),
]


@pytest.mark.parametrize(("field", "bad"), BAD, ids=[f"{field}{at}" for at, (field, _) in enumerate(BAD)])
def test_bad_input_names_its_field_and_appends_nothing(
    store: Store, mem: Memory, field: str, bad: dict[str, Any]
) -> None:
    before = store.ends()
    given: dict[str, Any] = {"key": "k", "value": 1, **bad}
    with pytest.raises(InvalidInputError) as caught:
        mem.set_context(given.pop("key"), given.pop("value"), **given)
    assert caught.value.field == field
    assert store.ends() == before


BAD_CALLS: list[tuple[str, Callable[[Any], object]]] = [
    ("key", lambda mem: mem.get_context("")),
    ("agent_id", lambda mem: mem.get_context("k", agent_id=7)),
    ("key", lambda mem: mem.delete_context(None)),
    ("key", lambda mem: mem.delete_context_many(["k", ""])),
    ("keys", lambda mem: mem.delete_context_many("k")),
    ("keys", lambda mem: mem.delete_context_many(None)),
    ("ttl_seconds", lambda mem: mem.touch_context("k", 0)),
    ("limit", lambda mem: mem.list_context(limit=-1)),
    ("prefix", lambda mem: mem.list_context(3)),
    ("contains", lambda mem: mem.list_context(contains=3)),
    ("thread_id", lambda mem: mem.list_context(thread_id="")),
    ("thread_id", lambda mem: mem.destroy_thread("")),
    ("agent_id", lambda mem: mem.destroy_thread("t", agent_id="")),
]


@pytest.mark.parametrize(("field", "call"), BAD_CALLS)
def test_bad_calls_are_refused(store: Store, mem: Memory, field: str, call: Callable[[Any], object]) -> None:
    before = store.ends()
    with pytest.raises(InvalidInputError) as caught:
        call(mem)
    assert caught.value.field == field
    assert store.ends() == before
