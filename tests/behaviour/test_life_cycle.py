"""Keys, repeats and history: what a memory is found by, and who did what to it, when and why."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.stores import NOON, MovingClock, OpenMemory, texts

from mnemolog import Memory
from mnemolog.schemas.errors import InvalidInputError


def held(mem: Memory, key: str) -> str | None:
    item = mem.find_by_key(key)
    return None if item is None else item.text


def test_a_key_finds_the_newest_that_is_left(mem: Memory) -> None:
    assert held(mem, "diet") is None
    made = {text: mem.remember(text, key="diet") for text in ("meat", "vegetarian", "fish")}
    assert held(mem, "diet") == "fish"
    mem.forget(made["fish"].id)
    assert held(mem, "diet") == "vegetarian"
    mem.remember("of another key", key="home")
    assert (held(mem, "diet"), held(mem, "home")) == ("vegetarian", "of another key")
    mem.forget([made["vegetarian"].id, made["meat"].id])
    assert held(mem, "diet") is None


def test_a_key_is_that_of_its_namespace(open_memory: OpenMemory) -> None:
    alice, bob = open_memory("alice"), open_memory("bob")
    receipt = alice.remember("alice's", key="k")
    assert (held(alice, "k"), bob.find_by_key("k", after=receipt.position)) == ("alice's", None)


def test_a_key_whose_memory_expired_finds_nothing(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    mem = open_memory(clock=clock)
    mem.remember("short", key="k", ttl_seconds=60)
    assert held(mem, "k") == "short"
    clock.advance(seconds=61)
    assert held(mem, "k") is None


def test_a_key_is_a_string(mem: Memory) -> None:
    with pytest.raises(InvalidInputError) as caught:
        mem.find_by_key(7)  # type: ignore[arg-type]
    assert caught.value.field == "key"


@pytest.mark.parametrize("how", [{"key": "diet"}, {"dedupe": True}])
def test_what_was_just_remembered_is_there_also_after_an_update(mem: Memory, how: dict[str, object]) -> None:
    receipt = mem.remember("vegetarian", importance=0.5, **how)  # type: ignore[arg-type]
    mem.update(receipt.id, text="vegan")
    mem.remember("vegetarian", importance=0.5, **how)  # type: ignore[arg-type]
    assert texts(mem.list().items) == texts(mem.recall("vegetarian")) == ["vegetarian"]
    assert len(mem.history(receipt.id)) == 3


def test_a_repeat_of_a_text_that_is_there_keeps_what_was_changed(mem: Memory) -> None:
    receipt = mem.remember("vegetarian", dedupe=True)
    mem.update(receipt.id, importance=0.9, metadata={"sure": True})
    mem.remember("vegetarian", dedupe=True)
    item = mem.get(receipt.id)
    assert item is not None
    assert (item.importance, item.metadata) == (0.9, {"sure": True})


def test_an_event_sent_again_counts_once(open_memory: OpenMemory) -> None:
    """A client's retry and a webhook that comes twice, from two handles."""
    for mem in (open_memory(), open_memory()):
        for _ in range(2):
            mem.remember("Alice moved", id="m", event_id="webhook-7")
    assert mem.list().total == 1
    assert len(mem.history("m")) == 1


def test_history_says_who_when_and_why(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    alice, bot = open_memory(agent_id="alice", clock=clock), open_memory(agent_id="bot", clock=clock)
    alice.remember("vegetarian", id="m")
    bot.wait(alice.remember("vegan", id="n").position, 60)
    clock.advance(hours=1)
    bot.update("m", importance=0.9, reason="said twice")
    clock.advance(hours=1)
    bot.supersede("m", "n", reason="she changed")
    clock.advance(hours=1)
    alice.forget("m", reason="asked to")
    assert [(one.type, one.occurred_at - NOON, one.agent_id, one.reason) for one in alice.history("m")] == [
        ("MemoryRemembered", timedelta(0), "alice", None),
        ("MemoryUpdated", timedelta(hours=1), "bot", "said twice"),
        ("MemorySuperseded", timedelta(hours=2), "bot", "she changed"),
        ("MemoryForgotten", timedelta(hours=3), "alice", "asked to"),
    ]
