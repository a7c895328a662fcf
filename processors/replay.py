"""Replay: build a new generation of views from the log, beside the live one, and flip to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemolog.processors.embedding import GivesVectors, ReusedVectors, RowEmbedder
from mnemolog.processors.locks import LiveShardLock
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.processors.shards import FED_TOPICS, new_manifest, open_tables
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Embedder, Log

BATCH = 2_000

OnProgress = Callable[[int, int], None]
"""Is told (records applied so far, records in the log)."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay did: its generation, how many records it applied, and how many it could not."""

    manifest: Manifest
    applied: int
    rejected: int


def replay(
    log: Log,
    views: Views,
    embedder: Embedder | None,
    *,
    on_progress: OnProgress | None = None,
    flip: bool = True,
) -> ReplayReport:
    """Fold the whole log into a new generation, then make it live unless `flip` is false.

    Vectors of texts that did not change are taken from the live generation if it has the same embedder.
    Records that can't be applied are counted only: the live run has dead-lettered them.

    Raises:
        MnemologError: the log or the new views failed; the live generation is as it was.
    """
    manifest = views.add(new_manifest(log.partitions(FED_TOPICS[0]), embedder))
    run = _Run(log, views, manifest, embedder, on_progress)
    run.catch_up()
    if flip:
        run.catch_up()
        _flip(views, manifest, run)
    return ReplayReport(manifest, run.applied, run.rejected)


def _flip(views: Views, manifest: Manifest, run: _Run) -> None:
    """Make the new generation live with all that the old one has applied.

    Below a folder nobody applies more to the old one meanwhile. On an object store workers may; there a
    reader stays with the old one until the new one has caught up.
    """
    with ExitStack() as locks:
        if views.local and views.exist:
            live = views.current()
            for partition in range(live.partitions):
                locks.enter_context(LiveShardLock(views, live.generation, partition))
        run.catch_up()
        views.make_live(manifest.generation)


class _Run:
    """One replay in progress."""

    def __init__(
        self,
        log: Log,
        views: Views,
        manifest: Manifest,
        embedder: Embedder | None,
        on_progress: OnProgress | None,
    ) -> None:
        self._log = log
        self._on_progress = on_progress
        self.applied = self.rejected = 0
        self._writers = [
            ShardWriter(
                open_tables(views, manifest, partition),
                _vectors(views, manifest, partition, embedder),
                self._count_rejected,
            )
            for partition in range(manifest.partitions)
        ]

    def _count_rejected(self, rejected: Sequence[Rejected]) -> None:
        self.rejected += len(rejected)

    def catch_up(self) -> None:
        """Apply all that the log has by now."""
        ends = {topic: self._log.end_offsets(topic) for topic in FED_TOPICS}
        total = sum(sum(partitions.values()) for partitions in ends.values())
        for topic, partitions in ends.items():
            for partition, end in partitions.items():
                self._catch_up(topic, partition, end, total)

    def _catch_up(self, topic: str, partition: int, end: int, total: int) -> None:
        writer = self._writers[partition]
        offset = writer.next_offset(topic)
        while offset < end:
            records = self._log.read(topic, partition, offset, BATCH)
            if not records:
                break
            writer.apply(topic, records, since=offset)
            offset = records[-1].position.offset + 1
            self.applied += len(records)
            if self._on_progress is not None:
                self._on_progress(self.applied, total)


def _vectors(
    views: Views, manifest: Manifest, partition: int, embedder: Embedder | None
) -> GivesVectors | None:
    if embedder is None:
        return None
    fresh, old = RowEmbedder(embedder), _live_memories(views, manifest, partition)
    return fresh if old is None else ReusedVectors(old, fresh)


def _live_memories(views: Views, manifest: Manifest, partition: int) -> LanceTable | None:
    """The live table whose vectors may serve again: same embedder, same partitions."""
    try:
        live = views.current()
        if (live.embedder, live.partitions) != (manifest.embedder, manifest.partitions):
            return None
        return LanceTable.open(views.shard(live.generation, partition), "memories", MEMORIES, partition)
    except ViewMissingError:
        return None
