"""Checks whether log and views fit each other: what is wrong, and what to run about it. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mnemolog.processors.folds.port import is_projection
from mnemolog.processors.shards import VIEWS, new_manifest
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.rows import META_NAMESPACE
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.leftovers import leftovers
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Log

STALE_ROWS = 100_000
"""From so many rows on that are not in an index, reads take noticeably longer."""

_ROWS = f"namespace <> {literal(META_NAMESPACE)}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found at a place: a "problem" means wrong answers, a "notice" that something waits for its
    turn or takes room, "repaired" that it is no more. `remedy` is what to run."""

    level: Literal["problem", "notice", "repaired"]
    place: str
    what: str
    remedy: str


def examine(log: Log, views: Views) -> list[Finding]:
    """All findings on the live views below one root; reads the keys of every row.

    Raises:
        ViewMissingError: there are no views.
        MnemologError: the log or the views can't be read.
    """
    live = views.current()
    found = list(_of_generations(views, live))
    partitions = log.partitions(VIEWS[0].topic)
    if live.partitions != partitions:
        what = f"built for {live.partitions} partitions, and the log has {partitions}"
        return [*found, Finding("problem", live.generation, what, "mnemolog replay")]
    ends = {view.topic: log.end_offsets(view.topic) for view in VIEWS}
    for partition in range(live.partitions):
        tables = {view.name: _table(views, live, view.name, view.topic, partition) for view in VIEWS}
        for view in VIEWS:
            place = f"{live.generation}/p{partition:02d}/{view.name}"
            if tables[view.name] is None:
                found.append(Finding("problem", place, "the table is missing", "mnemolog replay"))
            elif not is_projection(view):
                found += _of_offset(tables[view.name], place, ends[view.topic].get(partition, 0))
            found += _of_rows(tables[view.name], place, live)
            found += _of_files(tables[view.name], place)
        found += _of_edges(tables["memories"], tables["edges"], f"{live.generation}/p{partition:02d}/edges")
    return found


def _table(views: Views, live: Manifest, name: str, topic: str, partition: int) -> LanceTable | None:
    try:
        return LanceTable.open(views.shard(live.generation, partition), name, topic, partition)
    except ViewMissingError:
        return None


def _of_generations(views: Views, live: Manifest) -> Iterator[Finding]:
    made = new_manifest(live.partitions, None)
    if (live.folds, live.analyzer) != (made.folds, made.analyzer):
        yield Finding("problem", live.generation, "built by the folds of another release", "mnemolog replay")
    for name in views.generations():
        if not views.is_complete(name):
            remedy = "mnemolog replay --resume, or mnemolog generations drop --interrupted"
            yield Finding("notice", name, "left by a replay that was interrupted", remedy)


def _of_offset(table: LanceTable | None, place: str, end: int) -> Iterator[Finding]:
    applied = 0 if table is None else table.applied()
    if applied > end:
        what = f"has applied {applied} offsets, and the log has {end}: it is of another log, or lost its end"
        yield Finding("problem", place, what, "mnemolog replay")
    elif applied < end:
        what = f"has yet to apply {end - applied} of {end} offsets"
        yield Finding("notice", place, what, "run a worker, or open the memory")


def _of_rows(table: LanceTable | None, place: str, live: Manifest) -> Iterator[Finding]:
    if table is None:
        return
    keys = table.where(_ROWS, ["pk"]).column("pk")
    if twice := len(keys) - len(keys.unique()):
        yield Finding("problem", place, f"{twice} rows are there twice", "mnemolog replay")
    if place.endswith("/memories") and live.dim is not None:
        waiting = table.count("vector IS NULL AND NOT deleted")
        if waiting:
            what = f"{waiting} memories lack their vector, and are found by keyword alone"
            yield Finding("notice", place, what, "run a worker with the embedder, or open the memory")


def _of_files(table: LanceTable | None, place: str) -> Iterator[Finding]:
    if table is None:
        return
    if left := leftovers(table.lance):
        room = sum(path.stat().st_size for path in left) / 2**20
        what = f"{len(left)} files, {room:.1f} MiB, were left by a writer that was killed"
        yield Finding("notice", place, what, "mnemolog doctor --repair")
    if (behind := table.unindexed_rows()) > STALE_ROWS:
        yield Finding("notice", place, f"{behind} rows are not in the index yet", "mnemolog doctor --repair")


def _of_edges(memories: LanceTable | None, edges: LanceTable | None, place: str) -> Iterator[Finding]:
    """Edges are written before their memories: only those that the memories have come up to are compared."""
    if memories is None or edges is None:
        return
    applied = memories.applied()
    connected, known, stated = _keys(memories, "connected"), _keys(memories), _keys(edges)
    if missing := len(connected - stated):
        yield Finding("problem", place, f"the edges of {missing} memories are missing", "mnemolog replay")
    if strange := len(_keys(edges, f"_off < {applied}") - known):
        yield Finding("problem", place, f"{strange} rows are of no memory", "mnemolog replay")


def _keys(table: LanceTable, condition: str = "true") -> set[str]:
    return set(table.where(f"{_ROWS} AND {condition}", ["pk"]).column("pk").to_pylist())
