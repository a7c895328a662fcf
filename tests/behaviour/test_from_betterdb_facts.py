"""Consolidation as in betterdb-agent-memory, in our names: each test shows rows of the page on it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from support.mapping import rows
from support.stores import NOON, MovingClock, texts

from mnemolog import Fact, Memory, MemoryItem
from mnemolog.processors.reconcile import Add, Delete, Noop, UnmatchedTombstone, Update, reconcile
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.facts import Assertion, Said, assertion, subject_key

shows = partial(rows, "betterdb-agent-memory")


def item(mem: Memory, memory_id: str) -> MemoryItem:
    found = mem.get(memory_id)
    assert found is not None
    return found


@shows(
    "consolidate(mode)",
    "consolidate(extract_facts)",
    "consolidate(tags)",
    "consolidate(namespace)",
    "consolidate_facts",
    "ConsolidationConfig.fact_source",
    "ConsolidationConfig.fact_importance",
    "consolidate(summary_importance)",
    "ConsolidateFactsResult.candidates",
    "ConsolidateFactsResult.created",
    "ConsolidateFactsResult.unmatched_tombstones",
    "Fact",
    "MemoryItem.subject",
    "newest date wins; equal dates: the later one",
    "[date] statement",
    "a rerun writes nothing",
)
def test_facts(place: Memory) -> None:
    place.remember("notes", tags=["n"], thread_id="t", agent_id="a")
    place.remember("other notes")
    seen: list[str] = []

    def extract(memories: list[MemoryItem]) -> list[Fact]:
        seen.extend(texts(memories))
        return [
            Fact("Home", "lives in Berlin", "2026-03-01"),
            Fact("home ", "lived in Paris", "2020-01-01"),
            Fact("pet", "", tombstone=True),
        ]

    made = place.consolidate(mode="facts", extract_facts=extract, tags=["n"], thread_id="t", agent_id="a")
    assert (seen, made.considered, len(made.created), made.unmatched) == (["notes"], 1, 2, ["pet"])
    berlin, paris = place.facts("HOME")
    assert (berlin.statement, berlin.current, paris.current) == ("lives in Berlin", True, False)
    assert (berlin.subject, berlin.date and berlin.date.year) == ("Home", 2026)
    memory = item(place, berlin.id)
    assert (memory.kind, memory.source, memory.importance) == ("fact", "fact", 0.7)
    again = place.consolidate(mode="facts", extract_facts=extract, tags=["n"], thread_id="t", agent_id="a")
    assert (again.created, again.superseded, again.retracted) == ([], [], [])

    def newer(memories: list[MemoryItem]) -> list[Fact]:
        return [Fact("home", "lives in Rome", "2026-04-01"), Fact("Home", "", "2026-05-01", tombstone=True)]

    changed = place.consolidate(extract_facts=newer, tags=["n"], importance=0.4)
    assert berlin.id in changed.superseded
    assert len(changed.retracted) == 1
    assert not place.at((*place.namespace, "x")).facts()
    with pytest.raises(InvalidInputError):
        place.consolidate(extract_facts=extract, summarize=lambda memories: "x", tags=["n"])


@shows("a fact without a date always wins")
def test_a_fact_without_a_date_counts_from_when_it_was_said(place: Memory) -> None:
    place.remember("old notes", id="old", occurred_at=NOON - timedelta(days=999))

    def extract(memories: list[MemoryItem]) -> list[Fact]:
        return [Fact("home", "Berlin", NOON - timedelta(days=9)), Fact("home", "Paris")]

    place.consolidate(extract_facts=extract, kinds=["note"])
    assert [(fact.statement, fact.current) for fact in place.facts("home")] == [
        ("Berlin", True),
        ("Paris", False),
    ]


@shows(
    "consolidate(summarize)",
    "consolidate(older_than_seconds)",
    "consolidate(delete_sources)",
    "ConsolidateResult",
    "ConsolidateResult.created",
)
def test_summaries(place: Memory, clock: MovingClock) -> None:
    place.remember("old", id="old", importance=0.2, occurred_at=clock() - timedelta(days=9))
    place.remember("dear", id="dear", importance=0.9, occurred_at=clock() - timedelta(days=9))
    place.remember("new", id="new", importance=0.2)
    options: dict[str, Any] = {"older_than_seconds": 60, "max_importance": 0.5}
    made = place.consolidate(summarize=lambda memories: "in sum", delete_sources=True, **options)
    assert (made.considered, made.deleted, len(made.created)) == (1, ["old"], 1)
    summary = item(place, made.created[0])
    assert (summary.text, summary.importance, summary.source) == ("in sum", 0.7, "summary")
    assert place.get("old") is None
    assert {"dear", "new"} <= {one.id for one in place}
    with pytest.raises(InvalidInputError):
        place.consolidate(summarize=lambda memories: "x")


@shows("subject_key", "reconcile")
def test_reconciling_is_pure() -> None:
    def said(statement: str, date: str, *, tombstone: bool = False) -> Assertion:
        return assertion(("n",), Fact("Home", statement, date, tombstone), [Said("m", NOON)])

    berlin, rome, gone = (
        said("Berlin", "2026-01"),
        said("Rome", "2026-02"),
        said("", "2026-03", tombstone=True),
    )
    made = reconcile([], [berlin, rome, rome, gone])
    assert [type(one) for one in made] == [Add, Update, Noop, Delete]
    assert [type(one) for one in reconcile([], [gone])] == [UnmatchedTombstone]
    assert subject_key("  HOME ") == subject_key("home")
