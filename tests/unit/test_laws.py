"""The laws of materialization, on views in memory: whatever is delivered, and whatever breaks, one log gives
one view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from support.histories import START, Bad, Step, histories, to_records, to_stored
from support.properties import examples
from support.shards import CrashError, Shard, one_by_one

from mnemolog.schemas import events as ev
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.topics import MEMORIES

NOON = START.replace(hour=12)


def batches(records: Sequence[StoredRecord], data: st.DataObject) -> Iterator[Sequence[StoredRecord]]:
    at = 0
    while at < len(records):
        size = data.draw(st.integers(1, len(records) - at), label="batch")
        yield records[at : at + size]
        at += size


@examples(60)
@given(steps=histories(), data=st.data())
def test_any_batching_gives_the_same_view(steps: list[Step], data: st.DataObject) -> None:
    shard = Shard()
    writer = shard.writer()
    for topic, records in to_stored(steps).items():
        for batch in batches(records, data):
            writer.apply(topic, batch)
    expected = one_by_one(steps)
    assert shard.snapshot() == expected.snapshot()
    assert sorted(shard.deadletters) == sorted(expected.deadletters)


@examples(40)
@given(steps=histories(), data=st.data())
def test_the_topics_may_be_applied_in_any_interleaving(steps: list[Step], data: st.DataObject) -> None:
    shard = Shard()
    writer = shard.writer()
    waiting = {topic: batches(records, data) for topic, records in to_stored(steps).items()}
    while waiting:
        topic = data.draw(st.sampled_from(sorted(waiting)), label="topic")
        batch = next(waiting[topic], None)
        if batch is None:
            del waiting[topic]
        else:
            writer.apply(topic, batch)
    assert shard.snapshot() == one_by_one(steps).snapshot()


@examples(60)
@given(steps=histories(), data=st.data())
def test_redelivery_from_any_earlier_offset_changes_nothing(steps: list[Step], data: st.DataObject) -> None:
    """E1, F16: also to another writer, with one foot in what is applied and one in what is not."""
    shard = Shard()
    for topic, records in to_stored(steps).items():
        while (done := shard.applied(topic)) < len(records):
            start = data.draw(st.integers(0, done), label="from")
            end = data.draw(st.integers(done + 1, len(records)), label="to")
            shard.writer().apply(topic, records[start:end])
    before = shard.snapshot()
    for topic, records in to_stored(steps).items():
        if records:
            start = data.draw(st.integers(0, len(records) - 1), label="again from")
            shard.writer().apply(topic, records[start:])
    assert shard.snapshot() == before == one_by_one(steps).snapshot()


@examples(25)
@given(steps=histories(20), data=st.data())
def test_a_crash_at_any_point_gives_the_same_view(steps: list[Step], data: st.DataObject) -> None:
    """F16: between fold, dead letter and commit, before and after each, as often as it likes."""
    shard = Shard()
    crashes = 0
    for topic, records in to_stored(steps).items():
        while (done := shard.applied(topic)) < len(records):
            shard.steps_left = data.draw(st.integers(0, 5), label="steps until the crash")
            try:
                writer = shard.writer()
                for batch in batches(records[done:], data):
                    writer.apply(topic, batch)
            except CrashError:
                crashes += 1
    event(f"{min(crashes, 5)} crashes")
    expected = one_by_one(steps)
    assert shard.snapshot() == expected.snapshot()
    assert set(shard.deadletters) == set(expected.deadletters)


@examples(20)
@given(steps=histories(20), data=st.data())
def test_two_writers_that_both_believe_they_own_the_shard_do_no_harm(
    steps: list[Step], data: st.DataObject
) -> None:
    shard = Shard()
    writers = [shard.writer(), shard.writer()]
    for topic, records in to_stored(steps).items():
        at = [0, 0]
        while min(at) < len(records):
            who = data.draw(st.integers(0, 1), label="writer")
            size = data.draw(st.integers(1, len(records)), label="size")
            start = min(at[who], shard.applied(topic))
            if batch := records[start : start + size]:
                writers[who].apply(topic, batch)
            at[who] += size
    assert shard.snapshot() == one_by_one(steps).snapshot()


@examples(150)
@given(steps=histories(20), data=st.data())
def test_a_writer_that_works_in_the_midst_of_another_ones_batch_does_no_harm(
    steps: list[Step], data: st.DataObject
) -> None:
    """F19: between any two looks at a table, or before a commit. It may die there with its work half done."""
    shard = Shard()
    for topic, records in to_stored(steps).items():
        while (done := shard.applied(topic)) < len(records):
            shard.meanwhile = [
                (data.draw(st.integers(0, 8), label="touches"), partial(_work, shard, topic, records, data))
                for _ in range(data.draw(st.integers(0, 2), label="others"))
            ]
            end = data.draw(st.integers(done + 1, len(records)), label="to")
            shard.writer().apply(topic, records[done:end])
            shard.meanwhile = []
    expected = one_by_one(steps)
    assert shard.snapshot() == expected.snapshot()
    assert set(shard.deadletters) == set(expected.deadletters)


def _work(shard: Shard, topic: str, records: Sequence[StoredRecord], data: st.DataObject) -> None:
    done = shard.applied(topic)
    start = max(0, done - data.draw(st.integers(0, 2), label="from before what is applied"))
    end = min(len(records), done + data.draw(st.integers(0, len(records)), label="to after it"))
    steps_left = data.draw(st.integers(0, 4), label="steps until it dies")
    shard.crashing_after(steps_left, partial(shard.writer().apply, topic, records[start:end]))


def test_no_moment_for_another_writer_to_come_and_die_is_a_bad_one() -> None:
    """F19: what it had written of the memories when it died is in the edges too, whoever writes them."""
    fields = {"event_id": "e", "namespace": ("a",), "occurred_at": NOON, "key": "k", "sources": ("s",)}
    steps: list[Step] = [
        ev.MemoryRemembered(
            **fields | {"event_id": f"e{at}", "memory_id": f"m{at % 2}", "text": f"text {at}"}
        )
        for at in range(4)
    ]
    records, expected = to_stored(steps)[MEMORIES], one_by_one(steps).snapshot()
    for touches, steps_left, mine, others in product(range(12), range(6), range(1, 5), range(1, 5)):
        shard = Shard()
        work = partial(shard.writer().apply, MEMORIES, records[:others])
        shard.meanwhile = [(touches, partial(shard.crashing_after, steps_left, work))]
        shard.writer().apply(MEMORIES, records[:mine])
        shard.meanwhile = []
        shard.writer().apply(MEMORIES, records)
        assert shard.snapshot() == expected, (touches, steps_left, mine, others)


def test_a_gap_is_an_error_and_changes_nothing() -> None:
    """K8: records that were never applied must not be skipped in silence."""
    steps: list[Step] = [
        ev.MemoryForgotten(event_id=f"e{at}", namespace=("a",), occurred_at="2026-01-01", memory_ids=("m",))
        for at in range(4)
    ]
    records = to_stored(steps)[MEMORIES]
    shard = Shard()
    shard.writer().apply(MEMORIES, records[:1])
    with pytest.raises(ViewError, match="has applied up to 1"):
        shard.writer().apply(MEMORIES, records[2:])
    assert shard.applied(MEMORIES) == 1


def filler(step: Step) -> Bad:
    """Stands where a duplicate of `step` would stand, so that all offsets and stamps are the same."""
    return Bad(b"no event", topics=tuple(record.topic for record in to_records([step])))


@examples(100)
@given(steps=histories(20, bad=False), data=st.data())
def test_an_event_that_comes_again_later_changes_nothing(steps: list[Step], data: st.DataObject) -> None:
    """E1, M25: whatever it changed when it came first, and whatever has come since."""
    doubled, plain = list(steps), list(steps)
    for step in steps:
        if data.draw(st.booleans(), label="repeat"):
            place = data.draw(st.integers(plain.index(step) + 1, len(plain)), label="place")
            doubled.insert(place, step)
            plain.insert(place, filler(step))
    assert one_by_one(doubled).snapshot() == one_by_one(plain).snapshot()


def _event(kind: type[ev.EventT], number: int, **fields: object) -> ev.EventT:
    return kind(event_id=f"e{number}", namespace=("acme",), occurred_at=NOON, **fields)


REMEMBERED = _event(ev.MemoryRemembered, 0, memory_id="a", text="tea")


@pytest.mark.parametrize(
    "early",
    [
        _event(ev.MemoryUpdated, 1, memory_id="a", changes={"text": "mate"}),
        _event(ev.MemoryForgotten, 1, memory_ids=("a",)),
        _event(ev.MemoryForgotten, 1, memory_ids=("a", "b")),
    ],
)
def test_an_event_that_came_too_early_changes_nothing_when_it_comes_again(early: Step) -> None:
    other = _event(ev.MemoryRemembered, 2, memory_id="b", text="bread")
    doubled = one_by_one([other, early, REMEMBERED, early])
    assert doubled.snapshot() == one_by_one([other, early, REMEMBERED, filler(early)]).snapshot()


def test_feedback_that_was_overruled_changes_nothing_when_it_comes_again() -> None:
    used = _event(ev.FeedbackGiven, 1, recall_id="r", used=("a",))
    ignored = _event(ev.FeedbackGiven, 2, recall_id="r", ignored=("a",))
    doubled = one_by_one([used, ignored, used])
    assert doubled.snapshot() == one_by_one([used, ignored, filler(used)]).snapshot()
