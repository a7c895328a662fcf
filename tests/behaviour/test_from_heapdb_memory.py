"""Opening, writing, reading as heapdb-memory does, in our names: each test shows rows of that page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.mapping import rows
from support.programs import Program
from support.stores import NOON, MovingClock, texts

import mnemolog
from mnemolog import Memory, MemoryItem, Weights
from mnemolog.schemas.errors import InvalidInputError

shows = partial(rows, "heapdb-memory")


def item(mem: Memory, memory_id: str) -> MemoryItem:
    found = mem.get(memory_id)
    assert found is not None
    return found


@shows(
    "Memory(path)",
    "Memory(namespace)",
    "Memory(config)",
    "Memory(embedder)",
    "Memory(clock)",
    "Memory.namespace",
    "Memory.embedder",
    "Memory.config",
    "mark_used(now)",
    "update(now)",
)
def test_what_a_handle_is_opened_with(tmp_path: Path) -> None:
    clock = MovingClock(NOON)
    with mnemolog.open(tmp_path, embedder="hashing:64", weights=Weights(recency=1.0), clock=clock) as mem:
        mem.remember("a note", id="m")
        assert (mem.namespace, mem.current_config().weights.recency) == (("default",), 1.0)
        assert "64" in mem.stats()["embedder"]
        clock.advance(hours=1)
        mem.mark_used("m")
        mem.update("m", tags=["x"])
        found = item(mem, "m")
    hour = NOON + timedelta(hours=1)
    assert (found.occurred_at, found.last_used_at, found.updated_at) == (NOON, hour, hour)
    with pytest.raises(InvalidInputError):
        mnemolog.open(tmp_path / "other", embedder="none", weights=Weights(recency=-1.0))


@shows("len(memory)", "id in memory", "iteration", "superseded", "uses", "stats(namespace)")
def test_a_handle_is_a_collection_and_has_numbers(place: Memory) -> None:
    assert (len(place), list(place), bool(place)) == (0, [], True)
    for number in range(3):
        place.remember(f"note {number}", id=f"m{number}", key="slot" if number < 2 else None)
    place.mark_used("m1")
    place.mark_ignored("m2")
    assert (len(place), [one.id for one in place]) == (2, ["m2", "m1"])
    assert ("m0" in place, "m1" in place, "other" in place, 1 in place) == (True, True, False, False)
    stats = place.stats()
    assert (stats["memories"], stats["active"], stats["kinds"]) == (3, 2, {"note": 3})
    (numbers,) = place.aggregate(metrics={"sum": ["use_count", "ignore_count"]})
    assert numbers == {"sum_use_count": 1, "sum_ignore_count": 1}
    assert place.aggregate(include_superseded=True) == [{"count": 3}]


@shows("Memory.namespaces", "namespaces", "add(namespace)", "recall(namespace)", "MemoryItem.namespace")
def test_namespaces_are_apart_and_listed_below_ones_own(place: Memory) -> None:
    own = place.namespace
    alice, near = place.at((*own, "alice")), place.at((*own[:-1], own[-1] + "x"))
    last = [handle.remember("x", id="m", ttl_seconds=60).position for handle in (place, alice, near)]
    for position in last:
        place.wait(position)
    assert place.namespaces() == [own, (*own, "alice")]
    assert alice.namespaces() == [alice.namespace]
    assert [hit.memory.namespace for hit in alice.recall("x")] == [alice.namespace]
    alice.forget("m")
    assert alice.namespaces() == []


@shows("two processes on one folder lose writes")
def test_two_processes_write_into_one_folder(tmp_path: Path) -> None:
    program = (
        "import sys, mnemolog\nwith mnemolog.open(sys.argv[1], embedder='none') as m: m.remember('theirs')"
    )
    with mnemolog.open(tmp_path, embedder="none") as mem:
        mem.remember("ours")
        with Program(program, tmp_path) as other:
            other.rest()
        mem.remember("ours again")
        assert sorted(texts(mem)) == ["ours", "ours again", "theirs"]


@shows(
    "add(text)",
    "add(kind)",
    "add(importance)",
    "add(tags)",
    "add(created_at)",
    "add(id)",
    "MemoryItem.id",
    "MemoryItem.text",
    "MemoryItem.importance",
    "MemoryItem.created_at",
)
def test_one_memory(place: Memory) -> None:
    naive = datetime(2026, 1, 1)
    place.remember(
        "likes tea",
        id="m",
        kind="preference",
        importance=0.9,
        tags=["a"],
        source="chat",
        metadata={"n": 1},
        occurred_at=naive,
    )
    found = item(place, "m")
    assert (found.id, found.text, found.kind, found.importance) == ("m", "likes tea", "preference", 0.9)
    assert (found.tags, found.source, found.metadata) == (("a",), "chat", {"n": 1})
    assert found.occurred_at == datetime(2026, 1, 1, tzinfo=UTC)
    plain = item(place, place.remember("x").id)
    assert (plain.kind, plain.importance) == ("note", None)
    place.remember("likes coffee", id="m")
    assert item(place, "m").text == "likes coffee"
    for bad in ({"text": " "}, {"text": "x", "importance": 1.5}):
        with pytest.raises(InvalidInputError):
            place.remember(**bad)


@shows("add_many")
def test_many_memories(place: Memory) -> None:
    receipts = place.remember_many(["one", {"text": "two", "tags": ["t"]}], kind="fact")
    assert [item(place, receipt.id).text for receipt in receipts] == ["one", "two"]
    with pytest.raises(InvalidInputError):
        place.remember_many(["three", ""])
    assert len(place) == 2


@shows(
    "add(key)",
    "find_by_key",
    "supersede(old_id)",
    "MemoryItem.superseded_by",
    "recall(include_superseded)",
    "list(include_superseded)",
    "superseded_multiplier",
    "Recalled.rules",
)
def test_the_newer_supersedes_the_older(place: Memory) -> None:
    old, new = (place.remember(text, key="diet").id for text in ("eats no fish", "eats fish"))
    assert (item(place, old).superseded_by, item(place, old).active, item(place, new).active) == (
        new,
        False,
        True,
    )
    found = place.find_by_key("diet")
    assert found is not None
    assert found.id == new
    assert place.recall("eats fish").ids == [new]
    both = place.recall("eats fish", include_superseded=True, rules={"mine": lambda memory: 2.0})
    assert both.ids == [new, old]
    assert both[1].factors["superseded"].value == 0.1
    assert [hit.factors["rule:mine"].value for hit in both] == [2.0, 2.0]
    assert (place.list().total, place.list(include_superseded=True).total) == (1, 2)
    third = place.remember("eats all").id
    place.supersede(new, third)
    assert item(place, new).superseded_by == third


@shows("update(memory_id)", "MemoryItem.event_id")
def test_an_update_changes_what_is_given(place: Memory) -> None:
    place.remember("old", id="m", tags=["a"])
    place.update("m", text="new", importance=0.7)
    found, history = item(place, "m"), place.history("m")
    assert (found.text, found.importance, found.tags) == ("new", 0.7, ("a",))
    assert [change.type for change in history] == ["MemoryRemembered", "MemoryUpdated"]
    assert len({change.event_id for change in history}) == 2


@shows("forget(memory_ids)", "forget(namespace)", "get")
def test_forgetting(place: Memory) -> None:
    for number in range(4):
        place.remember(f"note {number}", id=f"m{number}")
    place.forget(["m0", "unknown"])
    assert (place.get("m0"), len(place)) == (None, 3)
    hits = place.recall("which note?")
    place.feedback(hits.recall_id, used=hits.ids[:1])
    assert place.forget_scope(everything=True) == 3
    assert (len(place), place.explain_usefulness()) == (0, [])


@shows("list(kind)", "list(limit)")
def test_pages(place: Memory) -> None:
    for number in range(5):
        place.remember(f"{number}", kind="fact" if number else "note", tags=["odd"] if number % 2 else [])
    page = place.list(kinds=["fact"], limit=2, offset=1)
    assert (texts(page.items), page.total) == (["3", "2"], 4)
    assert texts(place.list(tags=["odd"]).items) == ["3", "1"]


@shows("HEAPDB_MEMORY_DIR", "evals.locomo.run")
def test_the_command_line_and_the_evaluation_are_there(tmp_path: Path) -> None:
    variables = {"MNEMOLOG_NAMESPACE": "acme/alice", "MNEMOLOG_EMBEDDER": "none"}
    CommandLine(tmp_path / "m").ok("remember", "a note", env=variables)
    with mnemolog.open(tmp_path / "m", ("acme", "alice"), embedder="none") as mem:
        assert texts(mem) == ["a note"]
    assert (Path(__file__).parents[2] / "benchmarks" / "locomo.py").exists()
