"""A pump applies every record once and in order, whatever a transport brings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.folding import snapshot

from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.processors.materialize import ShardWriter
from mnemolog.processors.partition_pump import HOLD_ABOVE, Delivery, PartitionPump, Source, runs
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.memory_table import MemoryTable

SOURCE = (MEMORIES, 0)
COUNT = 40


class FailingTable(MemoryTable):
    """A table that can't be written for a while, and that counts commits."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.failures = failures
        self.commits = 0

    def commit(self, rows: Sequence[Row], offset: int) -> None:
        """See `MemoryTable.commit`."""
        if self.failures:
            self.failures -= 1
            raise ViewError("no space left")
        self.commits += 1
        super().commit(rows, offset)


class Gate:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def hold(self, source: Source) -> None:
        """Note it."""
        self.asked.append("hold")

    def release(self, source: Source) -> None:
        """Note it."""
        self.asked.append("release")


class Bench:
    """A pump over a table in memory, and a log in a file."""

    def __init__(self, log: EmbeddedLog, table: FailingTable | None = None, batch: int = 1000) -> None:
        self.table = table or FailingTable()
        self.gate = Gate()
        self.done: list[int] = []
        writer = ShardWriter([(MemoriesFold(), self.table)], None, lambda rejected: None)
        self.pump = PartitionPump(SOURCE, self.table.applied(), writer, log, self.gate, batch)

    def put(self, records: Sequence[StoredRecord]) -> None:
        """Deliver records."""
        last = records[-1].position.offset
        self.pump.put(Delivery(records, lambda: self.done.append(last)))

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for something, then close the pump."""
        async with asyncio.timeout(20):
            while not true():
                await asyncio.sleep(0.002)
        await self.pump.close(5)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedLog]:
    user = Commands(("acme", "alice"))
    with EmbeddedLog(tmp_path_factory.mktemp("log") / "log.sqlite") as opened:
        for number in range(COUNT):
            event = user.remember(f"text {number}", id=f"m{number % 7}", tags=[str(number)])
            opened.append(encode(event))
        yield opened


def whole(log: EmbeddedLog) -> list[StoredRecord]:
    return log.read(MEMORIES, 0, 0, COUNT)


def expected(log: EmbeddedLog) -> dict[str, Row]:
    table = MemoryTable()
    ShardWriter([(MemoriesFold(), table)], None, lambda rejected: None).apply(MEMORIES, whole(log))
    return snapshot(table.scan())


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 30))


slices = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(1, COUNT)), max_size=8)


@given(slices, st.integers(1, 60))
def test_any_deliveries_give_the_same_view(
    log: EmbeddedLog, deliveries: list[tuple[int, int]], batch: int
) -> None:
    """Repeated, overlapping, out of order, with gaps: what is missing is read from the log."""

    async def scenario() -> None:
        bench = Bench(log, batch=batch)
        for start, length in deliveries:
            bench.put(whole(log)[start : start + length])
        bench.pump.reach(COUNT)
        await bench.until(lambda: bench.pump.idle)
        assert bench.table.applied() == COUNT
        assert snapshot(bench.table.scan()) == expected(log)
        assert len(bench.done) == len(deliveries)

    run(scenario)


def test_a_view_that_can_not_be_written_is_tried_again_and_nothing_is_acknowledged(log: EmbeddedLog) -> None:
    async def scenario() -> None:
        bench, other = Bench(log, FailingTable(failures=2)), Bench(log)
        bench.put(whole(log))
        other.put(whole(log))
        await other.until(lambda: other.pump.idle)
        assert not bench.done and bench.table.applied() == 0
        await bench.until(lambda: bench.pump.idle)
        assert bench.done == [COUNT - 1]
        assert snapshot(bench.table.scan()) == expected(log)

    run(scenario)


def test_small_deliveries_share_a_commit_and_large_ones_are_cut(log: EmbeddedLog) -> None:
    async def scenario() -> None:
        small, large = Bench(log), Bench(log, batch=10)
        for record in whole(log):
            small.put([record])
        large.put(whole(log))
        await small.until(lambda: small.pump.idle)
        await large.until(lambda: large.pump.idle)
        assert small.table.commits == 1
        assert large.table.commits == COUNT / 10

    run(scenario)


def test_a_long_backlog_closes_the_gate_until_it_is_worked_off(log: EmbeddedLog) -> None:
    async def scenario() -> None:
        bench = Bench(log)
        for _ in range(HOLD_ABOVE // COUNT + 1):
            bench.put(whole(log))
        assert bench.gate.asked == ["hold"]
        await bench.until(lambda: bench.pump.idle)
        assert bench.gate.asked == ["hold", "release"]

    run(scenario)


def test_closing_finishes_no_more_than_the_batch_in_hand(log: EmbeddedLog) -> None:
    async def scenario() -> None:
        bench = Bench(log, FailingTable(failures=1_000))
        bench.put(whole(log))
        await asyncio.sleep(0.1)
        await asyncio.wait_for(bench.pump.close(5), 1)
        assert not bench.done

    run(scenario)


def test_runs_are_cut_where_offsets_are_missing(log: EmbeddedLog) -> None:
    records = whole(log)
    mixed = [*records[3:6], *records[4:7], *records[9:11]]
    assert [[one.position.offset for one in run] for run in runs(mixed, 4)] == [[4, 5, 6], [9, 10]]
    assert list(runs(mixed, 11)) == []
