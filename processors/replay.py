"""Replay: build a new generation of views from the log, beside the live one, and flip to it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import partial
from typing import TYPE_CHECKING

from mnemolog.allocator import holding_little
from mnemolog.processors.generations import Comparison, compare
from mnemolog.processors.live_vectors import vectors_for
from mnemolog.processors.locks import LiveShardLock
from mnemolog.processors.replay_parts import (
    Done,
    OnProgress,
    Part,
    PartFold,
    Processes,
    fold_in_processes,
)
from mnemolog.processors.shards import FED_TOPICS, check_manifest, make_tables, new_manifest
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.storage.layout import Manifest, Views

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Embedder, Log

SMALL = 5_000
"""A log of fewer records is replayed in this process: starting others takes longer."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay did: its generation, how many records it applied, how many it could not, whether it went
    on with an interrupted one, and whether it flipped. `compared` is set if it was to verify."""

    manifest: Manifest
    applied: int
    rejected: int
    resumed: bool = False
    flipped: bool = True
    compared: Comparison | None = None


def replay(
    log: Log,
    views: Views,
    embedder: Embedder | None,
    *,
    on_progress: OnProgress | None = None,
    flip: bool = True,
    resume: bool = False,
    verify: bool = False,
    processes: Processes | None = None,
) -> ReplayReport:
    """Fold the whole log into a new generation, then make it live unless `flip` is false.

    Live readers and writers go on. Vectors of texts that did not change are taken from the live generation if
    it has the same embedder. Records that can't be applied are counted only: the live run has dead-lettered
    them. `resume` goes on with the newest generation that was interrupted, if it is of the same making.
    `verify` compares with the live views before the flip, and leaves these live if both stand at the same
    offsets and yet differ. `processes` lets every topic of every partition have a process of its own.

    Raises:
        MnemologError: the log or the new views failed; the live generation is as it was.
    """
    wanted = new_manifest(log.partitions(FED_TOPICS[0]), embedder)
    found = _interrupted(views, wanted) if resume else None
    manifest = found or views.add(wanted)
    run = _Run(log, views, manifest, embedder, on_progress)
    with holding_little():
        run.build(processes)
        run.catch_up()
    compared = _verified(run, views) if verify else None
    views.mark_complete(manifest.generation)
    flips = flip and (compared is None or compared.equal is not False)
    if flips:
        _flip(views, manifest, run)
    return ReplayReport(manifest, run.done.applied, run.done.rejected, found is not None, flips, compared)


def roll_back(log: Log, views: Views, generation: str, embedder: Embedder | None) -> ReplayReport:
    """Bring an earlier generation up to the log and make it live again; `embedder` is that of its vectors.

    Raises:
        ViewMissingError: there is no such generation, or its replay was interrupted.
        EmbedderMismatchError: its vectors are of another model.
        ViewError: it was built by other folds, so only a replay can bring it up to date.
    """
    manifest = views.manifest(generation)
    if not views.is_complete(generation):
        raise ViewMissingError(
            f"{generation} was never built to its end; go on with: mnemolog replay --resume"
        )
    check_manifest(manifest, log.partitions(FED_TOPICS[0]), embedder)
    run = _Run(log, views, manifest, embedder, None)
    if views.current().generation != generation:
        run.catch_up()
        _flip(views, manifest, run)
    return ReplayReport(manifest, run.done.applied, run.done.rejected)


def _interrupted(views: Views, wanted: Manifest) -> Manifest | None:
    for generation in reversed(views.generations()):
        manifest = views.manifest(generation)
        same = manifest == replace_fields(wanted, generation=generation)
        if same and not views.is_complete(generation):
            return manifest
    return None


def _verified(run: _Run, views: Views) -> Comparison | None:
    """How the generation compares with the live one; None where none is live."""
    if not views.exist:
        return None
    live = views.current().generation
    compared = compare(views, live, run.manifest.generation)
    for _ in range(2):
        if compared.equal is not None:
            break
        run.catch_up()
        compared = compare(views, live, run.manifest.generation)
    return compared


def _flip(views: Views, manifest: Manifest, run: _Run) -> None:
    """Make the new generation live with all that the old one has applied.

    Below a folder nobody applies more to the old one meanwhile. On an object store workers may; there a
    reader stays with the old one until the new one has caught up.

    Raises:
        GenerationReplacedError: another replay has flipped meanwhile; what this one built is kept.
    """
    with ExitStack() as locks:
        live = views.current() if views.exist else None
        if views.local and live is not None:
            for partition in range(live.partitions):
                locks.enter_context(LiveShardLock(views, live.generation, partition))
        run.catch_up()
        views.make_live(manifest.generation, live.generation if live else None)


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
        self._views = views
        self._on_progress = on_progress or (lambda _done, _total: None)
        self._vectors = vectors_for(views, manifest, embedder)
        self._folds: dict[tuple[str, int], PartFold] = {}
        self._reached: dict[tuple[str, int], int] = {}
        self.manifest = manifest
        self.done = Done()

    def build(self, processes: Processes | None) -> None:
        """Make the tables and apply most of the log, in parallel if that is worth it."""
        parts = self._parts()
        make = partial(make_tables, self._views, self.manifest)
        if processes is None or processes.count < 2 or sum(part.end for part in parts) < SMALL:
            make()
            return
        generation = self._views, self.manifest
        self._add(fold_in_processes(*generation, parts, processes, self._on_progress, make))
        self._reached = {(part.topic, part.partition): part.end for part in parts}

    def catch_up(self) -> None:
        """Apply all that the log has by now."""
        parts = self._parts()
        total, so_far = sum(part.end for part in parts), 0

        def advance(offsets: int) -> None:
            nonlocal so_far
            so_far += offsets
            self._on_progress(so_far, total)

        for topic, partition, end in parts:
            if end <= self._reached.get((topic, partition), 0):
                advance(end)
                continue
            self._add(self._fold_of(topic, partition).fold(self._log, end, advance))

    def _fold_of(self, topic: str, partition: int) -> PartFold:
        place = topic, partition
        if place not in self._folds:
            self._folds[place] = PartFold(self._views, self.manifest, topic, partition, self._vectors)
        return self._folds[place]

    def _parts(self) -> Sequence[Part]:
        return [
            Part(topic, partition, end)
            for topic in FED_TOPICS
            for partition, end in self._log.end_offsets(topic).items()
        ]

    def _add(self, done: Done) -> None:
        self.done = Done(self.done.applied + done.applied, self.done.rejected + done.rejected)
