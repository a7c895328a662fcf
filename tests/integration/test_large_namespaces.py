"""Namespaces that are too large for the cache: recalled from in the view, as they would be in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.stores import NOON, MovingClock

import mnemolog
from mnemolog import Hits, Memory
from mnemolog.query import candidates
from mnemolog.query.large_namespace import InView
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.sizes import bytes_a_row
from mnemolog.query.survey import Survey
from mnemolog.storage import searches
from mnemolog.storage.sql import literal

COUNT = 2_400
NAMES = ("Ana", "Ben", "Cleo", "Dan", "Eva")
PLACES = ("Lisbon", "Kyoto", "Graz", "Nairobi", "Quito", "Turin", "Galway")
THINGS = ("piano", "tent", "recipe", "mortgage", "camera", "violin", "vaccine", "contract", "boat")
VERBS = ("sold", "lost", "bought", "painted", "planned", "borrowed")
WITHIN = 10**9
"""So many bytes hold any namespace of these tests."""


def remark(number: int) -> str:
    """A text that shares its words with many others, as real ones do."""
    name, place = NAMES[number * 7 % 5], PLACES[number * 11 % 7]
    return f"{name} {VERBS[number * 5 % 6]} the {THINGS[number * 13 % 9]} number {number % 40} in {place}"


def memories(count: int = COUNT) -> list[dict[str, Any]]:
    """A chat in sessions of twelve, every tenth with a tag and a city."""
    return [
        {
            "text": remark(number),
            "id": f"m{number}",
            "author": NAMES[number % 2],
            "thread_id": f"t{number // 12}",
            "occurred_at": NOON - timedelta(hours=9 * (count // 12 - number // 12), minutes=12 - number % 12),
            "metadata": {"city": PLACES[number % 7], "even": number % 2 == 0},
            "tags": ["tenth"] if number % 10 == 0 else [],
        }
        for number in range(count)
    ]


QUESTIONS = [f"Where did {NAMES[at % 5]} leave the {THINGS[at % 9]} of {PLACES[at % 7]}?" for at in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with a chat in one namespace, and as much in another beside it."""
    place = tmp_path_factory.mktemp("large") / "memory"
    with opened(place, WITHIN) as mem:
        mem.remember_many(memories())
        mem.at("other").remember_many(memories(200))
    return place


@contextmanager
def opened(folder: Path, cache_bytes: int, **options: Any) -> Iterator[Memory]:
    clock = MovingClock(NOON)
    with mnemolog.open(
        folder, "chat", embedder="hashing", cache_bytes=cache_bytes, clock=clock, track="off", **options
    ) as mem:
        yield mem


def held_as(mem: Memory) -> type:
    """What a recall reads: what is in memory, or the view."""
    queries = mem._queries
    with queries._reader.recallable(queries._namespace) as held:
        return type(held)


def ids(hits: Hits) -> list[str]:
    return [hit.memory.id for hit in hits]


def both(folder: Path, asked: Sequence[str], **options: Any) -> list[tuple[Hits, Hits]]:
    """The hits in memory and those in the view, by question."""
    with opened(folder, WITHIN) as mem:
        assert held_as(mem) is NamespaceCache
        in_memory = [mem.recall(question, k=10, **options) for question in asked]
    with opened(folder, 0) as mem:
        assert held_as(mem) is InView
        return list(zip(in_memory, [mem.recall(one, k=10, **options) for one in asked], strict=True))


def agreement(pairs: Sequence[tuple[Hits, Hits]]) -> tuple[float, float]:
    """The share of questions with the same first hit, and of the hits in memory that are in the view too."""
    first = [cached[0].memory.id == viewed[0].memory.id for cached, viewed in pairs]
    shared = [len({*ids(cached)} & {*ids(viewed)}) / len(cached) for cached, viewed in pairs]
    return sum(first) / len(first), sum(shared) / len(shared)


def test_the_hits_are_those_of_a_recall_in_memory(folder: Path) -> None:
    pairs = both(folder, QUESTIONS)
    first, shared = agreement(pairs)
    assert first >= 0.9
    assert shared >= 0.95
    for cached, viewed in pairs:
        known = {hit.memory.id: hit for hit in cached}
        for hit in viewed:
            if hit.memory.id in known:
                assert hit.score == pytest.approx(known[hit.memory.id].score, rel=0.03)
                assert hit.memory == known[hit.memory.id].memory


@pytest.mark.parametrize(
    "options",
    [
        {"filters": {"metadata.city": {"eq": "Graz"}}},
        {"filters": {"metadata.even": {"eq": True}}, "tags": ["tenth"]},
        {"thread_id": "t7"},
        {"filters": {"author": {"eq": "Ana"}}},
        {"filters": {"NOT": {"metadata.city": {"in": ["Graz", "Quito"]}}}},
    ],
    ids=["metadata", "metadata and tags", "thread", "author", "not"],
)
def test_filters_leave_the_same_hits(folder: Path, options: dict[str, Any]) -> None:
    first, shared = agreement(both(folder, QUESTIONS[:6], **options))
    assert first >= 0.8
    assert shared >= 0.8


def test_kinds_and_authors_are_those_of_the_whole_namespace(folder: Path) -> None:
    with opened(folder, 0) as mem:
        assert set(mem._queries._authors()) == {"Ana", "Ben"}
        grouped = mem.recall(QUESTIONS[0], group_by_kind=True, k=3)
        assert {kind: len(hits) for kind, hits in grouped.items()} == {"note": 3}


def test_what_is_new_changed_forgotten_or_expired_shows_at_once(tmp_path: Path) -> None:
    with opened(tmp_path / "memory", 0) as mem:
        mem.remember_many(memories(150))
        mem.remember("The walrus sleeps in the library", id="walrus")
        assert ids(mem.recall("walrus"))[0] == "walrus"
        mem.update("walrus", text="The giraffe sleeps in the library")
        assert mem.recall("walrus giraffe")[0].memory.text == "The giraffe sleeps in the library"
        mem.forget("walrus")
        assert "walrus" not in ids(mem.recall("giraffe library", k=50))
        mem.remember("A heron on the roof", id="heron", ttl_seconds=60)
        assert ids(mem.recall("heron"))[0] == "heron"
        later = NOON + timedelta(seconds=61)
        assert "heron" not in ids(mem.recall("heron", k=50, now=later))
        mem.remember("The code is 1111", id="old", key="code")
        mem.remember("The code is 2222", id="new", key="code")
        found = ids(mem.recall("What is the code?", k=50))
        assert found[0] == "new"
        assert "old" not in found
        assert "old" in ids(mem.recall("What is the code?", k=200, include_superseded=True))
        assert held_as(mem) is InView


def test_another_namespace_is_never_seen(folder: Path) -> None:
    with opened(folder, 0) as mem:
        other = mem.at("other")
        other.remember("The password of the other is swordfish", id="secret")
        assert "secret" in ids(other.recall("swordfish password"))
        assert "secret" not in ids(mem.recall("swordfish password", k=50))
        other.forget("secret")


def test_what_was_used_counts_in_the_view_too(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path / "memory", "chat", embedder="hashing", cache_bytes=0) as mem:
        mem.remember_many(memories(60))
        hits = mem.recall(QUESTIONS[0])
        mem.feedback(hits.recall_id, used=[hits[0].memory.id])
        again = mem.recall(QUESTIONS[0])
        assert next(hit for hit in again if hit.memory.id == hits[0].memory.id).memory.use_count == 1
        assert [hit.trace.features for hit in again if not hit.trace.features] == []


def test_a_namespace_goes_over_as_it_grows_and_comes_back_as_it_shrinks(tmp_path: Path) -> None:
    with opened(tmp_path / "memory", 1_200_000) as mem:
        seen = []
        for start in range(0, 2_000, 250):
            mem.remember_many(memories(2_000)[start : start + 250])
            mem.recall(QUESTIONS[0])
            seen.append(held_as(mem))
        assert seen[0] is NamespaceCache
        assert seen[-1] is InView
        assert seen == sorted(seen, key=seen.index)  # it goes over once
        for start in range(0, 1_900, 100):
            mem.forget([f"m{number}" for number in range(start, start + 100)])
        mem.recall(QUESTIONS[0])
        assert held_as(mem) is NamespaceCache


def test_threads_recall_while_it_is_written_to(tmp_path: Path) -> None:
    with opened(tmp_path / "memory", 0) as mem:
        mem.remember_many(memories(100))
        errors, done = list[BaseException](), threading.Event()

        def ask() -> None:
            while not done.is_set():
                try:
                    assert len(mem.recall(QUESTIONS[0], k=5)) == 5
                except BaseException as error:
                    errors.append(error)
                    return

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for start in range(100, 600, 25):
            mem.remember_many(memories(600)[start : start + 25])
        done.set()
        for thread in threads:
            thread.join()
        assert errors == []


def test_without_an_embedder_words_find(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path / "memory", "chat", embedder=None, cache_bytes=0) as mem:
        mem.remember_many(memories(100))
        mem.remember("The walrus sleeps in the library", id="walrus")
        assert ids(mem.recall("walrus"))[0] == "walrus"


def test_what_a_memory_will_take_is_estimated_to_a_factor_of_two(folder: Path) -> None:
    with opened(folder, WITHIN) as mem:
        reader = mem._queries._reader
        with reader.namespace(mem._queries._namespace) as cache:
            taken = cache.nbytes / len(cache.slot_of)
        table = reader.shard_table("memories", mem._queries._namespace)[1]
        estimated = bytes_a_row(table, f"namespace = {literal('chat')}", cache.vectors.dim)
        assert taken / 2 < estimated < taken * 2


def test_a_survey_counts_terms_to_a_few_more_than_there_are(folder: Path) -> None:
    with opened(folder, 0) as mem, mem._queries._reader.recallable(mem._queries._namespace) as held:
        assert isinstance(held, InView)
        assert held.large.documents == COUNT
        survey = held.large._survey
    assert isinstance(survey, Survey)
    for thing in ("piano", "walrus", "40"):
        exact = sum(thing in remark(number).split() for number in range(COUNT))
        assert exact <= survey.frequency(thing) <= exact + 2


def test_a_recall_begins_anew_where_its_version_was_dropped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[object] = []
    rows = searches.Snapshot.rows

    def once_too_late(snapshot: searches.Snapshot, *given: Any) -> Any:
        if not dropped:
            dropped.append(snapshot)
            snapshot._table.checkout(1)
            raise mnemolog.schemas.errors.ViewError("the version is gone")
        return rows(snapshot, *given)

    with opened(folder, 0) as mem:
        monkeypatch.setattr(searches.Snapshot, "rows", once_too_late)
        assert len(mem.recall(QUESTIONS[0])) == 5
        assert dropped


def test_what_a_recall_takes_does_not_grow_with_the_namespace(tmp_path: Path) -> None:
    taken = []
    with opened(tmp_path / "memory", 0) as mem:
        for start in (0, 1_000):
            mem.remember_many(memories(4_000)[start : 4 * start or 1_000])
            mem.recall("Is all applied?")
            question = mem._queries.question(QUESTIONS[0]).question
            with mem._queries._reader.recallable(mem._queries._namespace) as held:
                assert isinstance(held, InView)
                at_hand = held.large._at_hand(searches.Snapshot(held.memories), question)
                assert 100 < len(at_hand.slot_of) <= 5 * (2 * candidates.EACH + 3)
                assert held.large.documents == (4 * start or 1_000)
            taken.append(at_hand.nbytes)
        assert len(mem._queries._reader._read) == 0
    assert taken[1] < 1.25 * taken[0]
