"""Getting a memory: the same whether its namespace is in memory already or not."""

from __future__ import annotations

from support.stores import NOON, MovingClock, OpenMemory

from mnemolog import Memory, MemoryItem

IDS = [f"m{number}" for number in range(6)] + ["unknown"]


def all_of(mem: Memory) -> list[MemoryItem | None]:
    return [mem.get(memory_id) for memory_id in IDS]


def test_a_memory_is_the_same_out_of_the_cache_and_looked_up(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    warm = open_memory(clock=clock)
    for number in range(6):
        warm.remember(f"bike {number}", id=f"m{number}", key="slot" if number < 2 else None, tags=["t"])
    warm.know_fact("Alice", "rides", "a bike", id="m5", confidence=0.5, ttl_seconds=60)
    hits = warm.recall("bike", k=9)
    warm.feedback(hits.recall_id, used=["m2"], ignored=["m3"])
    warm.update("m3", text="a bus", metadata={"n": [1]})
    last = warm.forget("m4").position
    for seconds in (0, 61):
        clock.advance(seconds=seconds)
        cold = open_memory(clock=clock)
        cold.wait(last)
        looked_up = all_of(cold)
        assert warm.recall("bike", k=9).ids
        assert all_of(warm) == looked_up
        assert [item is not None for item in looked_up] == [True] * 4 + [False, seconds == 0, False]


def test_what_is_in_memory_follows_what_other_handles_write(open_memory: OpenMemory) -> None:
    ours, theirs = open_memory(), open_memory()
    ours.remember("a bike", id="m")
    assert ours.recall("bike").ids == ["m"]
    changed = theirs.update("m", text="a bus")
    item = ours.get("m", after=changed.position)
    assert item is not None
    assert item.text == "a bus"
    assert ours.get("m", after=theirs.forget("m").position) is None
