"""The partitions that a worker owns: their open shards, and what keeps these up to date."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence

from mnemolog.processors.late_vectors import keep_filling, keep_tending
from mnemolog.processors.materialize import ShardWriter
from mnemolog.processors.partition_pump import Delivery, Gate, PartitionPump, Source, Writer
from mnemolog.processors.reactors.reactor import Reactor, keep_reacting
from mnemolog.processors.threads import in_thread
from mnemolog.schemas.errors import LogError, ViewError
from mnemolog.schemas.ports import Log

PATIENCE_SECONDS = 8.0
"""How long a batch in hand may still take when its partition is taken away."""

LOOK_SECONDS = 5.0
"""How often to look in the log for records that the transport did not bring."""

logger = logging.getLogger(__name__)


class Assignment:
    """Opens shards when partitions come and closes them when they go. Lives on one event loop.

    `open_shard` opens the shard of a partition number, `reactors_of` makes what watches it; a
    commit takes `batch` records at most. `on_owned` hears which sources are open after each change. `traced`
    makes the writer of a source one that tells of its batches.
    """

    def __init__(
        self,
        open_shard: Callable[[int], ShardWriter],
        log: Log,
        batch: int,
        reactors_of: Callable[[int], Sequence[Reactor]] | None = None,
        on_owned: Callable[[Collection[Source]], None] | None = None,
        traced: Callable[[Source, Writer], Writer] | None = None,
    ) -> None:
        self._open_shard = open_shard
        self._reactors_of = reactors_of
        self._on_owned = on_owned
        self._traced = traced
        self._log = log
        self._batch = batch
        self._pumps: dict[Source, PartitionPump] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._changing = asyncio.Lock()

    async def open(self, sources: Collection[Source], gate: Gate) -> None:
        """Open the shards of `sources`, in place of those before.

        Raises:
            ViewError: a view could not be opened, or is ahead of the log.
        """
        async with self._changing:
            await self._close()
            await self._open(sources, gate)

    async def close(self) -> None:
        """Finish the batches in hand and let go of all shards."""
        async with self._changing:
            await self._close()

    async def _open(self, sources: Collection[Source], gate: Gate) -> None:
        writers, starts = await in_thread(self._prepare, sources)
        for source, start in starts.items():
            writer: Writer = writers[source[1]]
            if self._traced is not None:
                writer = self._traced(source, writer)
            self._pumps[source] = PartitionPump(source, start, writer, self._log, gate, self._batch)
        self._tasks = [
            asyncio.create_task(keep_filling(number, writer)) for number, writer in writers.items()
        ]
        self._tasks += [asyncio.create_task(keep_tending(*shard)) for shard in writers.items()]
        if self._reactors_of is not None:
            watching = [(number, one) for number in writers for one in self._reactors_of(number)]
            self._tasks += [asyncio.create_task(keep_reacting(*watched)) for watched in watching]
        self._tasks.append(asyncio.create_task(self._look_after()))
        self._report(starts)

    def _prepare(self, sources: Collection[Source]) -> tuple[dict[int, ShardWriter], dict[Source, int]]:
        writers = {number: self._open_shard(number) for number in sorted({number for _, number in sources})}
        starts = {source: writers[source[1]].next_offset(source[0]) for source in sorted(sources)}
        ends = self._ends({topic for topic, _ in sources})
        for source, start in starts.items():
            check_not_ahead(source, start, ends[source])
        return writers, starts

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        pumps = list(self._pumps.values())
        self._tasks, self._pumps = [], {}
        await asyncio.gather(*(pump.close(PATIENCE_SECONDS) for pump in pumps))

    def deliver(self, source: Source, delivery: Delivery) -> None:
        """Queue records of a source. Those of one that is not open are dropped: its owner reads them."""
        pump = self._pumps.get(source)
        if pump is not None:
            pump.put(delivery)

    def next_offsets(self) -> dict[Source, int]:
        """What the views of each open source need next."""
        return {source: pump.next_offset for source, pump in self._pumps.items()}

    async def _look_after(self) -> None:
        """Help pumps that stand still though the log has more: then the transport has let them down."""
        before: dict[Source, int] = {}
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                ends = await in_thread(self._ends, {topic for topic, _ in self._pumps})
            except LogError:
                continue
            for source, pump in self._pumps.items():
                if pump.idle and pump.next_offset < ends[source] and before.get(source) == pump.next_offset:
                    pump.reach(ends[source])
            before = self.next_offsets()

    def _ends(self, topics: Collection[str]) -> dict[Source, int]:
        return {
            (topic, number): end for topic in topics for number, end in self._log.end_offsets(topic).items()
        }

    def _report(self, starts: dict[Source, int]) -> None:
        owned = [f"{topic}/{number} from {start}" for (topic, number), start in starts.items()]
        logger.info("owns %s", ", ".join(owned) or "no partition; stands by for one")
        if self._on_owned is not None:
            self._on_owned(starts.keys())


def check_not_ahead(source: Source, next_offset: int, end: int) -> None:
    """Refuse a view that has applied what the log does not hold.

    Raises:
        ViewError: the log was made anew, or another one is meant.
    """
    if next_offset > end:
        raise ViewError(
            f"the views have applied {source[0]}/{source[1]} up to offset {next_offset}, but the log ends at "
            f"{end}: it is another one, or was made anew. Give it views of its own, or run: mnemolog replay"
        )
