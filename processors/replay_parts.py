"""The parts of a replay: one topic of one partition each, folded side by side in processes of their own."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mnemolog.allocator import hold_little
from mnemolog.processors.embedding import GivesVectors
from mnemolog.processors.garbage import no_search_for_cycles
from mnemolog.processors.live_vectors import vectors_for
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.processors.shards import VIEWS, open_tables
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.engine import read_little_at_once
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Embedder, Log

_logger = logging.getLogger(__name__)

BATCH = 30_000
KEPT_ROWS = 30_000
_UNSEARCHED = 8
"""Batches between two searches for cycles. A search looks through all rows that are kept, and finds some two
hundred small objects of each batch."""

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
        steps, more = self._steps(log, offset, end), True
        while more:
            more = False
            with no_search_for_cycles():
                for number, (count, offsets) in enumerate(islice(steps, _UNSEARCHED), 1):
                    applied, more = applied + count, number == _UNSEARCHED
                    on_batch(offsets)
                if not more:
                    self._writer.let_go()  # before a search looks through it
        return Done(applied, self._rejected)

    def _steps(self, log: Log, offset: int, end: int) -> Iterator[tuple[int, int]]:
        """Apply what the log has from `offset` up to before `end`: of each step the records and offsets."""
        while offset < end:
            records = log.read(self._topic, self._partition, offset, min(BATCH, end - offset))
            if not records:
                return
            self._writer.apply(self._topic, records, since=offset)
            count, after = len(records), records[-1].position.offset + 1
            del records  # before others are read
            yield count, after - offset
            offset = after


def fold_in_processes(
    views: Views,
    manifest: Manifest,
    parts: Sequence[Part],
    processes: Processes,
    on_progress: OnProgress,
    meanwhile: Callable[[], None] = lambda: None,
) -> Done:
    """Fold `parts`, the longest first: this process works too, beside `processes.count` - 1 of their own. A
    part is a pure function of the log. `meanwhile` is done while the processes start.

    Raises:
        ViewError: a process died; what it had committed stays, and the replay can be resumed.
        MnemologError: what a process raised.
    """
    longest_first = sorted((part for part in parts if part.end), key=lambda part: -part.end)
    with ProcessPoolExecutor(max(processes.count - 1, 1), mp_context=get_context("spawn")) as pool:
        sharing = _Sharing(views, manifest, longest_first, processes, on_progress)
        try:
            for _ in range(processes.count - 1):
                pool.submit(_start)
            meanwhile()
            return sharing.run(pool)
        except BrokenProcessPool as error:
            raise ViewError(
                "a process of the replay died, perhaps for lack of memory; "
                "go on with: mnemolog replay --resume"
            ) from error
        finally:
            sharing.stop()


class _Sharing:
    """Parts that this process and those of a pool take, one at a time each, until none is left.

    So a slow one takes fewer, and none waits for another to start.
    """

    def __init__(
        self,
        views: Views,
        manifest: Manifest,
        parts: Sequence[Part],
        processes: Processes,
        on_progress: OnProgress,
    ) -> None:
        self._views, self._manifest, self._processes = views, manifest, processes
        self._every, self._left = parts, deque(parts)
        self._on_progress = on_progress
        self._given: list[tuple[Part, Future[Done]]] = []
        self._own = 0
        self._lock = threading.Lock()
        self._looked = time.monotonic()

    def run(self, pool: ProcessPoolExecutor) -> Done:
        """Fold them all; what that came to."""
        others, done = self._processes.count - 1, []
        own = self._take() if len(self._left) > others else None
        for _ in range(others):
            self._give(pool)
        while own is not None:
            done.append(_fold_part(self._views, self._manifest, own, self._processes, self._advance))
            own = self._take()
        while waiting := self._waiting():
            wait(waiting, _LOOK_SECONDS, FIRST_EXCEPTION)
            self._look()
        done += [one.result() for _, one in self._given]
        return Done(sum(one.applied for one in done), sum(one.rejected for one in done))

    def stop(self) -> None:
        """Give no more away."""
        self._left.clear()
        for _, one in self._given:
            one.cancel()

    def _give(self, pool: ProcessPoolExecutor) -> None:
        """Let the pool have a part; whoever is done with it takes another one."""
        with self._lock:
            if not self._left:
                return
            part = self._left.popleft()
            given = (self._views.root, self._manifest.generation, part, self._processes)
            future = pool.submit(_fold_alone, *given)
            self._given.append((part, future))
        future.add_done_callback(lambda one: self._go_on(pool, one))

    def _take(self) -> Part | None:
        with self._lock:
            return self._left.popleft() if self._left else None

    def _waiting(self) -> list[Future[Done]]:
        with self._lock:  # a part that was taken is among those given
            return [one for _, one in self._given if not one.done()]

    def _go_on(self, pool: ProcessPoolExecutor, future: Future[Done]) -> None:
        if not future.cancelled() and future.exception() is None:
            self._give(pool)

    def _advance(self, offsets: int) -> None:
        """This process has folded so many more."""
        self._own += offsets
        self._look()

    def _look(self) -> None:
        """Raise what a process raised, and now and then tell how far all are."""
        running, reached = [], self._own
        for part, one in list(self._given):
            if one.done():
                one.result()
                reached += part.end
            else:
                running.append(part)
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            reached += sum(_progress(self._views, self._manifest, part) for part in running)
            self._on_progress(reached, sum(part.end for part in self._every))
            self._looked = time.monotonic()


def _start() -> None:
    """What a process runs first: nothing, but all this is imported by then."""


def _fold_alone(root: str, generation: str, part: Part, processes: Processes) -> Done:
    """What a process runs."""
    hold_little()
    read_little_at_once(root)
    views = Views(root)
    return _fold_part(views, views.manifest(generation), part, processes)


def _fold_part(
    views: Views,
    manifest: Manifest,
    part: Part,
    processes: Processes,
    on_batch: Callable[[int], None] = lambda _: None,
) -> Done:
    log = processes.open_log()
    try:
        embedder = processes.open_embedder() if part.topic == MEMORIES else None
        vectors = vectors_for(views, manifest, embedder)
        fold = PartFold(views, manifest, part.topic, part.partition, vectors)
        return fold.fold(log, part.end, on_batch)
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
