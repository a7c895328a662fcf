"""Bounded memories: what goes over the capacity, what nearly says the same, and what always stays."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from support.stores import NOON, OpenMemory, Store, texts
from support.workers import wait_until

from mnemolog import Memory
from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.replay import replay
from mnemolog.storage.layout import Views

PATIENCE = 30


def total(mem: Memory) -> int:
    return mem.list(include_superseded=True).total


def settled(mem: Memory, count: int) -> None:
    """Wait until `count` memories are left, and a little longer: no more may go."""
    wait_until(lambda: total(mem) == count, f"{count} memories, not {total(mem)}", PATIENCE)
    time.sleep(1.5)
    assert total(mem) == count


def test_over_the_capacity_the_least_worthy_go(mem: Memory) -> None:
    mem.set_config(max_items_per_scope=3)
    for number in range(8):
        mem.remember(f"note {number}", id=f"m{number}", importance=number / 10, occurred_at=NOON)
    settled(mem, 3)
    assert {item.id for item in mem.list().items} == {"m5", "m6", "m7"}
    last = mem.history("m0")[-1]
    assert (last.type, last.reason) == ("MemoryEvicted", "capacity: more than 3 memories")
    assert mem.stats()["evictions"] == {"capacity": 5}
    assert set(mem.recall("note", k=9).ids) == {"m5", "m6", "m7"}


def test_pinned_memories_stay_whatever_they_are_worth(mem: Memory) -> None:
    mem.set_config(max_items_per_scope=2)
    mem.remember("pinned", id="p", importance=0.0, pinned=True, occurred_at=NOON - timedelta(days=900))
    mem.remember_many([{"text": f"note {number}", "id": f"m{number}"} for number in range(4)], importance=1.0)
    settled(mem, 2)
    assert "p" in {item.id for item in mem.list().items}


def test_a_setting_made_later_bounds_what_is_there(mem: Memory) -> None:
    mem.remember_many([f"note {number}" for number in range(20)])
    time.sleep(0.7)
    assert total(mem) == 20
    mem.set_config(max_items_per_scope=12)
    settled(mem, 12)
    mem.set_config(max_items_per_scope=None)
    mem.remember_many([f"more {number}" for number in range(20)])
    settled(mem, 32)


def test_other_namespaces_are_not_touched(open_memory: OpenMemory) -> None:
    alice, bob = open_memory("alice"), open_memory("bob")
    for one in (alice, bob):
        one.remember_many([f"note {number}" for number in range(5)])
    alice.set_config(max_items_per_scope=1)
    settled(alice, 1)
    assert total(bob) == 5


def test_use_keeps_a_memory(mem: Memory) -> None:
    for number in range(3):
        mem.remember(f"note {number}", id=f"m{number}", occurred_at=NOON - timedelta(days=400 - number))
    mem.feedback("r", used=["m0"])
    mem.set_config(max_items_per_scope=1)
    settled(mem, 1)
    assert [item.id for item in mem.list().items] == ["m0"]


def test_what_nearly_says_the_same_replaces_the_older(mem: Memory) -> None:
    mem.set_config(near_duplicate=0.98)
    mem.remember("Alice lives in Paris now", id="old")
    mem.remember("Alice lives in Paris now", id="other kind", kind="fact")
    mem.remember("the bike is red", id="bike")
    mem.remember("Alice lives in Paris now", id="new")
    wait_until(lambda: mem.stats()["active"] == 3, "the duplicate to be found", PATIENCE)
    assert {item.id for item in mem.list().items} == {"other kind", "bike", "new"}
    old = mem.get("old")
    assert old is not None
    assert old.superseded_by == "new"
    assert str(mem.history("old")[-1].reason).startswith("near duplicate: cosine 1.0")
    assert mem.stats()["evictions"] == {"near_duplicate": 1}
    mem.forget("new")
    assert texts(mem.recall("where does Alice live", kinds=["note"]))[0] == "Alice lives in Paris now"


def test_pinned_and_keyed_memories_are_no_duplicates(mem: Memory) -> None:
    mem.set_config(near_duplicate=0.98)
    text = "Alice lives in Paris now"
    mem.remember(text, id="pinned", pinned=True)
    mem.remember(text, id="keyed", key="home")
    mem.remember(text, id="plain")
    mem.remember(text, id="last")
    wait_until(lambda: mem.stats()["active"] == 3, "the plain one to be replaced", PATIENCE)
    time.sleep(1.5)
    assert {item.id for item in mem.list().items} == {"pinned", "keyed", "last"}
    found = mem.find_by_key("home")
    assert found is not None
    assert found.id == "keyed"


def test_nothing_goes_unless_it_is_asked_for(mem: Memory) -> None:
    mem.remember_many(["the same"] * 5)
    time.sleep(1.2)
    assert total(mem) == 5
    assert mem.stats()["evictions"] == {}


def test_several_programs_on_one_folder_evict_no_more_than_one(folder_store: Store) -> None:
    """Each handle has a reactor of its own; all decide on the same views."""
    handles = [folder_store.open() for _ in range(4)]
    handles[0].set_config(max_items_per_scope=10)
    for round_number in range(6):
        for number, mem in enumerate(handles):
            rows: list[dict[str, Any]] = [{"text": f"{round_number} {number} {at}"} for at in range(5)]
            mem.remember_many(rows)
        time.sleep(0.25)
    settled(handles[0], 10)
    assert handles[0].stats()["evictions"] == {"capacity": 110}


def test_a_replay_evicts_what_was_evicted(folder_store: Store, tmp_path: Path) -> None:
    mem = folder_store.open()
    mem.set_config(max_items_per_scope=4, near_duplicate=0.98)
    mem.remember_many([f"a note about {name}" for name in ("tea", "bikes", "boats", "Rome", "rain", "tea")])
    settled(mem, 4)
    before = (mem.list(include_superseded=True), mem.stats()["evictions"])
    log = folder_store.log()
    replay(log, Views(tmp_path / "memory" / "views"), HashingEmbedder(256))
    log.close()
    again = folder_store.open()
    assert (again.list(include_superseded=True), again.stats()["evictions"]) == before
