"""The laws of the context view: one log gives one view, also when it is compacted."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.contexts import (
    DAY,
    HOUR,
    ContextShard,
    batches,
    compacted,
    counted,
    delete,
    delete_scope,
    histories,
    live_rows,
    put,
    stored,
    touch,
)
from support.folding import snapshot
from support.properties import examples
from support.shards import CrashError, CrashingTable

from mnemolog.processors.partition_pump import MAX_RUNS, Delivery, PartitionPump, Source, runs
from mnemolog.producers.embedded import COMPACT_EVERY, EmbeddedLog
from mnemolog.schemas.codec import encode
from mnemolog.schemas.events import Event
from mnemolog.schemas.records import Record, StoredRecord
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import CONTEXT, MEMORIES
from mnemolog.storage.memory_table import MemoryTable

Log = list[StoredRecord]


def one_by_one(records: Sequence[StoredRecord]) -> ContextShard:
    shard = ContextShard()
    shard.follow(records, lambda _: 1)
    return shard


@examples(60)
@given(records=histories(), data=st.data())
def test_any_batching_gives_the_same_view(records: Log, data: st.DataObject) -> None:
    shard = ContextShard()
    for batch in batches(records, data):
        shard.writer().apply(CONTEXT, batch)
    assert snapshot(shard.table.scan()) == snapshot(one_by_one(records).table.scan())


@examples(60)
@given(records=histories(), data=st.data())
def test_redelivery_from_any_earlier_offset_changes_nothing(records: Log, data: st.DataObject) -> None:
    shard = ContextShard()
    while (done := shard.table.applied()) < len(records):
        start = data.draw(st.integers(0, done), label="from")
        end = data.draw(st.integers(done + 1, len(records)), label="to")
        shard.writer().apply(CONTEXT, records[start:end])
    shard.writer().apply(CONTEXT, records)
    assert snapshot(shard.table.scan()) == snapshot(one_by_one(records).table.scan())


@examples(40)
@given(records=histories(), data=st.data())
def test_a_crash_at_any_point_gives_the_same_view(records: Log, data: st.DataObject) -> None:
    left = 0

    def step() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise CrashError

    shard = ContextShard(CrashingTable(step))
    while (done := shard.table.applied()) < len(records):
        left = data.draw(st.integers(0, 5), label="steps until the crash")
        try:
            for batch in batches(records[done:], data):
                shard.writer().apply(CONTEXT, batch)
        except CrashError:
            continue
    assert snapshot(shard.table.scan()) == snapshot(one_by_one(records).table.scan())


@examples(100)
@given(records=histories(40), data=st.data())
def test_a_log_that_was_compacted_gives_the_same_live_rows(records: Log, data: st.DataObject) -> None:
    """From its beginning, as a replay reads it, and for a reader that stood anywhere at that time."""
    before = data.draw(st.integers(0, len(records)), label="compacted before")
    read = data.draw(st.integers(0, len(records)), label="read before that")
    rest = compacted(records, before)
    replayed, standing = ContextShard(), ContextShard()
    replayed.follow(rest, lambda left: data.draw(st.integers(1, left), label="batch"))
    standing.follow(records[:read])
    standing.follow(rest)
    expected = one_by_one(records).live()
    assert replayed.live() == expected
    assert standing.live() == expected


@examples(60)
@given(records=histories(40), data=st.data())
def test_a_log_may_be_compacted_again_and_again(records: Log, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=4), label="compacted before"))
    rest: Sequence[StoredRecord] = records
    for place in places:
        rest = compacted(rest, place)
    shard = ContextShard()
    shard.follow(rest)
    assert shard.live() == one_by_one(records).live()


_OLD, _NEW = put("k", 1, expires_at=HOUR), put("k", 2, expires_at=HOUR)
NASTY: dict[str, list[Event]] = {
    "a renewal of an older value comes last": [_OLD, _NEW, touch(_NEW, DAY), touch(_OLD, None)],
    "a value is set again after its renewal": [_OLD, touch(_OLD, DAY), _OLD],
    "a renewal is taken back by a later one": [_OLD, touch(_OLD, DAY), touch(_OLD, None), touch(_OLD, HOUR)],
    "a renewal comes after the deletion": [_OLD, delete("k"), touch(_OLD, DAY), _NEW],
    "a scope is deleted before and after": [_OLD, delete_scope(), _NEW, delete_scope(), put("l", 3)],
    "a scope is deleted between two values": [_OLD, delete_scope("context"), touch(_OLD, DAY), _NEW],
    "counts come between": [counted("s", 1), _OLD, counted("s", 2), delete_scope(), counted("s", 3)],
}


@pytest.mark.parametrize("events", NASTY.values(), ids=NASTY)
def test_wherever_it_is_compacted_and_wherever_a_reader_stands(events: list[Event]) -> None:
    records = [stored(event, offset) for offset, event in enumerate(events)]
    expected = one_by_one(records).live()
    for before, read in product(range(len(records) + 1), repeat=2):
        shard = ContextShard()
        shard.follow(records[:read])
        shard.follow(compacted(records, before))
        assert shard.live() == expected, (before, read)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedLog]:
    """A log of two hundred writes of forty keys, that has been compacted."""
    keys = [f"k{number % 40}" for number in range(200)]
    random.Random(7).shuffle(keys)
    with EmbeddedLog(tmp_path_factory.mktemp("log") / "log.sqlite") as opened:
        for number, key in enumerate(keys):
            opened.append(encode(put(key, number)))
        assert opened.compact() == 160
        yield opened


def test_compaction_keeps_the_last_of_each_key_where_it_was(log: EmbeddedLog) -> None:
    records = log.read(CONTEXT, 0, 0, 1_000)
    assert len({record.key for record in records}) == len(records) == 40
    assert records[-1].position.offset == 199
    assert log.end_offsets(CONTEXT) == {0: 200}
    assert log.compact() == 0
    assert log.append(encode(put("k0", 0)))[0].offset == 200


def test_a_time_is_found_in_a_compacted_log_too(tmp_path: Path) -> None:
    with EmbeddedLog(tmp_path / "log.sqlite") as log:
        for stamp in range(30):
            key = b"acme|a" if stamp % 3 else b"acme|b%d" % stamp
            log.append([Record(CONTEXT, key, b"x", timestamp=stamp)])
        log.compact()
        left = [(record.timestamp, record.position.offset) for record in log.read(CONTEXT, 0, 0, 99)]
        for stamp in range(32):
            expected = next((offset for at, offset in left if at >= stamp), 30)
            found = log.offset_at(CONTEXT, 0, stamp)
            assert [offset for _, offset in left if offset >= found][:1] == [
                offset for _, offset in left if offset >= expected
            ][:1]


def test_only_compacted_topics_lose_anything(tmp_path: Path) -> None:
    with EmbeddedLog(tmp_path / "log.sqlite") as log:
        for _ in range(3):
            log.append([Record(MEMORIES, b"acme", b"x"), Record(CONTEXT, b"acme|k", b"x")])
        assert log.compact() == 2
        assert len(log.read(MEMORIES, 0, 0, 9)) == 3


def test_a_log_compacts_itself_now_and_then(tmp_path: Path) -> None:
    with EmbeddedLog(tmp_path / "log.sqlite") as log:
        for start in range(0, COMPACT_EVERY, 1_000):
            log.append([Record(CONTEXT, b"acme|k", b"%d" % number) for number in range(start, start + 1_000)])
        assert [record.value for record in log.read(CONTEXT, 0, 0, 9)] == [b"%d" % (COMPACT_EVERY - 1)]


class CountingTable(MemoryTable):
    """A table that counts its commits."""

    commits = 0

    def commit(self, rows: Sequence[Row], offset: int) -> None:
        """See `MemoryTable.commit`."""
        self.commits += 1
        super().commit(rows, offset)


class OpenGate:
    """Brings all there is."""

    def hold(self, source: Source) -> None:
        """No need."""

    def release(self, source: Source) -> None:
        """No need."""


def test_a_pump_gets_over_the_gaps_in_few_commits(log: EmbeddedLog) -> None:
    records = log.read(CONTEXT, 0, 0, 1_000)
    assert len(list(runs(records, 0))) > MAX_RUNS
    table = CountingTable()

    async def scenario() -> None:
        done = asyncio.Event()
        writer = ContextShard(table).writer()
        pump = PartitionPump((CONTEXT, 0), 0, writer, log, OpenGate(), 1_000)
        pump.put(Delivery(records, done.set))
        await asyncio.wait_for(done.wait(), 20)
        await pump.close(5)

    asyncio.run(scenario())
    assert table.commits <= 2
    assert live_rows(table.scan()) == one_by_one(records).live()
