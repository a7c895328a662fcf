"""`Memory.at`: handles on other namespaces that share one log and its views."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.stores import Store, texts

from mnemolog import AsyncMemory, Memory
from mnemolog.schemas.errors import ClosedError, InvalidInputError


def test_each_handle_sees_its_own_writes_and_only_its_namespace(store: Store, mem: Memory) -> None:
    others = [mem.at((store.prefix, f"user {number}")) for number in range(20)]
    for number, other in enumerate(others):
        other.remember(f"secret {number}", id="same id")
    for number, other in enumerate(others):
        assert texts(other.list().items) == [f"secret {number}"]
        assert texts(other.recall("secret", k=10)) == [f"secret {number}"]
    others[3].forget("same id")
    assert [other.list().total for other in others] == [1, 1, 1, 0] + [1] * 16
    assert mem.list().total == 0


def test_what_another_handle_wrote_is_there(store: Store, mem: Memory) -> None:
    mem.remember("written before")
    assert texts(mem.at(mem.namespace).list().items) == ["written before"]
    for number in range(3):
        mem.at((store.prefix, "bob")).remember(f"note {number}")
    assert mem.at((store.prefix, "bob")).list().total == 3
    apart = store.open("elsewhere").remember("written apart")
    assert texts(mem.at((store.prefix, "elsewhere")).list(after=apart.position).items) == ["written apart"]


def test_who_writes_is_taken_over_unless_given(store: Store) -> None:
    mem = store.open(agent_id="planner", thread_id="t1")
    same = mem.at((store.prefix, "other"))
    another = mem.at((store.prefix, "other"), agent_id="critic", thread_id="t2")
    items = [handle.get(handle.remember("x").id) for handle in (same, another)]
    found = [(item.agent_id, item.thread_id) for item in items if item]
    assert found == [("planner", "t1"), ("critic", "t2")]


def test_it_ends_with_the_first_handle_and_not_the_other_way(folder_store: Store) -> None:
    mem = folder_store.open()
    other, third = mem.at("other"), mem.at("third").at("fourth")
    other.close()
    with pytest.raises(ClosedError):
        other.remember("x")
    mem.remember("still open")
    assert texts(mem.list().items) == ["still open"]
    third.remember("open too")
    mem.close()
    for handle in (mem, third):
        with pytest.raises(ClosedError):
            handle.list()
        with pytest.raises(ClosedError):
            handle.at("fifth")


@pytest.mark.parametrize("namespace", [5, None, (), ("a", b"b")])
def test_a_bad_namespace_is_refused(folder_store: Store, namespace: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        folder_store.open().at(namespace)  # type: ignore[arg-type]
    assert caught.value.field == "namespace"


def test_the_async_twin_shares_the_threads(tmp_path: Path) -> None:
    async def use() -> None:
        async with AsyncMemory.open(tmp_path, embedder="hashing") as memory:
            other = memory.at("other")
            await asyncio.gather(memory.remember("mine"), other.remember("theirs"))
            assert texts((await other.list()).items) == ["theirs"]
            await other.close()
            assert texts((await memory.list()).items) == ["mine"]
            with pytest.raises(ClosedError):
                await other.list()

    asyncio.run(use())
