"""LangGraph's checkpoints: its own conformance tests, its InMemorySaver beside ours, and real graphs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from support.graphs import at, id_of, ids, put, two_steps
from support.stores import MovingClock, OpenMemory, Store
from typing_extensions import TypedDict

from mnemolog.adapters.langgraph_saver import AGENT_ID, MnemologSaver
from mnemolog.memory import Memory
from mnemolog.schemas.errors import ClosedError, InvalidInputError, MnemologError, ViewError

MakeSaver = Callable[[], BaseCheckpointSaver[Any]]
CAPABILITIES = {
    *("put", "put_writes", "get_tuple", "list", "delete_thread", "delete_for_runs", "copy_thread", "prune")
}


def test_it_conforms_to_what_langgraph_asks_of_savers(shared: Memory) -> None:
    number = iter(range(100))

    @checkpointer_test(name="mnemolog")
    async def ours() -> Any:
        yield MnemologSaver(shared.at((*shared.namespace, f"conformance-{next(number)}")))

    report = asyncio.run(validate(ours))
    assert {name for name, result in report.results.items() if result.passed} == CAPABILITIES
    assert not [failure for result in report.results.values() for failure in result.failures or ()]


@pytest.fixture(params=["reference", "mnemolog"])
def saver(request: pytest.FixtureRequest, place: Memory) -> BaseCheckpointSaver[Any]:
    return InMemorySaver() if request.param == "reference" else MnemologSaver(place)


def test_of_a_task_writing_twice_the_first_write_holds_but_of_an_error_the_last(
    saver: BaseCheckpointSaver[Any],
) -> None:
    here = put(saver, at(), 0, x=1)
    saver.put_writes(here, [("a", "first"), ("b", 1)], "task-2", "path-1")
    saver.put_writes(here, [("a", "second"), ("b", 2), ("c", 3)], "task-2", "path-1")
    saver.put_writes(here, [(ERROR, "one"), (INTERRUPT, "i")], "task-1", "path-2")
    saver.put_writes(here, [(ERROR, "two")], "task-1", "path-2")
    found = saver.get_tuple(here)
    assert found is not None
    assert found.pending_writes == [
        ("task-2", "a", "first"),
        ("task-2", "b", 1),
        ("task-2", "c", 3),
        ("task-1", INTERRUPT, "i"),
        ("task-1", ERROR, "two"),
    ]


def test_the_history_is_listed_from_its_end_and_filtered(saver: BaseCheckpointSaver[Any]) -> None:
    places = [at()]
    for step in range(4):
        places.append(put(saver, places[-1], step, x=step))
    put(saver, at(ns="child:1"), 9, y=1)
    put(saver, at("other"), 0, z=1)
    newest_first = [id_of(place) for place in places[:0:-1]]
    assert ids(saver.list(at())) == newest_first
    assert ids(saver.list(at(), limit=2)) == newest_first[:2]
    assert ids(saver.list(at(), limit=0)) == []
    assert ids(saver.list(at(), before=places[3])) == newest_first[2:]
    assert ids(saver.list(at(), before=places[4], limit=1)) == newest_first[1:2]
    assert ids(saver.list(at(), filter={"step": 2})) == newest_first[1:2]
    assert ids(saver.list(at(), filter={"step": 2, "source": "input"})) == []
    assert ids(saver.list(places[2])) == newest_first[2:3]
    assert len(ids(saver.list({"configurable": {"thread_id": "t"}}))) == 5
    assert len(ids(saver.list(None))) == 6
    parents = [found.parent_config for found in saver.list(at())]
    assert [None if one is None else id_of(one) for one in parents] == [*newest_first[1:], None]


def test_names_that_look_like_each_other_are_not_each_other(saver: BaseCheckpointSaver[Any]) -> None:
    threads = ["a", "a/b", "a%2Fb", "A", "a|b", "ä", "part/x"]
    spaces = ["", "a", "a/b", "a|b", "x" * 500]
    for thread in threads:
        for ns in spaces:
            put(saver, at(thread, ns), 0, who=f"{thread} {ns}")
    for thread in threads:
        for ns in spaces:
            found = saver.get_tuple(at(thread, ns))
            assert found is not None
            assert found.checkpoint["channel_values"] == {"who": f"{thread} {ns}"}
    saver.delete_thread("a")
    assert saver.get_tuple(at("a")) is None
    assert len(list(saver.list(None))) == (len(threads) - 1) * len(spaces)


def test_state_of_any_size_and_kind_comes_back(saver: BaseCheckpointSaver[Any]) -> None:
    noise = os.urandom(300_000)
    values = {"noise": noise, "text": "Grüße 👋 " * 20_000, "set": {1, 2}, "none": None, "deep": [[[[1]]]]}
    here = put(saver, at(), 0, **values)
    saver.put_writes(here, [("noise", noise)], "task")
    found = saver.get_tuple(at())
    assert found is not None
    assert found.checkpoint["channel_values"] == values
    assert found.pending_writes == [("task", "noise", noise)]
    saver.delete_thread("t")
    assert saver.get_tuple(at()) is None


def run_of_two_steps(checkpointer: BaseCheckpointSaver[Any]) -> list[Any]:
    """What a graph says that is interrupted, resumed, and taken back to an earlier checkpoint."""
    graph, config = two_steps(checkpointer), at("run")
    said = [graph.invoke({"said": ["start"]}, config)["said"], graph.get_state(config).next]
    said.append(graph.invoke(Command(resume="Ann"), config)["said"])
    past = next(one for one in graph.get_state_history(config) if one.next == ("ask",))
    said.append(graph.invoke(None, past.config)["__interrupt__"][0].value)
    said.append(graph.invoke(Command(resume="Bob"), config)["said"])
    said.append([(one.metadata["step"], one.next) for one in graph.get_state_history(config)])
    forked = graph.update_state(past.config, {"said": ["edited"]})
    said.append(graph.get_state(forked).values["said"])
    return said


def test_a_graph_runs_on_it_as_on_the_reference(place: Memory) -> None:
    expected = run_of_two_steps(InMemorySaver())
    assert run_of_two_steps(MnemologSaver(place)) == expected
    assert expected[4] == ["start", "hello", "Bob"]


def test_a_graph_is_resumed_by_another_handle(open_memory: OpenMemory) -> None:
    mem, other = open_memory(), open_memory()
    two_steps(MnemologSaver(mem)).invoke({"said": []}, at())
    other.wait(mem.set_context("then", 1).position)

    async def resume() -> list[str]:
        graph = two_steps(MnemologSaver(other))
        (last,) = [one async for one in graph.aget_state_history(at(), limit=1)]
        assert last.next == ("ask",)
        said = await graph.ainvoke(Command(resume="Zoë"), at())
        await graph.checkpointer.adelete_thread("t")
        assert (await graph.aget_state(at())).values == {}
        return cast("list[str]", said["said"])

    assert asyncio.run(resume()) == ["hello", "Zoë"]


def program(code: str, mem: Memory, home: Path) -> list[str]:
    """The command of a program on the same memory, which has its `home` and `namespace`."""
    setting = f"""
import os, signal, sys
sys.path[:0] = [{str(Path(__file__).parents[1])!r}]
import mnemolog
from langgraph.types import Command
from support.graphs import at, put, two_steps
from support.stores import NOON
from mnemolog.adapters.langgraph_saver import MnemologSaver
home, namespace = {str(home)!r}, {tuple(mem.namespace)!r}
"""
    return [sys.executable, "-c", setting + code]


RESUMED = """
with mnemolog.open(home, namespace=namespace, embedder="hashing") as memory:
    print(two_steps(MnemologSaver(memory)).invoke(Command(resume="Eve"), at())["said"])
"""


def test_a_graph_is_resumed_by_another_process(folder_store: Store, tmp_path: Path) -> None:
    mem = folder_store.open()
    two_steps(MnemologSaver(mem)).invoke({"said": []}, at())
    command = program(RESUMED, mem, tmp_path / "memory")
    mem.close()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['hello', 'Eve']", done.stderr


def test_checkpoints_outlive_what_clears_caches_and_sets_times_to_live(
    place: Memory, clock: MovingClock
) -> None:
    place.cache.session.set_default_ttl(1)
    saver, fleeting = MnemologSaver(place), MnemologSaver(place, ttl_seconds=60)
    put(saver, at(), 0, x=1)
    put(fleeting, at("short"), 0, x=os.urandom(100_000))
    place.cache.clear()
    assert fleeting.get_tuple(at("short")) is not None
    clock.advance(days=400)
    assert saver.get_tuple(at()) is not None
    assert fleeting.get_tuple(at("short")) is None
    assert ids(fleeting.list(None)) == ids(saver.list(at()))


def test_deleting_leaves_nothing_behind(place: Memory) -> None:
    saver = MnemologSaver(place)
    places = [at()]
    for step in range(3):
        places.append(put(saver, places[-1], step, x=os.urandom(100_000)))
        saver.put_writes(places[-1], [("x", os.urandom(100_000))], "task")
    place.set_context("mine", 1, thread_id="t")
    saver.prune(["t"])
    kept = saver.get_tuple(at())
    assert kept is not None
    assert (id_of(kept.config), len(kept.pending_writes or [])) == (id_of(places[-1]), 1)
    head, writes = 3 + 1, 3 + 1  # parts of 60,000 characters, and the entry that names them
    assert place.list_context(agent_id=AGENT_ID, thread_id="t").total == head + writes
    saver.delete_thread("t")
    assert place.list_context(agent_id=AGENT_ID, thread_id="t").total == 0
    assert place.list_context(agent_id=AGENT_ID, thread_id=None).total == 0
    assert place.get_context("mine", thread_id="t") == 1


def test_a_long_history_is_listed_while_it_is_pruned(place: Memory) -> None:
    saver = MnemologSaver(place)
    here, places = at(), []
    for step in range(120):
        here = put(saver, here, step, x=step)
        places.append(id_of(here))
    listed = saver.list(at())
    first = [id_of(next(listed).config) for _ in range(10)]
    keys = [one.key for one in place.list_context("state/", agent_id=AGENT_ID, thread_id="t", limit=30).items]
    place.delete_context_many(keys, agent_id=AGENT_ID, thread_id="t")
    assert first + ids(listed) == places[:29:-1]


class Deltas(TypedDict):
    """State of which checkpoints hold what was added, and all of it now and then."""

    said: Annotated[list[str], DeltaChannel(lambda old, new: sum(new, old), list, snapshot_frequency=4)]


def test_pruning_and_copying_keep_what_delta_channels_are_rebuilt_from(place: Memory) -> None:
    saver = MnemologSaver(place)
    builder = StateGraph(Deltas)
    builder.add_node("answer", lambda state: {"said": [f"answer to {len(state['said'])}"]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    lengths = []
    for turn in range(6):
        graph.invoke({"said": [f"turn {turn}"]}, at())
        whole, before = graph.get_state(at()).values, len(list(saver.list(at())))
        saver.prune(["t"])
        lengths.append((before, len(list(saver.list(at())))))
        assert graph.get_state(at()).values == whole
    assert len(whole["said"]) == 12
    assert any(after < before for before, after in lengths)  # it is pruned
    assert any(after > 1 for _, after in lengths)  # and rebuilt from earlier ones
    saver.copy_thread("t", "copy")
    saver.delete_thread("t")
    assert graph.get_state(at("copy")).values == whole


KILLED = """
calls = 0
def clock():
    global calls
    calls += 1
    if calls > 10:
        os.kill(os.getpid(), signal.SIGKILL)
    return NOON
with mnemolog.open(home, namespace=namespace, embedder="hashing", clock=clock) as memory:
    saver = MnemologSaver(memory)
    first = put(saver, at(), 0, x="whole")
    calls = 0
    put(saver, first, 1, x=os.urandom(1_000_000))
"""


def test_a_writer_that_is_killed_halfway_leaves_the_checkpoint_before(
    folder_store: Store, tmp_path: Path
) -> None:
    mem = folder_store.open()
    saver = MnemologSaver(mem)
    done = subprocess.run(program(KILLED, mem, tmp_path / "memory"), check=False)
    assert done.returncode == -9
    mem.wait(mem.set_context("then", 1).position)
    assert 0 < mem.list_context("part/", agent_id=AGENT_ID, thread_id="t").total < 23
    found = saver.get_tuple(at())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"x": "whole"}
    put(saver, found.config, 1, x="again")
    assert len(ids(saver.list(at()))) == 2
    saver.delete_thread("t")
    assert mem.list_context(agent_id=AGENT_ID, thread_id="t").total == 0


def test_a_namespace_sees_no_other_checkpoints(open_memory: OpenMemory) -> None:
    put(MnemologSaver(open_memory("alice")), at(), 0, x=1)
    other = MnemologSaver(open_memory("bob"))
    assert (other.get_tuple(at()), ids(other.list(None))) == (None, [])


def test_parts_that_are_not_those_that_were_written_are_an_error(open_memory: OpenMemory) -> None:
    mem = open_memory()
    saver = MnemologSaver(mem)
    put(saver, at(), 0, x=os.urandom(100_000))
    part = mem.list_context("part/", agent_id=AGENT_ID, thread_id="t", limit=1).items[0]
    mem.set_context(part.key, "changed", agent_id=AGENT_ID, thread_id="t")
    with pytest.raises(ViewError, match="parts"):
        saver.get_tuple(at())


BAD: list[tuple[str, Callable[[MnemologSaver], object]]] = [
    ("thread_id", lambda saver: saver.get_tuple({"configurable": {}})),
    ("thread_id", lambda saver: saver.get_tuple({})),
    ("thread_id", lambda saver: put(saver, at("x" * 300), 0)),
    ("thread_id", lambda saver: put(saver, at(""), 0)),
    ("checkpoint_id", lambda saver: saver.put_writes(at(), [("a", 1)], "task")),
    ("strategy", lambda saver: saver.prune(["t"], strategy="keep_best")),
    ("ttl_seconds", lambda saver: MnemologSaver(saver.memory, ttl_seconds=0)),
]


@pytest.mark.parametrize(("field", "call"), BAD)
def test_bad_input_is_refused_by_name(
    place: Memory, field: str, call: Callable[[MnemologSaver], object]
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call(MnemologSaver(place))
    assert caught.value.field == field


def test_a_closed_memory_is_an_error_of_this_library(open_memory: OpenMemory) -> None:
    mem = open_memory()
    mem.close()
    with pytest.raises(ClosedError):
        put(MnemologSaver(mem), at(), 0)
    with pytest.raises(MnemologError):
        MnemologSaver(mem).get_tuple(at())
