"""A shard in memory whose writers may die at any step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress

from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.embedding import RowEmbedder
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.processors.shards import FOLDS, VIEWS
from mnemolog.schemas.filters import EVERYTHING, Node
from mnemolog.schemas.rows import Row
from mnemolog.storage.memory_table import MemoryTable
from support.folding import snapshot
from support.histories import Step, to_stored

EMBEDDER = HashingEmbedder(8)


class CrashError(Exception):
    """The process dies here."""


class Shard:
    """The tables of all views, which outlive their writers, a countdown to the next crash, and one to the
    moment when another writer works."""

    def __init__(self) -> None:
        self.tables = {view.name: CrashingTable(self.step, self.touch) for view in VIEWS}
        self.deadletters: list[tuple[str, int]] = []
        self.steps_left = 1_000_000
        self.meanwhile: list[tuple[int, Callable[[], object]]] = []
        """What happens after so many touches of the tables, in this order."""

    def touch(self) -> None:
        """A writer is about to look at a table, or to write it; another may come before."""
        if self.meanwhile:
            touches_left, action = self.meanwhile.pop(0)
            if touches_left:
                self.meanwhile.insert(0, (touches_left - 1, action))
            else:
                later, self.meanwhile = self.meanwhile, []
                action()
                self.meanwhile = later

    def crashing_after(self, steps: int, action: Callable[[], object]) -> None:
        """Do something in a process that dies after so many steps."""
        left, self.steps_left = self.steps_left, steps
        with suppress(CrashError):
            action()
        self.steps_left = left

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
        return min(self.tables[fold.name].applied() for fold in FOLDS if fold.topic == topic)

    def snapshot(self) -> dict[str, dict[str, Row]]:
        """Table → its rows."""
        return {name: snapshot(table.scan()) for name, table in self.tables.items()}


class CrashingTable(MemoryTable):
    """A table in whose commits the process may die: before anything, or when all is written."""

    def __init__(self, step: Callable[[], None], touch: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._step = step
        self._touch = touch

    def applied(self) -> int:
        """See `MemoryTable.applied`."""
        self._touch()
        return super().applied()

    def revision(self) -> int:
        """See `MemoryTable.revision`."""
        self._touch()
        return super().revision()

    def lookup(self, column: str, values: Collection[str]) -> list[Row]:
        """See `MemoryTable.lookup`."""
        self._touch()
        return super().lookup(column, values)

    def select(self, namespace: str, node: Node = EVERYTHING) -> list[Row]:
        """See `MemoryTable.select`."""
        self._touch()
        return super().select(namespace, node)

    def commit(self, rows: Sequence[Row], offset: int) -> None:
        """See `MemoryTable.commit`; whole or not at all."""
        self._touch()
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
