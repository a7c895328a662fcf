"""What was known at a moment, and what became of it since."""

from __future__ import annotations

import gc
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.stores import NOON, MovingClock, OpenMemory, texts

import mnemolog
from mnemolog import Fact, Memory
from mnemolog.schemas.errors import ClosedError, InvalidInputError
from mnemolog.schemas.positions import Position
from mnemolog.schemas.topics import MEMORIES


def now() -> datetime:
    """A moment between what came before and what comes after it."""
    time.sleep(0.005)
    moment = datetime.now(UTC)
    time.sleep(0.005)
    return moment


def test_a_changed_memory_is_shown_as_it_was(mem: Memory) -> None:
    first = mem.remember("Alice lives in Paris", tags=["home"])
    before = now()
    last = mem.update(first.id, text="Alice lives in Rome", tags=[])
    for moment in (before, before.isoformat(), first.position, str(first.position)):
        then = mem.get(first.id, as_of=moment)
        assert then is not None
        assert (then.text, then.tags) == ("Alice lives in Paris", ("home",))
        assert texts(mem.recall("where does Alice live?", as_of=moment)) == ["Alice lives in Paris"]
        assert texts(mem.list(as_of=moment).items) == ["Alice lives in Paris"]
    assert texts(mem.recall("where does Alice live?", as_of=last.position)) == ["Alice lives in Rome"]
    assert texts(mem.recall("where does Alice live?")) == ["Alice lives in Rome"]


def test_what_came_later_is_not_there_and_what_was_forgotten_is(mem: Memory) -> None:
    one = mem.remember("the red bike is in the shed")
    moment = now()
    mem.remember("the blue bike is in the shed")
    mem.forget(one.id, reason="sold")
    assert texts(mem.recall("bike", as_of=moment)) == ["the red bike is in the shed"]
    assert texts(mem.recall("bike")) == ["the blue bike is in the shed"]
    assert mem.list(as_of=moment).total == 1
    assert mem.get(one.id) is None
    assert mem.get(one.id, as_of=moment) is not None


def test_a_superseded_memory_was_active_once(mem: Memory) -> None:
    old = mem.remember("Alice eats no meat", key="diet")
    mem.remember("Alice eats fish", key="diet")
    assert texts(mem.recall("what does Alice eat?", as_of=old.position)) == ["Alice eats no meat"]
    assert texts(mem.recall("what does Alice eat?")) == ["Alice eats fish"]


def test_an_answer_says_what_it_rests_on(mem: Memory) -> None:
    first = mem.remember("one")
    last = mem.remember("two")
    past = mem.recall("one", as_of=first.position).as_of
    assert past is not None
    assert (past.position, past.source) == (first.position, "replay")
    page = mem.list(as_of=first.position)
    assert page.as_of == past
    present = mem.recall("one", as_of=last.position).as_of
    assert present is not None
    assert present.position is not None
    assert present.position >= last.position
    assert mem.recall("one").as_of is None
    later = mem.recall("one", as_of=datetime.now(UTC) + timedelta(days=1)).as_of
    assert later is not None
    assert later.source == "live"


def test_a_position_beyond_the_end_is_now(mem: Memory) -> None:
    topic, partition, offset = mem.remember("one").position
    assert texts(mem.list(as_of=Position(topic, partition, offset + 10_000)).items) == ["one"]


def test_use_and_learning_are_those_of_then(mem: Memory) -> None:
    one = mem.remember("the red bike")
    moment = now()
    hits = mem.recall("which bike?")
    mem.feedback(hits.recall_id, used=[one.id])
    after = now()
    mem.mark_used(one.id)
    counts = [mem.get(one.id, as_of=at) for at in (moment, after)]
    assert [item and item.use_count for item in counts] == [0, 1]
    present = mem.get(one.id)
    assert present is not None
    assert present.use_count == 2


def test_the_past_of_one_namespace_shows_nothing_of_another(open_memory: OpenMemory) -> None:
    alice, bob = open_memory("alice"), open_memory("bob")
    alice.remember("the red bike is Alice's")
    bob.remember("the blue bike is Bob's")
    moment = now()
    alice.remember("the last bike")
    bob.remember("no bike")
    assert texts(alice.recall("bike", as_of=moment)) == ["the red bike is Alice's"]
    assert texts(bob.recall("bike", as_of=moment)) == ["the blue bike is Bob's"]


def test_grouping_filters_and_paging_work_in_the_past(mem: Memory) -> None:
    for number in range(5):
        mem.remember(f"bike number {number}", kind="fact" if number % 2 else "note", metadata={"n": number})
    moment = now()
    mem.forget_scope({"kind": "fact"})
    assert set(mem.recall("bike", group_by_kind=True, as_of=moment)) == {"note", "fact"}
    assert mem.list(as_of=moment, filters={"metadata.n": {"gte": 3}}).total == 2
    assert mem.list(as_of=moment, limit=2, offset=4).total == 5


def test_facts_are_those_known_then(mem: Memory) -> None:
    said = mem.remember("Alice moved to Paris")
    mem.consolidate(
        kinds=["note"],
        extract_facts=lambda found: [Fact("Alice", "lives in Paris", date="2025-01-01", sources=(said.id,))],
    )
    moment = now()
    later = mem.remember("Alice moved to Rome")
    mem.consolidate(
        kinds=["note"],
        extract_facts=lambda found: [Fact("Alice", "lives in Rome", date="2026-01-01", sources=(later.id,))],
    )
    assert [one.statement for one in mem.facts("Alice", known_at=moment)] == ["lives in Paris"]
    assert [one.statement for one in mem.facts("Alice")] == ["lives in Rome", "lives in Paris"]


def test_diff_lists_what_was_learned_changed_and_forgotten(mem: Memory) -> None:
    kept = mem.remember("kept")
    changed = mem.remember("the old text")
    gone = mem.remember("gone")
    start = now()
    new = mem.remember("new")
    mem.update(changed.id, text="the new text", importance=0.9)
    mem.forget(gone.id)
    mem.forget(mem.remember("came and went").id)
    mem.mark_used(kept.id)
    end = now()
    mem.remember("later still")
    found = mem.diff(start, end)
    assert [one.id for one in found.learned] == [new.id]
    assert [(one.before.text, one.after.text, one.fields) for one in found.changed] == [
        ("the old text", "the new text", ("text", "importance"))
    ]
    assert texts(found.forgotten) == ["gone"]
    assert not found.expired
    assert texts(mem.diff(end).learned) == ["later still"]
    assert not mem.diff(end, end)
    with pytest.raises(InvalidInputError, match="before a") as caught:
        mem.diff(end, start)
    assert caught.value.field == "b"


@pytest.mark.parametrize("moment", ["yesterday", "a/b/c", "mnemolog.memories/0/x", 5, "2026-13-01"])
def test_what_is_no_moment_is_refused(mem: Memory, moment: object) -> None:
    mem.remember("one")
    with pytest.raises(InvalidInputError):
        mem.recall("one", as_of=moment)  # type: ignore[call-overload]


def test_before_the_log_nothing_was_known(mem: Memory) -> None:
    mem.remember("one")
    for year in (1, 1960, 2001):
        long_ago = datetime(year, 1, 1, tzinfo=UTC)
        assert not mem.recall("one", as_of=long_ago)
        assert mem.list(as_of=long_ago).total == 0
        assert texts(mem.diff(long_ago).learned) == ["one"]


def test_a_moment_that_the_log_no_longer_has_is_refused(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder=None) as mem:
        mem.remember("one")
        mem.remember("two")
        with closing(sqlite3.connect(tmp_path / "log.sqlite")) as log, log:
            log.execute('DELETE FROM records WHERE topic = ? AND "offset" = 0', (MEMORIES,))
        with pytest.raises(InvalidInputError, match="before what the log still has") as caught:
            mem.list(as_of=datetime(2001, 1, 1, tzinfo=UTC))
    assert caught.value.field == "as_of"


@pytest.mark.parametrize("token", ["mnemolog.config/0/0", "mnemolog.memories/99/0"])
def test_a_position_that_is_not_of_the_namespace_is_refused(mem: Memory, token: str) -> None:
    mem.remember("one")
    with pytest.raises(InvalidInputError):
        mem.get("x", as_of=token)


def test_what_has_expired_since_is_there_again(tmp_path: Path) -> None:
    clock = MovingClock(NOON)
    with mnemolog.open(tmp_path, embedder="hashing", clock=clock) as mem:
        mem.remember("the code is 4711", ttl_seconds=60)
        clock.advance(seconds=30)
        moment = clock.now
        clock.advance(hours=1)
        end = mem.remember("another")
        assert texts(mem.list(as_of=moment).items) == ["the code is 4711"]
        assert texts(mem.list(as_of=end.position).items) == ["another"]
        found = mem.diff(moment)
        assert (texts(found.learned), texts(found.expired)) == (["another"], ["the code is 4711"])
        assert not found.forgotten


def test_ages_count_from_the_moment(tmp_path: Path) -> None:
    clock = MovingClock(NOON)
    with mnemolog.open(tmp_path, embedder="hashing", clock=clock) as mem:
        at = mem.remember("the red bike").position
        mem.remember("something else")
        clock.advance(days=365)
        weights = {"recency": 1.0}
        (then,) = mem.recall("bike", k=1, weights=weights, as_of=at)
        (later,) = mem.recall("bike", k=1, weights=weights)
        assert then.factors["recency"].value == pytest.approx(1.0)
        assert later.factors["recency"].value < 0.9


def test_unchanged_texts_are_not_embedded_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def embed(some: list[str]) -> list[list[float]]:
        asked.extend(some)
        return [[1.0, float(len(text))] for text in some]

    with mnemolog.open(tmp_path, embedder=embed) as mem:
        mem.remember("the red bike")
        changing = mem.remember("the old text")
        moment = now()
        mem.update(changing.id, text="the new text")
        mem.remember("something else")
        mem.list()
        asked.clear()
        assert mem.list(as_of=moment).total == 2
        assert "the red bike" not in asked


def test_a_moment_is_built_once_and_its_folder_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = tmp_path / "built"
    built.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(built))
    with mnemolog.open(tmp_path / "memory", embedder="hashing") as mem:
        positions = [mem.remember(f"number {number}").position for number in range(7)]
        for _ in range(2):
            assert mem.list(as_of=positions[0]).total == 1
            assert len(list(built.iterdir())) == 1
        assert [mem.list(as_of=at).total for at in positions[:6]] == [1, 2, 3, 4, 5, 6]
        gc.collect()  # a moment's folder goes with the last reference to it
        assert len(list(built.iterdir())) == 4
    assert not list(built.iterdir())
    with pytest.raises(ClosedError):
        mem.list(as_of=positions[0])
