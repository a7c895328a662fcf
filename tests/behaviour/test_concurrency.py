"""Many threads and several handles at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from support.stores import NOON, OpenMemory, Store, at_once, texts

from mnemolog import Memory
from mnemolog.schemas.errors import ClosedError, WaitTimeoutError
from mnemolog.schemas.positions import Position

OPERATIONS = 200


def mixed(mem: Memory, number: int) -> Callable[[], object]:
    """One of five operations, each on a memory of its own."""
    name = f"m{number}"
    operations: list[Callable[[], object]] = [
        lambda: mem.remember(f"added {number}", id=f"new{number}"),
        lambda: mem.update(name, text=f"updated {number}"),
        lambda: mem.forget(name),
        lambda: mem.feedback(f"r{number}", used=[name]),
        lambda: mem.recall(f"seed {number}"),
    ]
    return operations[number % len(operations)]


def test_200_concurrent_operations_all_count(mem: Memory) -> None:
    mem.remember_many([{"text": f"seed {number}", "id": f"m{number}"} for number in range(OPERATIONS)])
    assert len(at_once([mixed(mem, number) for number in range(OPERATIONS)])) == OPERATIONS
    page = mem.list(limit=1_000)
    assert page.total == OPERATIONS
    shown = {item.id: item for item in page.items}
    assert len(shown) == OPERATIONS
    for number in range(OPERATIONS):
        expected = {
            0: (f"seed {number}", 0),
            1: (f"updated {number}", 0),
            2: None,
            3: (f"seed {number}", 1),
            4: (f"seed {number}", 0),
        }[number % 5]
        item = shown.get(f"m{number}")
        assert (None if item is None else (item.text, item.use_count)) == expected
        assert (f"new{number}" in shown) == (number % 5 == 0)


def test_threads_read_while_others_write(mem: Memory) -> None:
    writing = threading.Event()
    writing.set()
    counts: list[int] = []

    def read() -> None:
        seen = 0
        while writing.is_set():
            hits = mem.recall("seed", k=100, now=NOON + timedelta(days=1))
            assert len(set(hits.ids)) == len(hits)
            total = mem.list(limit=0).total
            assert total >= seen
            seen = total
        counts.append(mem.list(limit=0).total)

    def write() -> None:
        try:
            for number in range(30):
                mem.remember(f"seed {number}")
        finally:
            writing.clear()

    at_once([*[read] * 8, write], threads=9)
    assert counts == [30] * 8


def test_a_handle_sees_its_own_writes_at_once(mem: Memory) -> None:
    for number in range(10):
        receipt = mem.remember(f"seed {number}")
        assert mem.recall(f"seed {number}", k=1).ids == [receipt.id]
        mem.forget(receipt.id)
        assert mem.get(receipt.id) is None


def test_another_handle_sees_a_write_by_its_token(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    for number in range(10):
        receipt = one.remember(f"seed {number}", key="slot")
        assert texts(other.recall("seed", after=receipt.position)) == [f"seed {number}"]
        receipt = other.update(receipt.id, text=f"changed {number}")
        item = one.get(receipt.id, after=str(receipt.position))
        assert item is not None
        assert item.text == f"changed {number}"
        assert one.list(after=receipt.position).total == 1


def test_a_closed_handle_refuses_every_verb(store: Store) -> None:
    mem, other = store.open(), store.open()
    receipt = mem.remember("kept")
    mem.list()
    mem.close()
    mem.close()
    before = store.ends()
    calls: list[Callable[[], object]] = [
        lambda: mem.remember("x"),
        lambda: mem.remember_many(["x"]),
        lambda: mem.update(receipt.id, text="x"),
        lambda: mem.supersede(receipt.id, "x"),
        lambda: mem.forget(receipt.id),
        lambda: mem.forget_scope(everything=True),
        lambda: mem.feedback("r", used=[receipt.id]),
        lambda: mem.recall("kept"),
        lambda: mem.get(receipt.id),
        lambda: mem.list(),
        lambda: mem.history(receipt.id),
        lambda: mem.stats(),
        lambda: mem.lag(),
        lambda: mem.wait(receipt.position),
    ]
    for call in calls:
        with pytest.raises(ClosedError):
            call()
    assert store.ends() == before
    assert other.list(after=receipt.position).total == 1


def test_waiting_too_long_is_an_error_that_tells_that_the_event_is_safe(mem: Memory) -> None:
    at = mem.remember("kept").position
    ahead = Position(at.topic, at.partition, at.offset + 1_000_000)
    with pytest.raises(WaitTimeoutError, match="the event is safe in the log"):
        mem.wait(ahead, timeout=0.05)
    mem.wait(str(at), timeout=60)
    assert mem.list().total == 1


def test_a_read_waits_no_longer_than_it_was_told(open_memory: OpenMemory) -> None:
    mem = open_memory(wait_seconds=0.2)
    ahead = Position("mnemolog.memories", 0, 10**12)
    for call in (lambda: mem.recall("x", after=ahead), lambda: mem.list(after=ahead)):
        with pytest.raises(WaitTimeoutError):
            call()
