"""Continuous consolidation over the embedded log: nothing lost, nothing twice, and failures that are told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.workers import wait_until

import mnemolog
from mnemolog import Extraction, Fact, Memory, MemoryItem
from mnemolog.consolidating import consolidating, named_extractor
from mnemolog.extractors import RuleExtractor
from mnemolog.opening import LOG_FILE, VIEWS_FOLDER
from mnemolog.processors.deadletter_queue import DeadLetterQueue
from mnemolog.processors.reactors.consolidation import ConsolidationReactor, Pace
from mnemolog.processors.replay import replay
from mnemolog.producers.clock import utc_now
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.ids import new_id
from mnemolog.query.models import to_item
from mnemolog.schemas.errors import ExtractorUnavailableError, InvalidInputError
from mnemolog.schemas.extraction import Extractor
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Views

EAGER = Pace(every=1, seconds=0, batch=4, attempts=2)


class Seen:
    """An extractor that remembers what it was given, and finds what `answer` says in each memory."""

    name = "test"

    def __init__(self, answer: Callable[[MemoryItem], list[Fact]] | None = None) -> None:
        self.texts: list[str] = []
        self.calls = 0
        self._answer = answer or (lambda item: [Fact(item.text, item.text, sources=(item.id,))])

    def __call__(self, memories: list[MemoryItem]) -> list[Fact]:
        self.calls += 1
        self.texts += [item.text for item in memories]
        return [fact for item in memories for fact in self._answer(item)]


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Memory]:
    with mnemolog.open(tmp_path, embedder="none") as opened:
        yield opened


@pytest.fixture
def log(tmp_path: Path, mem: Memory) -> Iterator[EmbeddedLog]:
    opened = EmbeddedLog(tmp_path / LOG_FILE)
    yield opened
    opened.close()


@pytest.fixture
def reacting(tmp_path: Path, log: EmbeddedLog) -> Callable[..., ConsolidationReactor]:
    """Makes reactors as a worker does; a new one knows nothing but the views."""

    def make(extractor: Extractor, pace: Pace = EAGER, clock: Any = utc_now) -> ConsolidationReactor:
        views = Views(tmp_path / VIEWS_FOLDER)
        return ConsolidationReactor(views, views.current(), 0, log, clock, new_id, extractor, to_item, pace)

    return make


def statements(mem: Memory) -> list[str]:
    mem.list(limit=0)
    return [item.statement for item in mem.facts()]


def settled(mem: Memory, log: EmbeddedLog) -> Memory:
    """The handle once the views show all that is in the log."""
    wait_until(lambda: mem.lag()[MEMORIES] == 0, "the views to follow")
    return mem


def test_new_memories_become_facts_in_batches(mem: Memory, reacting: Any, log: EmbeddedLog) -> None:
    extractor = Seen()
    reactor = reacting(extractor)
    assert reactor.look() == 0
    mem.remember_many([f"m{number}" for number in range(10)])
    settled(mem, log)
    assert (reactor.look(), extractor.calls, sorted(extractor.texts)) == (10, 3, [f"m{n}" for n in range(10)])
    assert statements(mem) == [f"m{number}" for number in range(10)]
    assert reactor.look() == 0
    told = mem.stats()["consolidation"]
    assert (told["runs"], told["read"], told["facts"], told["failed"], told["lag"]) == (3, 10, 10, 0, 0)
    assert datetime.now(UTC) - told["last_run"] < timedelta(minutes=1)
    assert told["extractor"] == "test"


def test_a_restart_goes_on_where_the_views_stand(mem: Memory, reacting: Any, log: EmbeddedLog) -> None:
    mem.remember_many(["one", "two"])
    settled(mem, log)
    first = Seen()
    reacting(first).look()
    mem.remember("three")
    settled(mem, log)
    second = Seen()
    assert (reacting(second).look(), second.texts) == (1, ["three"])
    assert mem.stats()["consolidation"]["runs"] == 2


def test_facts_touched_and_forgotten_memories_are_not_read(
    mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    mem.remember("kept", dedupe=True)
    gone = mem.remember("gone")
    old = mem.remember("old", key="k")
    mem.remember("new", key="k")
    mem.forget(gone.id)
    settled(mem, log)
    extractor = Seen()
    reactor = reacting(extractor)
    assert (reactor.look(), sorted(extractor.texts)) == (2, ["kept", "new"])
    mem.remember("kept", dedupe=True)
    settled(mem, log)
    assert (reactor.look(), reacting(Seen()).look()) == (0, 0)
    assert old.id


def test_a_memory_that_says_something_else_is_read_again(
    mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    receipt = mem.remember("before")
    settled(mem, log)
    reactor = reacting(Seen())
    reactor.look()
    mem.update(receipt.id, text="after")
    settled(mem, log)
    assert reactor.look() == 1
    assert statements(mem) == ["after"]


def test_two_owners_of_one_shard_double_nothing(mem: Memory, reacting: Any, log: EmbeddedLog) -> None:
    """As after a rebalance: the one before still asks its model, which words things its own way."""
    mem.remember_many([f"m{number}" for number in range(8)])
    settled(mem, log)
    turn = threading.Barrier(2, timeout=30)

    def wording(name: str) -> Extractor:
        def extractor(memories: list[MemoryItem]) -> list[Fact]:
            with suppress(threading.BrokenBarrierError):
                turn.wait(5)
            return [
                Fact(f"{item.text} by {name}", f"{item.text} by {name}", sources=(item.id,))
                for item in memories
            ]

        return extractor

    owners = [reacting(wording(name)) for name in "AB"]
    threads = [threading.Thread(target=owner.look) for owner in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    settled(mem, log)
    assert sorted(item.rsplit(" by ", 1)[0] for item in statements(mem)) == [
        f"m{number}" for number in range(8)
    ]


def test_a_crash_before_the_step_is_durable_loses_nothing(
    mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    mem.remember_many(["one", "two"])
    settled(mem, log)

    def dies(memories: list[MemoryItem]) -> list[Fact]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reacting(dies).look()
    assert reacting(Seen()).look() == 2
    assert statements(mem) == ["one", "two"]


def test_one_bad_memory_costs_no_other_and_can_be_tried_again(
    mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    mem.remember_many(["one", "bad", "two"])
    settled(mem, log)

    def picky(item: MemoryItem) -> list[Fact]:
        if item.text == "bad":
            raise ValueError("can't read this")
        return [Fact(item.text, item.text, sources=(item.id,))]

    reactor = reacting(Seen(picky))
    assert reactor.look() == 3
    assert statements(mem) == ["one", "two"]
    assert (mem.list(kinds=["note"]).total, mem.stats()["consolidation"]["failed"]) == (3, 1)
    queue = DeadLetterQueue(log, utc_now)
    (letter,) = queue.letters()
    assert "can't read this" in letter.reason
    assert reactor.look() == 0
    mended = Seen()
    again = reacting(mended)
    assert again.look() == 0
    queue.retry(letter)
    settled(mem, log)
    assert (again.look(), mended.texts, queue.letters()) == (1, ["bad"], [])
    assert statements(mem) == ["bad", "one", "two"]


@pytest.mark.parametrize(
    "answer",
    [
        lambda memories: None,
        lambda memories: "[{",
        lambda memories: [Fact(f"s{n}", "x" * 1_000) for n in range(900)],
        lambda memories: [Fact(f"s{n}", "x") for n in range(10_000)],
        lambda memories: [Fact("", "x")],
    ],
)
def test_bad_answers_are_dead_letters_and_the_memories_stay(
    mem: Memory, reacting: Any, log: EmbeddedLog, answer: Any
) -> None:
    mem.remember("m")
    settled(mem, log)
    assert reacting(answer).look() == 1
    settled(mem, log)
    assert len(DeadLetterQueue(log, utc_now).letters()) == 1
    assert (statements(mem), mem.list().total) == ([], 1)


def test_an_endpoint_that_is_away_holds_all_up_and_loses_nothing(
    mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    mem.remember_many(["one", "two"])
    settled(mem, log)

    def away(memories: list[MemoryItem]) -> list[Fact]:
        raise ExtractorUnavailableError("no answer")

    with pytest.raises(ExtractorUnavailableError):
        reacting(away).look()
    assert DeadLetterQueue(log, utc_now).letters() == []
    assert reacting(Seen()).look() == 2


def test_a_namespace_waits_for_enough_memories_or_long_enough(
    mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    extractor = Seen()
    now = [datetime.now(UTC)]
    reactor = reacting(extractor, Pace(every=3, seconds=60), lambda: now[0])
    mem.remember_many(["one", "two"])
    mem.at("other").remember_many(["a", "b", "c"])
    settled(mem, log)
    assert (reactor.look(), sorted(extractor.texts)) == (3, ["a", "b", "c"])
    now[0] += timedelta(seconds=61)
    assert reactor.look() == 2


def test_namespaces_are_asked_about_at_a_time_and_never_mixed(
    mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    for name in ("a", "b", "c"):
        mem.at(name).remember_many([f"{name}{number}" for number in range(3)])
    settled(mem, log)
    together, most, lock = [0], [0], threading.Lock()
    met = threading.Barrier(2)

    def slow(memories: list[MemoryItem]) -> list[Fact]:
        assert len({item.namespace for item in memories}) == 1
        with lock:
            together[0] += 1
            most[0] = max(most[0], together[0])
        with suppress(threading.BrokenBarrierError):
            met.wait(1)
        with lock:
            together[0] -= 1
        return [Fact(item.text, item.text, sources=(item.id,)) for item in memories]

    reacting(slow, Pace(every=1, batch=10, concurrency=2)).look()
    settled(mem, log)
    assert most[0] == 2
    for name in ("a", "b", "c"):
        assert [item.statement for item in mem.at(name).facts()] == [f"{name}{number}" for number in range(3)]


def test_a_memory_forgotten_while_the_extractor_runs_leaves_no_orphan(
    mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    gone, _ = mem.remember_many(["gone", "kept"])
    settled(mem, log)

    def extractor(memories: list[MemoryItem]) -> list[Fact]:
        mem.forget(gone.id)
        mem.remember("meanwhile")
        return [Fact(item.text, item.text, sources=(item.id,)) for item in memories]

    reactor = reacting(extractor, Pace(every=2))
    reactor.look()
    settled(mem, log)
    assert statements(mem) == ["kept"]
    mem.remember("later")
    settled(mem, log)
    assert reactor.look() == 2


def test_a_replay_asks_no_extractor_and_gives_the_same_facts(
    tmp_path: Path, mem: Memory, reacting: Any, log: EmbeddedLog
) -> None:
    mem.remember_many(["one", "two"])
    settled(mem, log)
    extractor = Seen()
    reacting(extractor).look()
    before, calls = mem.facts(), extractor.calls
    replay(log, Views(tmp_path / VIEWS_FOLDER), None)
    assert (mem.facts(), extractor.calls) == (before, calls)
    assert reacting(extractor).look() == 0
    assert extractor.calls == calls


def test_tokens_and_the_model_are_in_the_log(mem: Memory, reacting: Any, log: EmbeddedLog) -> None:
    mem.remember("m")
    settled(mem, log)
    reacting(lambda memories: Extraction([Fact("s", "x")], "model-1", "v7", 11, 5)).look()
    told = mem.stats()["consolidation"]
    assert (told["input_tokens"], told["output_tokens"]) == (11, 5)
    values = [record.value for record in log.read(MEMORIES, 0, 0, 100)]
    assert any(b'"model":"model-1","version":"v7"' in (value or b"") for value in values)


def test_extractors_have_names() -> None:
    assert isinstance(named_extractor("rules"), RuleExtractor)
    assert named_extractor("json:loads") is not None
    for name in ("", "magic", "llm:", "no.such.module:f", "json:nothing", "json:__name__"):
        with pytest.raises(InvalidInputError) as caught:
            named_extractor(name)
        assert caught.value.field == "extractor"
    for options in ({"every": 0}, {"seconds": -1}, {"batch": 5_000}):
        with pytest.raises(InvalidInputError):
            consolidating("rules", **options)
