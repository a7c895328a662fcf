"""The parts of a replay: one topic of one partition each, folded side by side in processes of their own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mnemolog.processors.embedding import GivesVectors, ReusedVectors, RowEmbedder
from mnemolog.processors.garbage import no_search_for_cycles
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.processors.shards import VIEWS, open_tables
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import MEMORIES, partition_of
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Embedder, Log

_logger = logging.getLogger(__name__)

BATCH = 15_000
KEPT_ROWS = 15_000
_LOOK_SECONDS = 1.0

OnProgress = Callable[[int, int], None]
"""Is told (offsets applied so far, offsets in the log)."""

OpenLog: TypeAlias = "Callable[[], Log]"
OpenEmbedder: TypeAlias = "Callable[[], Embedder | None]"


@dataclass(frozen=True, slots=True)
class Processes:
    """How processes of their own get at the log and the embedder: both are pickled functions. At most `count`
    run at once."""

    count: int
    open_log: OpenLog
    open_embedder: OpenEmbedder


class Part(NamedTuple):
    """One topic of one partition, up to before the offset `end`. Its tables are no other part's."""

    topic: str
    partition: int
    end: int


class Done(NamedTuple):
    """How many records were applied, and how many could not be."""

    applied: int = 0
    rejected: int = 0


class PartFold:
    """Folds one topic of one partition into a generation, from wherever its tables stand."""

    def __init__(
        self, views: Views, manifest: Manifest, topic: str, partition: int, vectors: GivesVectors | None
    ) -> None:
        self._topic = topic
        self._partition = partition
        self._rejected = 0
        tables = open_tables(views, manifest, partition, {topic})
        self._writer = ShardWriter(
            tables, vectors, self._count, keeps=KEPT_ROWS, partitions=manifest.partitions
        )

    def _count(self, rejected: Sequence[Rejected]) -> None:
        self._rejected += len(rejected)

    def fold(self, log: Log, end: int, on_batch: Callable[[int], None] = lambda _: None) -> Done:
        """Apply what is lacking up to before `end`; `on_batch` is told how many offsets each step took."""
        self._rejected = applied = 0
        offset = self._writer.next_offset(self._topic)
        on_batch(min(offset, end))
        while offset < end:
            with no_search_for_cycles():
                count, after = self._step(log, offset, min(BATCH, end - offset))
            if not count:
                break
            on_batch(after - offset)
            applied, offset = applied + count, after
        self._writer.let_go()
        return Done(applied, self._rejected)

    def _step(self, log: Log, offset: int, limit: int) -> tuple[int, int]:
        """Apply up to `limit` records from `offset` on: how many there were, and the offset after them."""
        records = log.read(self._topic, self._partition, offset, limit)
        if not records:
            return 0, offset
        self._writer.apply(self._topic, records, since=offset)
        return len(records), records[-1].position.offset + 1


def vectors_for(views: Views, manifest: Manifest, embedder: Embedder | None) -> GivesVectors | None:
    """The embedder; where the live generation has the same one, what it has embedded is taken from there."""
    if embedder is None:
        return None
    fresh = RowEmbedder(embedder)
    if not views.exist or views.current().embedder != manifest.embedder:
        return fresh
    return ReusedVectors(_LiveMemories(views, views.current()), fresh)


class _LiveMemories:
    """The memories of the live generation by their keys, whatever the number of its partitions."""

    def __init__(self, views: Views, live: Manifest) -> None:
        self._views = views
        self._live = live
        self._tables: dict[int, LanceTable] = {}

    def __call__(self, keys: Sequence[str]) -> Iterator[Row]:
        by_partition: dict[int, list[str]] = {}
        for key in keys:
            by_partition.setdefault(partition_of(key.encode(), self._live.partitions), []).append(key)
        for partition, some in by_partition.items():
            try:
                yield from self._table(partition).lookup("pk", some)
            except ViewError:  # what is damaged is what a replay repairs
                _logger.warning("%d texts of p%02d may be embedded anew", len(some), partition, exc_info=True)

    def _table(self, partition: int) -> LanceTable:
        if partition not in self._tables:
            shard = self._views.shard(self._live.generation, partition)
            self._tables[partition] = LanceTable.open(shard, "memories", MEMORIES, partition)
        return self._tables[partition]


def fold_in_processes(
    views: Views, manifest: Manifest, parts: Sequence[Part], processes: Processes, on_progress: OnProgress
) -> Done:
    """Fold `parts` in processes of their own, the longest first. A part is a pure function of the log.

    Raises:
        ViewError: a process died; what it had committed stays, and the replay can be resumed.
        MnemologError: what a process raised.
    """
    total = sum(part.end for part in parts)
    longest_first = sorted((part for part in parts if part.end), key=lambda part: -part.end)
    started = time.monotonic()
    with ProcessPoolExecutor(processes.count, mp_context=get_context("spawn")) as pool:
        waiting: set[Future[Done]] = {
            pool.submit(_fold_alone, views.root, manifest.generation, part, processes)
            for part in longest_first
        }
        done: set[Future[Done]] = set()
        try:
            while waiting:
                finished, waiting = wait(waiting, _LOOK_SECONDS, FIRST_COMPLETED)
                done |= finished
                for one in finished:
                    one.result()
                if time.monotonic() - started > _LOOK_SECONDS:
                    on_progress(sum(_progress(views, manifest, part) for part in longest_first), total)
        except BrokenProcessPool as error:
            raise ViewError(
                "a process of the replay died, perhaps for lack of memory; "
                "go on with: mnemolog replay --resume"
            ) from error
        finally:
            for one in waiting:
                one.cancel()
    results = [one.result() for one in done]
    return Done(sum(one.applied for one in results), sum(one.rejected for one in results))


def _fold_alone(root: str, generation: str, part: Part, processes: Processes) -> Done:
    """What a process runs."""
    views = Views(root)
    manifest = views.manifest(generation)
    log = processes.open_log()
    try:
        embedder = processes.open_embedder() if part.topic == MEMORIES else None
        vectors = vectors_for(views, manifest, embedder)
        return PartFold(views, manifest, part.topic, part.partition, vectors).fold(log, part.end)
    finally:
        log.close()


def _progress(views: Views, manifest: Manifest, part: Part) -> int:
    """How far a part has come, as its first table says."""
    name = next(view.name for view in VIEWS if view.topic == part.topic)
    with suppress(ViewError):
        table = LanceTable.open(
            views.shard(manifest.generation, part.partition), name, part.topic, part.partition
        )
        return min(table.applied(), part.end)
    return 0
