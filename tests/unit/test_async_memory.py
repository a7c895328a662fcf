"""The async facade: the same verbs as the plain one, safe to cancel."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import mnemolog
from mnemolog.async_memory import AsyncMemory, Opening, OpenOptions
from mnemolog.memory import Memory
from mnemolog.schemas.errors import ClosedError, InvalidInputError, NotFoundError


def verbs(owner: type) -> dict[str, Any]:
    return {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_")}


TWINS = sorted(verbs(Memory))


@pytest.mark.parametrize("name", TWINS)
def test_every_verb_has_a_twin_with_the_same_signature(name: str) -> None:
    plain, twin = getattr(Memory, name), getattr(AsyncMemory, name, None)
    assert twin is not None, f"AsyncMemory.{name} is missing"
    if isinstance(plain, property):
        assert isinstance(twin, property)
        return
    if name == "at":  # asks nothing that could make a caller wait
        assert inspect.signature(plain).parameters == inspect.signature(twin).parameters
        return
    assert inspect.iscoroutinefunction(twin), f"AsyncMemory.{name} is not async"
    assert inspect.signature(plain) == inspect.signature(twin)


def test_there_is_no_verb_without_a_twin() -> None:
    assert set(verbs(AsyncMemory)) - set(TWINS) == {"open", "connect", "blocking"}


@pytest.mark.parametrize("name", ["open", "connect"])
def test_opening_takes_what_the_plain_function_takes(name: str) -> None:
    plain = inspect.signature(getattr(mnemolog, name)).parameters
    twin = inspect.signature(getattr(AsyncMemory, name)).parameters
    by_name = {parameter for parameter, found in plain.items() if found.kind is found.KEYWORD_ONLY}
    assert by_name == set(OpenOptions.__annotations__)
    assert [found for parameter, found in plain.items() if parameter not in by_name] == [
        found for parameter, found in twin.items() if parameter not in ("threads", "options")
    ]


def test_it_does_what_the_plain_facade_does(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with mnemolog.AsyncMemory.open(tmp_path, ("acme", "alice"), embedder="hashing") as memory:
            assert memory.namespace == ("acme", "alice")
            old = await memory.remember("Alice eats no meat", key="diet", author="Alice")
            new = await memory.remember("Alice eats fish", key="diet")
            one, two = await memory.remember_many(["a red bike", {"text": "a blue boat", "kind": "fact"}])
            hits = await memory.recall("what does Alice eat?", k=2)
            assert hits[0].memory.id == new.id
            assert set(await memory.recall("blue or red", group_by_kind=True)) == {"note", "fact"}
            await memory.feedback(hits.recall_id, used=[new.id])
            found = await memory.get(new.id, after=str(two.position))
            assert found is not None
            assert found.use_count == 1
            await memory.update(one.id, text="a green bike")
            await memory.supersede(one.id, two.id, reason="sold")
            assert [change.type for change in await memory.history(one.id)][-1] == "MemorySuperseded"
            assert (await memory.list(include_superseded=True, limit=1)).total == 4
            assert await memory.forget_scope({"kind": "fact"}, dry_run=True) == 1
            assert await memory.forget_scope({"kind": "fact"}) == 1
            await memory.forget([old.id])
            await memory.wait(new.position)
            assert (await memory.stats())["memories"] == 2
            assert set((await memory.lag()).values()) == {0}

    asyncio.run(scenario())


def test_errors_are_those_of_the_plain_facade(tmp_path: Path) -> None:
    async def scenario() -> None:
        memory = await AsyncMemory.open(tmp_path, embedder="hashing")
        with pytest.raises(NotFoundError):
            await memory.update("nobody", text="x")
        with pytest.raises(InvalidInputError):
            await memory.recall("  ")
        await memory.close()
        await memory.close()
        with pytest.raises(ClosedError):
            await memory.remember("too late")
        with pytest.raises(InvalidInputError, match="unknown embedder"):
            async with AsyncMemory.open(tmp_path, embedder="no such"):
                pass

    asyncio.run(scenario())


def test_it_wraps_a_memory_that_is_there(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AsyncMemory(mnemolog.open(tmp_path, embedder="hashing")) as memory:
            await memory.remember("a red bike")
            assert (await memory.list()).total == 1

    asyncio.run(scenario())


def test_many_tasks_share_a_handle(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with AsyncMemory.open(tmp_path, embedder="hashing", threads=3) as memory:
            receipts = await asyncio.gather(*(memory.remember(f"note {number}") for number in range(40)))
            assert len({receipt.position for receipt in receipts}) == 40
            assert (await memory.list()).total == 40

    asyncio.run(scenario())


def test_a_call_sees_the_context_of_its_task(tmp_path: Path) -> None:
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
    seen: list[str] = []

    def items() -> Iterator[str]:
        seen.append(tenant.get())
        yield "a red bike"

    async def scenario() -> None:
        async with AsyncMemory.open(tmp_path, embedder="hashing") as memory:
            tenant.set("acme")
            await memory.remember_many(items())

    asyncio.run(scenario())
    assert seen == ["acme"]


class Gate:
    """Items to remember that stand still until they are let go."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def items(self) -> Iterator[str]:
        self.reached.set()
        self.open.wait(30)
        yield "written though cancelled"


async def _until(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 30)


def test_a_cancelled_write_ends_for_its_caller_and_breaks_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        gate = Gate()
        async with AsyncMemory.open(tmp_path, embedder="hashing") as memory:
            writing = asyncio.create_task(memory.remember_many(gate.items()))
            await _until(gate.reached)
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
            await memory.remember("afterwards")
            gate.open.set()
        with mnemolog.open(tmp_path, embedder="hashing") as again:
            again.remember("so that a read waits for all before it")
            assert again.list().total == 3

    asyncio.run(scenario())


def test_a_cancelled_close_closes_all_the_same(tmp_path: Path) -> None:
    async def scenario() -> None:
        gate = Gate()
        plain = mnemolog.open(tmp_path, embedder="hashing")
        memory = AsyncMemory(plain)
        writing = asyncio.create_task(memory.remember_many(gate.items()))
        await _until(gate.reached)
        closing = asyncio.create_task(memory.close())
        await asyncio.sleep(0.05)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        gate.open.set()
        assert len(await writing) == 1
        await memory.close()
        with pytest.raises(ClosedError):
            plain.list()

    asyncio.run(scenario())


def test_what_opens_for_a_cancelled_caller_is_closed(tmp_path: Path) -> None:
    made: list[Memory] = []
    starting, go = threading.Event(), threading.Event()

    def make() -> Memory:
        starting.set()
        go.wait(30)
        made.append(mnemolog.open(tmp_path, embedder="hashing"))
        return made[0]

    async def scenario() -> None:
        task = asyncio.create_task(Opening(make, 1).__aenter__())
        await _until(starting)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()

    asyncio.run(scenario())
    for thread in threading.enumerate():
        if thread.name.startswith("mnemolog-async"):
            thread.join(30)
    with pytest.raises(ClosedError):
        made[0].list()
