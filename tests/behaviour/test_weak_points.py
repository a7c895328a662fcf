"""What went wrong in another memory library, each as the rule that holds here."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.stores import NOON, MovingClock, OpenMemory, Store, texts

from mnemolog import Memory
from mnemolog.schemas.errors import FilterError, InvalidInputError


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("爱丽丝住在上海", "上海"),
        ("Алиса живёт в Москве", "москва"),
        ("Η Αλίκη μένει στην Αθήνα", "Αθήνα"),
        ("アリスは京都に住んでいます", "京都"),
        ("أليس تعيش في القاهرة", "القاهرة"),
    ],
)
def test_text_of_any_script_is_found_and_nothing_else(open_memory: OpenMemory, text: str, query: str) -> None:
    mem = open_memory()
    mem.remember_many(["Alice lives in London", "Bob has a red bike", text])
    assert texts(mem.recall(query))[0] == text


def test_a_filter_finds_the_one_that_fits_among_many(mem: Memory) -> None:
    mem.remember_many([f"the bike of number {number} is red" for number in range(300)])
    mem.remember("prefers a red bike", kind="preference", tags=["pet"])
    assert texts(mem.recall("the red bike", kinds=["preference"])) == ["prefers a red bike"]
    assert texts(mem.recall("the red bike", tags=["pet"])) == ["prefers a red bike"]


def test_namespaces_of_other_parts_are_other_places(open_memory: OpenMemory) -> None:
    one, two = open_memory(("a", "b/c")), open_memory(("a/b", "c"))
    one.remember("first", id="m")
    two.remember("second", id="m")
    assert (texts(one.list().items), texts(two.list().items)) == (["first"], ["second"])


def test_when_a_memory_was_made_survives_its_overwriting_and_a_new_handle(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    mem = open_memory(clock=clock)
    mem.remember("first", id="m")
    clock.advance(days=1)
    last = mem.remember("second", id="m")
    item = open_memory(clock=clock).get("m", after=last.position)
    assert item is not None
    assert (item.text, item.occurred_at, item.updated_at) == ("second", NOON, NOON + timedelta(days=1))


def test_operators_select_or_are_refused_and_memories_expire(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    mem = open_memory(clock=clock)
    mem.remember("cheap", metadata={"price": 5}, ttl_seconds=3600)
    mem.remember("dear", metadata={"price": 50})
    assert texts(mem.list(filters={"metadata.price": {"gt": 10}}).items) == ["dear"]
    with pytest.raises(FilterError):
        mem.list(filters={"metadata.price": {"$gt": 10}})
    clock.advance(hours=2)
    assert texts(mem.list().items) == ["dear"]


def test_the_same_feedback_twice_counts_once(mem: Memory) -> None:
    receipt = mem.remember("a red bike")
    hits = mem.recall("bike")
    for _ in range(3):
        mem.feedback(hits.recall_id, used=[receipt.id])
    item = mem.get(receipt.id)
    assert item is not None
    assert item.use_count == 1


def test_a_key_finds_the_older_value_once_the_newer_is_forgotten(mem: Memory) -> None:
    mem.remember("lives in Paris", key="home")
    mem.forget(mem.remember("lives in Rome", key="home").id)
    found = mem.find_by_key("home")
    assert found is not None
    assert (found.text, found.active) == ("lives in Paris", True)


def test_the_same_text_is_stored_once_if_asked_and_importance_has_a_bound(mem: Memory) -> None:
    for _ in range(3):
        mem.remember("vegetarian", dedupe=True)
    assert mem.list().total == 1
    with pytest.raises(InvalidInputError, match="importance"):
        mem.remember("x", importance=7.0)


def test_many_are_written_all_or_none(store: Store) -> None:
    mem = store.open()
    before = store.ends()
    with pytest.raises(InvalidInputError):
        mem.remember_many(["good", "good too", {"text": "bad", "importance": 2}])
    assert store.ends() == before


def test_forgetting_a_memory_takes_what_was_learned_of_it(mem: Memory) -> None:
    mem.remember("a red bike", id="m")
    mem.feedback("r", used=["m"])
    mem.forget("m")
    mem.remember("a red bike", id="m")
    item = mem.get("m")
    assert item is not None
    assert (item.use_count, item.last_used_at) == (0, None)


def test_no_id_reaches_into_another_namespace(open_memory: OpenMemory) -> None:
    alice, bob = open_memory("alice"), open_memory("bob")
    alice.remember("alice's", id="m")
    bob.forget("m")
    last = bob.feedback("r", used=["m"])
    item = alice.get("m", after=last.position)
    assert item is not None
    assert (item.text, item.use_count) == ("alice's", 0)
