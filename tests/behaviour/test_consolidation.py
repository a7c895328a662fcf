"""Consolidation on demand: what it makes of memories, and that it loses, doubles and leaks nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from support.stores import OpenMemory, at_once, texts

from mnemolog import Extraction, Fact, Memory, MemoryItem
from mnemolog.schemas.errors import ExtractionError, InvalidInputError, MnemologError

Facts = Callable[[list[MemoryItem]], Any]


def saying(*facts: Fact) -> Facts:
    return lambda memories: list(facts)


def watching(seen: list[str]) -> Facts:
    """Finds nothing, and lets `seen` know what it was given."""

    def extractor(memories: list[MemoryItem]) -> list[Fact]:
        seen.extend(texts(memories))
        return []

    return extractor


def statements(mem: Memory, subject: str = "diet") -> list[tuple[str, bool]]:
    return [(item.statement, item.current) for item in mem.facts(subject)]


def test_facts_are_made_of_memories_and_link_to_them(mem: Memory) -> None:
    first, second = mem.remember("I eat no meat"), mem.remember("I moved to Berlin")
    seen: list[str] = []

    def extractor(memories: list[MemoryItem]) -> list[Fact]:
        seen.extend(texts(memories))
        return [
            Fact("diet", "vegetarian", sources=(first.id,)),
            Fact("home", "Berlin", "2026-03", sources=(second.id,)),
        ]

    result = mem.consolidate(extract_facts=extractor, older_than_seconds=0)
    assert seen == ["I eat no meat", "I moved to Berlin"]
    assert (result.mode, result.considered, len(result.created)) == ("facts", 2, 2)
    diet, home = mem.facts()
    assert (diet.statement, diet.sources, diet.current, diet.confidence) == (
        "vegetarian",
        (first.id,),
        True,
        1.0,
    )
    assert (home.valid_from, home.date, home.valid_to) == (*[datetime(2026, 3, 1, tzinfo=UTC)] * 2, None)
    assert home.decided_by.type == "FactsAsserted"
    assert [diet.id, home.id] == result.created
    item = mem.get(home.id)
    assert item is not None
    assert (item.kind, item.source, item.sources, item.importance) == ("fact", "fact", (second.id,), 0.7)
    assert [step.node.name for step in mem.provenance(home.id).upstream] == [second.id]
    assert "Berlin" in texts(mem.recall("Where is her home?", kinds=["fact"]))


def test_a_newer_date_supersedes_and_an_older_one_is_history(mem: Memory) -> None:
    mem.remember("m")
    for statement, day in (
        ("vegetarian", date(2025, 1, 1)),
        ("vegan", date(2026, 1, 1)),
        ("omnivore", date(2024, 1, 1)),
    ):
        result = mem.consolidate(extract_facts=saying(Fact("Diet", statement, day)), older_than_seconds=0)
    assert (len(result.created), result.superseded) == (1, [])
    assert statements(mem) == [("vegan", True), ("vegetarian", False), ("omnivore", False)]
    held = mem.facts("diet", as_of=datetime(2025, 6, 1))
    assert [(item.statement, item.valid_to) for item in held] == [
        ("vegetarian", datetime(2026, 1, 1, tzinfo=UTC))
    ]
    assert texts(mem.list(kinds=["fact"]).items) == ["vegan"]


def test_a_fact_without_a_date_counts_from_when_it_was_said(mem: Memory) -> None:
    old = mem.remember("old", occurred_at=datetime(2025, 5, 1, tzinfo=UTC))
    new = mem.remember("new", occurred_at=datetime(2026, 5, 1, tzinfo=UTC))
    facts = [Fact("diet", "vegan", sources=(new.id,)), Fact("diet", "vegetarian", sources=(old.id,))]
    result = mem.consolidate(
        extract_facts=saying(*facts, Fact("diet", "fish", "2025-12-01")), older_than_seconds=0
    )
    assert statements(mem) == [("vegan", True), ("fish", False), ("vegetarian", False)]
    assert len(result.created) == 3


def test_of_facts_said_at_once_the_last_holds(mem: Memory) -> None:
    mem.remember("m")
    result = mem.consolidate(
        extract_facts=saying(Fact("diet", "vegan"), Fact("diet", "fish")), older_than_seconds=0
    )
    assert statements(mem)[0] == ("fish", True)
    assert result.superseded == result.created[:1]


def test_tombstones_retract_and_unmatched_ones_are_told(mem: Memory) -> None:
    mem.remember("m")
    mem.consolidate(extract_facts=saying(Fact("diet", "vegan", "2026-01-01")), older_than_seconds=0)
    (vegan,) = mem.facts("diet")
    retracting = saying(
        Fact("diet", "", "2026-02-01", tombstone=True), Fact("Pet", "", "2026-02-01", tombstone=True)
    )
    result = mem.consolidate(extract_facts=retracting, older_than_seconds=0)
    assert (result.retracted, result.unmatched, result.created) == ([vegan.id], ["Pet"], [])
    (past,) = mem.facts("diet")
    assert (past.current, past.valid_to) == (False, datetime(2026, 2, 1, tzinfo=UTC))
    assert mem.list(kinds=["fact"]).total == 0
    mem.consolidate(extract_facts=saying(Fact("diet", "fish", "2026-03-01")), older_than_seconds=0)
    assert statements(mem) == [("fish", True), ("vegan", False)]


def test_repeated_runs_never_grow(mem: Memory) -> None:
    mem.remember_many(["one", "two"])
    facts = saying(
        Fact("diet", "vegan", "2026-01-01"), Fact("pet", "a cat"), Fact("home", "", tombstone=True)
    )
    mem.consolidate(extract_facts=facts, older_than_seconds=0)
    before, facts_before = mem.stats(), mem.facts()
    for _ in range(3):
        result = mem.consolidate(extract_facts=facts, older_than_seconds=0)
        assert (result.considered, result.created, result.superseded, result.retracted) == (2, [], [], [])
    assert mem.facts() == facts_before
    assert {name: mem.stats()[name] for name in ("memories", "active")} == {
        name: before[name] for name in ("memories", "active")
    }


def test_facts_are_no_sources_of_facts(mem: Memory) -> None:
    mem.remember("m")
    mem.consolidate(extract_facts=saying(Fact("diet", "vegan")), older_than_seconds=0)
    mem.consolidate(summarize=lambda memories: "sum", older_than_seconds=0)
    seen: list[str] = []
    mem.consolidate(extract_facts=watching(seen), older_than_seconds=0)
    assert seen == ["m"]


def test_a_summary_links_to_its_sources_and_is_not_made_twice(mem: Memory) -> None:
    ids = [receipt.id for receipt in mem.remember_many(["one", "two"])]
    result = mem.consolidate(summarize=lambda memories: " and ".join(texts(memories)), older_than_seconds=0)
    (summary,) = result.created
    item = mem.get(summary)
    assert item is not None
    assert (item.text, item.kind, item.source, set(item.sources)) == (
        "one and two",
        "summary",
        "summary",
        set(ids),
    )
    again = mem.consolidate(summarize=lambda memories: "other", older_than_seconds=0)
    assert (again.considered, again.created) == (0, [])
    assert mem.list().total == 3


def test_sources_are_deleted_once_what_stands_for_them_is_there(mem: Memory) -> None:
    mem.remember_many(["one", "two"])
    result = mem.consolidate(summarize=lambda memories: "both", older_than_seconds=0, delete_sources=True)
    assert (len(result.deleted), texts(mem.list().items)) == (2, ["both"])
    assert mem.history(result.deleted[0])[-1].reason == f"consolidated into {result.created[0]}"
    kept = mem.remember("says nothing")
    said = mem.remember("I am vegan")
    facts = saying(Fact("diet", "vegan", sources=(said.id,)))
    result = mem.consolidate(extract_facts=facts, kinds=["note"], delete_sources=True)
    assert result.deleted == [said.id]
    assert mem.get(kept.id) is not None
    assert statements(mem) == [("vegan", True)]


def test_forgetting_a_source_takes_what_rests_on_it_alone(mem: Memory) -> None:
    one, two = mem.remember_many(["one", "two"])
    facts = [Fact("diet", "vegan", sources=(one.id,)), Fact("pet", "a cat", sources=(one.id, two.id))]
    result = mem.consolidate(extract_facts=saying(*facts), older_than_seconds=0)
    mem.forget(one.id)
    assert [(item.statement, item.sources) for item in mem.facts()] == [("a cat", (two.id,))]
    assert mem.history(result.created[0])[-1].reason == f"what it rested on was forgotten: {one.id}"
    mem.forget_scope(everything=True)
    assert (mem.facts(), mem.list().total) == ([], 0)
    mem.remember("one", id=one.id)
    mem.consolidate(extract_facts=saying(facts[0]), older_than_seconds=0)
    assert statements(mem) == [("vegan", True)]


def test_a_source_forgotten_while_the_extractor_runs_leaves_no_orphan(open_memory: OpenMemory) -> None:
    mem, other = open_memory(), open_memory()
    gone, kept = mem.remember_many(["gone", "kept"])

    def extractor(memories: list[MemoryItem]) -> list[Fact]:
        other.forget(gone.id)
        other.remember("meanwhile")
        return [Fact("diet", "vegan", sources=(gone.id,)), Fact("pet", "a cat", sources=(kept.id,))]

    result = mem.consolidate(extract_facts=extractor, older_than_seconds=0, delete_sources=True)
    assert (len(result.created), len(result.dropped), result.deleted) == (1, 1, [kept.id])
    assert [item.statement for item in mem.facts()] == ["a cat"]
    assert set(texts(mem.list().items)) == {"a cat", "meanwhile"}


def test_a_source_that_was_changed_meanwhile_is_neither_used_nor_deleted(open_memory: OpenMemory) -> None:
    mem, other = open_memory(), open_memory()
    changed = mem.remember("I eat meat")

    def summarize(memories: list[MemoryItem]) -> str:
        other.update(changed.id, text="I eat no meat")
        return "She eats meat"

    result = mem.consolidate(summarize=summarize, older_than_seconds=0, delete_sources=True)
    assert (result.created, len(result.dropped), result.deleted) == ([], 1, [])
    assert texts(mem.list().items) == ["I eat no meat"]


def test_one_fact_found_by_many_at_once_is_one(open_memory: OpenMemory) -> None:
    mem = open_memory()
    how: dict[str, Any] = {"older_than_seconds": 0, "after": mem.remember("m", id="m").position}
    facts = saying(Fact("diet", "vegan", "2026-01-01"))
    runs = [partial(open_memory().consolidate, extract_facts=facts, **how) for _ in range(4)]
    at_once(runs, threads=4)
    mem.consolidate(extract_facts=facts, older_than_seconds=0)
    assert (statements(mem), mem.list().total) == ([("vegan", True)], 2)


def test_selectors_must_all_hold(open_memory: OpenMemory) -> None:
    mem = open_memory()
    now = datetime.now(UTC)
    mem.remember("old", occurred_at=now - timedelta(days=2), tags=["x"], importance=0.2, thread_id="t")
    mem.remember("new", tags=["x"], thread_id="t")
    mem.remember("weighty", occurred_at=now - timedelta(days=2), importance=0.9, agent_id="a")
    open_memory("other").remember("elsewhere", occurred_at=now - timedelta(days=2))
    selections: list[tuple[dict[str, Any], list[str]]] = [
        ({"older_than_seconds": 86_400}, ["old", "weighty"]),
        ({"max_importance": 0.5}, ["old", "new"]),
        ({"older_than_seconds": 86_400, "max_importance": 0.5}, ["old"]),
        ({"tags": ["x"], "thread_id": "t"}, ["old", "new"]),
        ({"agent_id": "a"}, ["weighty"]),
        ({"filters": {"importance": {"gte": 0.5}}}, ["weighty"]),
        ({"kinds": ["episode"]}, []),
        ({"older_than_seconds": 1e300}, []),
    ]
    for selectors, expected in selections:
        seen: list[str] = []
        mem.consolidate(extract_facts=watching(seen), **selectors)
        assert sorted(seen) == sorted(expected), selectors


def test_what_of_one_thread_is_made_belongs_to_it(mem: Memory) -> None:
    mem.remember("m", thread_id="t")
    mem.consolidate(extract_facts=saying(Fact("diet", "vegan")), thread_id="t")
    assert texts(mem.list(kinds=["fact"], thread_id="t").items) == ["vegan"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"extract_facts": list}, "filters"),
        ({"extract_facts": list, "filters": {}}, "filters"),
        ({"older_than_seconds": 0}, "mode"),
        ({"older_than_seconds": 0, "mode": "facts"}, "extract_facts"),
        ({"older_than_seconds": 0, "mode": "summary", "extract_facts": list}, "summarize"),
        ({"older_than_seconds": 0, "extract_facts": list, "summarize": str}, "mode"),
        ({"older_than_seconds": 0, "mode": "poem", "summarize": str}, "mode"),
        ({"older_than_seconds": 0, "extract_facts": "rules"}, "extract_facts"),
        ({"older_than_seconds": -1, "extract_facts": list}, "older_than_seconds"),
        ({"older_than_seconds": float("nan"), "extract_facts": list}, "older_than_seconds"),
        ({"max_importance": "low", "extract_facts": list}, "max_importance"),
        ({"older_than_seconds": 0, "extract_facts": list, "importance": 2}, "importance"),
        ({"older_than_seconds": 0, "extract_facts": list, "delete_sources": "yes"}, "delete_sources"),
    ],
)
def test_calls_that_make_no_sense_are_refused(mem: Memory, arguments: dict[str, Any], field: str) -> None:
    mem.remember("m")
    with pytest.raises(InvalidInputError) as caught:
        mem.consolidate(**arguments)
    assert caught.value.field == field
    assert texts(mem.list().items) == ["m"]


def _raise(error: BaseException) -> Any:
    raise error


def _endless(memories: list[MemoryItem]) -> Any:
    yield Fact("diet", "vegan")
    raise RuntimeError("broke off")


BAD_EXTRACTORS: dict[str, Facts] = {
    "raises": lambda memories: _raise(ValueError("no")),
    "raises in the middle": _endless,
    "text": lambda memories: '[{"subject": "diet", "state',
    "none": lambda memories: None,
    "dicts": lambda memories: [{"subject": "diet"}],
    "one fact": lambda memories: Fact("diet", "vegan"),
    "an empty subject": lambda memories: [Fact(" ", "vegan")],
    "an empty statement": lambda memories: [Fact("diet", "")],
    "an impossible date": lambda memories: [Fact("diet", "vegan", "2026-02-30")],
    "a date of the wrong type": lambda memories: [Fact("diet", "vegan", 20260201)],  # type: ignore[arg-type]
    "control characters": lambda memories: [Fact("diet", "ve\x00gan")],
    "half of a surrogate pair": lambda memories: [Fact("diet", "vegan \ud83d")],
    "half of a pair as subject": lambda memories: [Fact("\ud83d", "vegan")],
    "too many": lambda memories: [Fact(f"subject {n}", "text") for n in range(10_000)],
    "strange sources": lambda memories: [Fact("diet", "vegan", sources=("another",))],
    "facts in a wrong extraction": lambda memories: Extraction(["vegan"]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("name", BAD_EXTRACTORS)
def test_a_bad_extractor_is_an_error_and_changes_nothing(mem: Memory, name: str) -> None:
    mem.remember("m")
    with pytest.raises(ExtractionError):
        mem.consolidate(extract_facts=BAD_EXTRACTORS[name], older_than_seconds=0, delete_sources=True)
    assert (texts(mem.list().items), mem.facts()) == (["m"], [])


@pytest.mark.parametrize("answer", [None, "", "  ", 7, b"bytes", "\ud83d", "x" * 70_000])
def test_a_bad_summary_is_an_error_and_changes_nothing(mem: Memory, answer: Any) -> None:
    mem.remember("m")
    with pytest.raises(ExtractionError):
        mem.consolidate(summarize=lambda memories: answer, older_than_seconds=0, delete_sources=True)
    assert texts(mem.list().items) == ["m"]


@pytest.mark.parametrize("subject", ["", 7, "a\x00", "x" * 300])
def test_facts_of_no_subject_are_refused(mem: Memory, subject: Any) -> None:
    with pytest.raises(MnemologError):
        mem.facts(subject)


def test_nothing_known_is_no_facts(mem: Memory) -> None:
    assert (mem.facts(), mem.facts("diet"), mem.stats()["consolidation"]) == ([], [], None)
    failing = BAD_EXTRACTORS["raises"]
    assert mem.consolidate(extract_facts=failing, older_than_seconds=0).considered == 0
