"""Repairs what the doctor finds, as far as log and views hold what it takes."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from mnemolog.processors.doctor import Finding, examine
from mnemolog.processors.locks import LiveShardLock
from mnemolog.processors.replay import replay
from mnemolog.processors.replay_parts import OnProgress, Processes
from mnemolog.processors.shards import VIEWS
from mnemolog.schemas.errors import ViewError, ViewMissingError
from mnemolog.storage.layout import Views
from mnemolog.storage.leftovers import leftovers
from mnemolog.storage.table import LanceTable
from mnemolog.storage.upkeep import KEEP_VERSIONS, tidy

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Embedder, Log


def repair(
    log: Log,
    views: Views,
    embedder: Embedder | None,
    *,
    alone: bool,
    processes: Processes | None = None,
    on_progress: OnProgress | None = None,
) -> list[Finding]:
    """Make the live views sound again; what was done, then what is still found.

    Where they give wrong answers they are built anew from the log, and the pointer flips. Every table is
    tidied. `alone` says that all who write these views take the shards' locks, as those of an embedded
    memory do: then what a killed writer left is removed as well.

    Raises:
        MnemologError: the log or the views failed.
    """
    done = []
    if any(one.level == "problem" for one in examine(log, views)):
        report = replay(log, views, embedder, on_progress=on_progress, processes=processes)
        what = f"built anew from the log, {report.applied} events, and live now"
        done.append(Finding("repaired", report.manifest.generation, what, ""))
    live = views.current()
    for partition in range(live.partitions):
        lock = LiveShardLock(views, live.generation, partition) if alone else nullcontext()
        for view in VIEWS:
            place = f"{live.generation}/p{partition:02d}/{view.name}"
            try:
                shard = views.shard(live.generation, partition)
                table = LanceTable.open(shard, view.name, view.topic, partition)
            except ViewMissingError:
                continue
            done += _tidied(table, place, lock, alone=alone)
    return [*done, *examine(log, views)]


def _tidied(
    table: LanceTable, place: str, lock: AbstractContextManager[None], *, alone: bool
) -> list[Finding]:
    """Tidy a table; other writers may come in between two steps."""
    left = len(leftovers(table.lance)) if alone else 0
    behind = table.unindexed_rows()
    steps = tidy(table.lance, KEEP_VERSIONS, threshold=0.0, alone=alone)
    more = True
    while more:
        with lock:
            try:
                more = next(steps, steps) is None
            except (OSError, RuntimeError, ValueError) as error:
                raise ViewError(f"{place} could not be tidied: {error}") from error
    found = []
    if left:
        what = f"{left} files that a killed writer had left are removed"
        found.append(Finding("repaired", place, what, ""))
    if behind > table.unindexed_rows():
        found.append(Finding("repaired", place, f"{behind} rows were taken into the index", ""))
    return found
