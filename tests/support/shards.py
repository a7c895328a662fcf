"""A shard in memory whose writers may die at any step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.embedding import RowEmbedder
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.processors.shards import VIEWS
from mnemolog.schemas.rows import Row
from mnemolog.storage.memory_table import MemoryTable
from support.folding import snapshot
from support.histories import Step, to_stored

EMBEDDER = HashingEmbedder(8)


class CrashError(Exception):
    """The process dies here."""


class Shard:
    """The tables of all views, which outlive their writers, and a countdown to the next crash."""

    def __init__(self) -> None:
        self.tables = {view.name: CrashingTable(self.step) for view in VIEWS}
        self.deadletters: list[tuple[str, int]] = []
        self.steps_left = 1_000_000

    def step(self) -> None:
        """One step further; the process may die here."""
        self.steps_left -= 1
        if self.steps_left < 0:
            raise CrashError

    def keep(self, rejected: Sequence[Rejected]) -> None:
        """Keep dead letters, durably, with a chance to die before and after."""
        self.step()
        places = [bad.record.position for bad in rejected]
        self.deadletters += [(place.topic, place.offset) for place in places]
        self.step()

    def writer(self) -> ShardWriter:
        """A writer as a process makes it when it starts."""
        views = [(view, self.tables[view.name]) for view in VIEWS]
        return ShardWriter(views, RowEmbedder(EMBEDDER), self.keep)

    def applied(self, topic: str) -> int:
        """The first offset of a topic that some view still needs."""
        return min(self.tables[view.name].applied() for view in VIEWS if view.topic == topic)

    def snapshot(self) -> dict[str, dict[str, Row]]:
        """Table → its rows."""
        return {name: snapshot(table.scan()) for name, table in self.tables.items()}


class CrashingTable(MemoryTable):
    """A table in whose commits the process may die: before anything, or when all is written."""

    def __init__(self, step: Callable[[], None]) -> None:
        super().__init__()
        self._step = step

    def commit(self, rows: Sequence[Row], offset: int) -> None:
        """See `MemoryTable.commit`; whole or not at all."""
        self._step()
        super().commit(rows, offset)
        self._step()


def one_by_one(steps: Sequence[Step]) -> Shard:
    """The reference: each record in a batch of its own, delivered once."""
    *_, shard = after_each(steps)
    return shard


def after_each(steps: Sequence[Step], lag: int = 0) -> Iterator[Shard]:
    """The reference after each of its batches, the empty shard first.

    The topics are applied side by side, but for feedback, which comes `lag` steps later.
    """
    shard = Shard()
    yield shard
    writer = shard.writer()
    for topic, records in to_stored(steps).items():
        for record in records:
            writer.apply(topic, [record])
            yield shard
