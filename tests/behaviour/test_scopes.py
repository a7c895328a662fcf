"""Which memories a call is about: tags by mode, agents, threads, kinds; the same for every verb."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from support.stores import NOON, OpenMemory, Store, texts

from mnemolog import Memory
from mnemolog.schemas.errors import InvalidInputError

TAGGED: dict[str, list[str]] = {"a": ["a"], "ab": ["a", "b"], "abc": ["a", "b", "c"], "c": ["c"], "none": []}
MODES: list[tuple[str, list[str], set[str]]] = [
    ("all", ["a", "b"], {"ab", "abc"}),
    ("any", ["b", "c"], {"ab", "abc", "c"}),
    ("none", ["b", "c"], {"a", "none"}),
    ("exact", ["b", "a"], {"ab"}),
    ("exact", [], {"none"}),
    ("all", [], set(TAGGED)),
    ("any", [], set()),
    ("none", [], set(TAGGED)),
]


@pytest.fixture
def tagged(mem: Memory) -> Memory:
    """Memories that differ in their tags alone."""
    mem.remember_many([{"text": f"note {name}", "id": name, "tags": tags} for name, tags in TAGGED.items()])
    return mem


@pytest.mark.parametrize(("mode", "tags", "found"), MODES)
def test_tags_select_by_their_mode_in_every_verb(
    tagged: Memory, mode: Any, tags: list[str], found: set[str]
) -> None:
    scope: dict[str, Any] = {"tags": tags, "tags_mode": mode}
    assert {item.id for item in tagged.list(**scope).items} == found
    assert set(tagged.recall("note", k=9, **scope).ids) == found
    assert tagged.aggregate(**scope) == [{"count": len(found)}]
    assert set(tagged.to_arrow(["id"], **scope).column("id").to_pylist()) == found
    if found != set(TAGGED):
        assert tagged.forget_scope(dry_run=True, **scope) == len(found)
        tagged.forget_scope(**scope)
        assert {item.id for item in tagged.list().items} == set(TAGGED) - found


def test_agents_threads_and_kinds_are_plain_arguments(mem: Memory) -> None:
    for agent in "ab":
        for thread in "xy":
            for kind in ("note", "fact"):
                fields: dict[str, Any] = {"agent_id": agent, "thread_id": thread, "kind": kind}
                mem.remember(f"by {agent} in {thread}, a {kind}", id=f"{agent}{thread}{kind}", **fields)
    scope: dict[str, Any] = {"agent_id": "a", "thread_id": "y", "kinds": ["fact"]}
    assert [item.id for item in mem.list(**scope).items] == ["ayfact"]
    assert mem.recall("by", **scope).ids == ["ayfact"]
    assert mem.list(agent_id="b").total == 4
    assert mem.list(filters={"kind": "note"}, thread_id="x").total == 2
    assert mem.forget_scope(agent_id="a") == 4
    assert mem.list(agent_id="a").total == 0


@pytest.mark.parametrize(
    "scope",
    [
        {},
        {"filters": {}},
        {"tags": []},
        {"filters": {"AND": [{}, {}]}},
        {"filters": {"OR": [{}, {"kind": "note"}]}},
        {"filters": {"NOT": {"NOT": {}}}},
        {"tags": [], "filters": {"AND": [{}]}},
    ],
)
def test_a_scope_that_leaves_nothing_out_must_be_said(mem: Memory, scope: dict[str, Any]) -> None:
    mem.remember("kept")
    with pytest.raises(InvalidInputError, match="everything=True"):
        mem.forget_scope(**scope)
    assert mem.list().total == 1
    assert mem.forget_scope(everything=True, **scope) == 1


def test_a_limit_forgets_the_oldest_and_says_what_is_left(mem: Memory) -> None:
    for number in (3, 1, 4, 2, 0):
        when = NOON + timedelta(hours=number)
        mem.remember(f"note {number}", id=f"m{number}", occurred_at=when, tags=["t"])
    mem.remember("other", id="other")
    planned = mem.forget_scope(tags=["t"], limit=2, dry_run=True)
    assert (planned, planned.remaining, mem.list().total) == (2, 3, 6)
    done = mem.forget_scope(tags=["t"], limit=2, reason="too old")
    assert (done, done.remaining) == (2, 3)
    assert {item.id for item in mem.list().items} == {"m2", "m3", "m4", "other"}
    assert mem.history("m0")[-1].reason == "too old"
    rest = mem.forget_scope(tags=["t"], limit=10)
    assert (rest, rest.remaining) == (3, 0)
    assert texts(mem.list().items) == ["other"]


def test_a_limit_goes_past_a_thousand(open_memory: OpenMemory) -> None:
    mem = open_memory(embedder="hashing")
    mem.remember_many([{"text": f"n {number}"} for number in range(2_100)], tags=["t"], occurred_at=NOON)
    assert mem.forget_scope(tags=["t"], limit=2_050) == 2_050
    assert mem.list().total == 50


BAD: list[tuple[str, Callable[[Memory], object]]] = [
    ("tags_mode", lambda mem: mem.list(tags=["a"], tags_mode="some")),  # type: ignore[arg-type]
    ("tags_mode", lambda mem: mem.recall("x", tags_mode=None)),  # type: ignore[call-overload]
    ("tags_mode", lambda mem: mem.forget_scope(tags=["a"], tags_mode="ALL")),  # type: ignore[arg-type]
    ("tags", lambda mem: mem.aggregate(tags="a")),
    ("tags", lambda mem: mem.to_arrow(tags=[1])),  # type: ignore[list-item]
    ("agent_id", lambda mem: mem.list(agent_id=7)),  # type: ignore[arg-type]
    ("thread_id", lambda mem: mem.recall("x", thread_id=["t"])),  # type: ignore[call-overload]
    ("thread_id", lambda mem: mem.forget_scope(thread_id="\ud800")),
    ("kinds", lambda mem: mem.aggregate(kinds="note")),
    ("limit", lambda mem: mem.forget_scope({"kind": "note"}, limit=0)),
    ("limit", lambda mem: mem.forget_scope({"kind": "note"}, limit=True)),
    ("by", lambda mem: mem.aggregate(by="colour")),
    ("by", lambda mem: mem.aggregate(by=["kind", 3])),  # type: ignore[list-item]
    ("by", lambda mem: mem.aggregate(by=["kind", "kind"])),
    ("by", lambda mem: mem.aggregate(by="metadata.")),
    ("metrics", lambda mem: mem.aggregate(metrics={})),
    ("metrics", lambda mem: mem.aggregate(metrics={"median": "importance"})),
    ("metrics", lambda mem: mem.aggregate(metrics={"avg": "kind"})),
    ("metrics", lambda mem: mem.aggregate(metrics={"sum": "occurred_at"})),
    ("metrics", lambda mem: mem.aggregate(metrics={"max": "tags"})),
    ("metrics", lambda mem: mem.aggregate(metrics={"avg": "colour"})),
    ("metrics", lambda mem: mem.aggregate(metrics={"avg": True})),
    ("metrics", lambda mem: mem.aggregate(metrics={"count": False})),
    ("metrics", lambda mem: mem.aggregate(metrics=["count"])),  # type: ignore[arg-type]
    ("metrics", lambda mem: mem.aggregate(metrics={"avg": []})),
    ("columns", lambda mem: mem.to_arrow("id")),
    ("columns", lambda mem: mem.to_arrow(["colour"])),
    ("columns", lambda mem: mem.to_arrow(["_off"])),
    ("columns", lambda mem: mem.to_arrow([1])),  # type: ignore[list-item]
    ("filters", lambda mem: mem.aggregate(filters={"colour": "red"})),
    ("filters", lambda mem: mem.to_arrow(filters={"importance": {"gte": "high"}})),
]


@pytest.mark.parametrize(
    ("field", "call"), [pytest.param(*case, id=f"{case[0]}-{at}") for at, case in enumerate(BAD)]
)
def test_a_scope_that_makes_no_sense_names_its_argument(
    folder_store: Store, field: str, call: Callable[[Memory], object]
) -> None:
    mem = folder_store.open()
    mem.remember("kept")
    before = folder_store.ends()
    with pytest.raises(InvalidInputError) as caught:
        call(mem)
    assert caught.value.field == field
    assert folder_store.ends() == before
