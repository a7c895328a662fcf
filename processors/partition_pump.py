"""Moves the records of one partition of a topic into its views, in order, whatever the transport delivers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from mnemolog.processors.embedding import Backoff
from mnemolog.processors.threads import in_thread
from mnemolog.schemas.errors import MnemologError
from mnemolog.schemas.ports import Log
from mnemolog.schemas.records import StoredRecord

BATCH = 1_000
"""Records that one commit takes at most, where no texts are embedded."""

EMBEDDED_BATCH = 128
"""The same where they are: a second's work, so that rows show up early and a stop is quick."""

LINGER_SECONDS = 0.02
"""How long the first record of a batch waits for others: fewer commits, and so fewer files to read."""

MAX_RUNS = 4
"""Runs of records without a gap between them that are committed one by one."""

HOLD_ABOVE = 4_000
RELEASE_BELOW = 2_000

Source: TypeAlias = tuple[str, int]
"""A topic and a partition."""

logger = logging.getLogger(__name__)


class Writer(Protocol):
    """What a pump asks of `materialize.ShardWriter`."""

    def apply(self, topic: str, records: Sequence[StoredRecord], since: int | None = None) -> None:
        """Fold records that follow each other in the log into the views of `topic`, and commit.

        `since`: the log has no others from this offset on.
        """


class Gate(Protocol):
    """Where a transport can be asked to bring no more records of a source for a while."""

    def hold(self, source: Source) -> None:
        """Bring no more; what is on its way already may still come."""

    def release(self, source: Source) -> None:
        """Go on."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Records of one source, and what to call on the event loop once they are committed."""

    records: Sequence[StoredRecord]
    done: Callable[[], object]


class PartitionPump:
    """A queue of deliveries and the task that applies them. All but the applying happens on the event loop.

    Each source has its own pump, so one that fails or is slow holds up no other. A long backlog closes the
    gate. What fails is tried again, with growing pauses, until it succeeds or the pump is closed.

    The views alone say what comes next, first `start`: what is applied already is skipped, and what the
    transport left out is read from the log. So no record is lost or counted twice by a rebalance, a seek or
    a restart.
    """

    def __init__(
        self,
        source: Source,
        start: int,
        writer: Writer,
        log: Log,
        gate: Gate,
        batch: int = BATCH,
    ) -> None:
        self.source = source
        self._writer = writer
        self._log = log
        self._gate = gate
        self._batch = batch
        self._next = start
        self._waiting: deque[Delivery] = deque()
        self._backlog = 0
        self._end = 0
        self._held = False
        self._closing = asyncio.Event()
        self._arrived = asyncio.Event()
        self._task = asyncio.create_task(self._work())

    @property
    def next_offset(self) -> int:
        """The offset that the views need next."""
        return self._next

    @property
    def idle(self) -> bool:
        """Whether all that was delivered is applied."""
        return not self._backlog and self._next >= self._end

    def put(self, delivery: Delivery) -> None:
        """Queue a delivery; never blocks."""
        self._waiting.append(delivery)
        self._arrived.set()
        self._backlog += len(delivery.records)
        if self._backlog > HOLD_ABOVE and not self._held:
            self._held = True
            self._gate.hold(self.source)

    def reach(self, end: int) -> None:
        """Read what the transport did not bring before offset `end` from the log."""
        self._end = end
        self._arrived.set()

    async def close(self, patience: float) -> None:
        """Finish the batch in hand, within `patience` seconds, and drop the rest: it is in the log."""
        self._closing.set()
        self._arrived.set()
        _, late = await asyncio.wait({self._task}, timeout=patience)
        if late:
            logger.warning("%s/%d: gave up waiting for a batch in hand", *self.source)
            self._task.cancel()

    async def _work(self) -> None:
        while not self._closing.is_set():
            await self._arrived.wait()
            self._arrived.clear()
            if self._backlog < self._batch:
                await self._pause(LINGER_SECONDS)
            while not (self.idle or self._closing.is_set()):
                await self._apply_all(self._take_batch())

    def _take_batch(self) -> list[Delivery]:
        batch: list[Delivery] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0].records) <= self._batch):
            batch.append(self._waiting.popleft())
            size += len(batch[-1].records)
        return batch

    async def _apply_all(self, batch: Sequence[Delivery]) -> None:
        records = [record for delivery in batch for record in delivery.records]
        if not await self._until_applied(records):
            return
        for delivery in batch:
            delivery.done()
        self._backlog -= len(records)
        if self._held and self._backlog < RELEASE_BELOW:
            self._held = False
            self._gate.release(self.source)

    async def _until_applied(self, records: Sequence[StoredRecord]) -> bool:
        backoff = Backoff(time.monotonic)
        while not self._closing.is_set():
            try:
                await in_thread(self._advance, records)
            except Exception as error:  # noqa: BLE001 whatever it is, the records must not count as applied
                backoff.failed()
                self._report(error, backoff.pause)
                await self._pause(backoff.pause)
            else:
                if backoff.pause:
                    logger.info("%s/%d: applied at last, going on", *self.source)
                return not records or self._next > records[-1].position.offset
        return False

    def _report(self, error: Exception, pause: float) -> None:
        expected = isinstance(error, MnemologError | OSError)
        logger.warning(
            "%s/%d: can't apply offset %d, next try in %.1f s: %s: %s",
            *self.source,
            self._next,
            pause,
            type(error).__name__,
            error,
            exc_info=None if expected else error,
        )

    async def _pause(self, seconds: float) -> None:
        closing = asyncio.create_task(self._closing.wait())
        await asyncio.wait({closing}, timeout=seconds)
        closing.cancel()

    def _advance(self, records: Sequence[StoredRecord]) -> None:
        for run in self._whole_runs(records):
            self._catch_up(run[0].position.offset)
            for start in range(0, len(run), self._batch):
                if not self._closing.is_set():
                    self._write(run[start : start + self._batch])
        self._catch_up(self._end)
        self._end = 0

    def _whole_runs(self, records: Sequence[StoredRecord]) -> list[list[StoredRecord]]:
        """The runs, unless there are many: then they are left to one read of the log, in whole batches.

        A compacted topic has gaps everywhere, and a commit for each run would be slow.
        """
        found = list(runs(records, self._next))
        if len(found) > MAX_RUNS:
            self._catch_up(records[-1].position.offset + 1)
            return []
        return found

    def _catch_up(self, end: int) -> None:
        while self._next < end and not self._closing.is_set():
            read = self._log.read(*self.source, self._next, min(self._batch, end - self._next))
            missed = [record for record in read if record.position.offset < end]
            if not missed:
                return
            logger.info("%s/%d: read %d records from the log", *self.source, len(missed))
            self._write(missed)

    def _write(self, records: Sequence[StoredRecord]) -> None:
        self._writer.apply(self.source[0], records, since=self._next)
        self._next = records[-1].position.offset + 1


def runs(records: Iterable[StoredRecord], start: int) -> Iterator[list[StoredRecord]]:
    """The records from offset `start` on, without repetitions, cut where offsets are missing."""
    run: list[StoredRecord] = []
    expected = start
    for record in records:
        offset = record.position.offset
        if offset < expected:
            continue
        if offset > expected and run:
            yield run
            run = []
        run.append(record)
        expected = offset + 1
    if run:
        yield run
