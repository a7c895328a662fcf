"""Upkeep of a table by its writer: few fragments, few versions, indexes once it is large, nothing forgotten.

Every commit adds a fragment and a version, and each fragment costs every read a fraction of a millisecond.
What a merge replaces or takes out stays in the files until the fragment is written anew and the versions that
name the old one are dropped.
"""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from mnemolog.storage.leftovers import remove_temporary_files
from mnemolog.storage.search_indexes import (
    SEARCH_INDEXES,
    NamespaceSizes,
    has_search_indexes,
    keep_search_indexes,
)

COMMITS_BETWEEN = 24
KEEP_VERSIONS = timedelta(seconds=5)
"""A read that began on an older version may go on so long. One that takes longer is done again on the newest,
or pins its own, see `pinned`."""

KEEP_VERSIONS_IN_BUCKETS = timedelta(minutes=1)
"""The same where each piece that is read takes long."""

TEND_SECONDS = 600.0
"""Between two times that what is replaced leaves the files, in a table that changes."""

_COMMITS_UNTIL_MERGED = 10 * COMMITS_BETWEEN
_FRAGMENT_ROWS = 20_000
_PIN = "mnemolog-read-"
_PINS_LAST_SECONDS = 24 * 3600.0
_SCALAR_INDEX_ROWS = 20_000
_FAILURES = (OSError, RuntimeError, ValueError)
_logger = logging.getLogger(__name__)


class Upkeep:
    """Tidies a table when it is due. A failure is logged and tried again later.

    `committed` does what commits make due, little each time. `tend`, to be called now and then, does what
    time makes due, in steps that each write 20,000 rows at most.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        self._since: float | None = None
        self._runs_due = 2
        self._steps: Iterator[None] | None = None
        self._sizes = NamespaceSizes()
        self._stepped = -math.inf
        self._keep = KEEP_VERSIONS_IN_BUCKETS if "://" in table.uri else KEEP_VERSIONS

    def committed(self, version: int) -> None:
        """Say that a commit made `version`. Versions are counted, not commits: a table that many short-lived
        programs write is tidied too."""
        self._runs_due = 2
        if version % COMMITS_BETWEEN == 0:
            self._finish(self._after_commits(version))

    def due(self, now: float) -> bool:
        """Whether `tend` has anything to do at `now`."""
        if self._since is None:
            self._since = now
        return self._steps is not None or bool(self._runs_due and now - self._since >= TEND_SECONDS)

    def tend(self, now: float, alone: bool) -> bool:
        """One step of what is due at `now`, a clock in seconds; False if nothing is left to do.

        `alone` says that no other program can be writing. What is replaced is dropped by the run after the
        one that replaces it, when no read needs it any more; so each commit makes two of them due.
        """
        if not self.due(now):
            return False
        if self._steps is None:
            self._since, self._runs_due = now, self._runs_due - 1
            self._steps = tidy(self._table, self._keep, threshold=0.0, alone=alone, sizes=self._sizes)
        if now - self._stepped < self._keep.total_seconds():
            return True  # so that what the step before replaced is dropped first, and takes no room
        self._stepped = now
        if not self._step(self._steps):
            self._steps = None
        return self._steps is not None

    def _after_commits(self, version: int) -> Iterator[None]:
        """Merge what is small, and write one fragment anew of which something was taken out: each in turn.

        What the last commits wrote becomes one fragment. It is merged into a large one only now and then, so
        that this is not written again and again because of a few rows; and so is one of which something was
        taken out, where it would be written anew in indexes of vectors and terms too.
        """
        newest = self._table.to_lance().get_fragments()[-COMMITS_BETWEEN:]
        rows = min(sum(one.metadata.physical_rows for one in newest), _FRAGMENT_ROWS)
        rarely = version % _COMMITS_UNTIL_MERGED == 0
        if rarely or not has_search_indexes(self._table):
            _compact_some(self._table, rows, 0.0, version // COMMITS_BETWEEN)
        merged = _FRAGMENT_ROWS if rarely else rows
        yield from tidy(self._table, self._keep, rows=merged, sizes=self._sizes)

    def _finish(self, steps: Iterator[None]) -> None:
        while self._step(steps):
            pass

    def _step(self, steps: Iterator[None]) -> bool:
        try:
            return next(steps, self) is None
        except _FAILURES:
            _logger.warning("upkeep of %s failed; next time again", self._table.name, exc_info=True)
            return False


def tidy(
    table: Any,
    keep: timedelta,
    *,
    rows: int | None = None,
    threshold: float | None = None,
    alone: bool = False,
    sizes: NamespaceSizes | None = None,
) -> Iterator[None]:
    """Tidy a table, step by step: others may write between two of them.

    Fragments of fewer than `rows` (20,000) are merged, and those of which a larger share than `threshold` was
    taken out are written anew (None: a tenth). Versions older than `keep` are dropped, with what only they
    hold. If nobody else writes, what a killed writer left goes too, whatever its age; else Lance leaves it
    for a week. `sizes` are what is known of the table's namespaces, if it is tidied again and again.
    """
    for _ in range(len(table.to_lance().get_fragments()) + 1):
        if not _compact_some(table, rows or _FRAGMENT_ROWS, threshold):
            break
        _clean(table, keep)
        yield
    _index(table)
    yield
    keep_search_indexes(table, sizes or NamespaceSizes())
    yield
    _drop_old_pins(table)
    _clean(table, keep, alone=alone)
    if alone:
        remove_temporary_files(table.uri)


def _clean(table: Any, keep: timedelta, *, alone: bool = False) -> None:
    table.to_lance().cleanup_old_versions(
        older_than=keep, delete_unverified=alone, error_if_tagged_old_versions=False
    )
    table.checkout_latest()


def _compact_some(table: Any, rows: int, threshold: float | None, turn: int = 0) -> bool:
    """Write one group of fragments anew, that whose `turn` it is; False if no other needs it."""
    from lance.optimize import Compaction  # imported with the first upkeep: who only reads never needs it

    dataset = table.to_lance()
    options: dict[str, Any] = {"target_rows_per_fragment": rows}
    if threshold is not None:
        options["materialize_deletions_threshold"] = threshold
    tasks = Compaction.plan(dataset, options).tasks
    if tasks:
        Compaction.commit(dataset, [tasks[turn % len(tasks)].execute(dataset)])
        table.checkout_latest()
    return len(tasks) > 1


@contextmanager
def pinned(handle: Any) -> Iterator[Any]:
    """A table as it stands, at a version that upkeep leaves alone meanwhile: for reads that are long.

    `handle` is one of its own, since it stays at that version.

    A pin that a killed reader left is dropped by upkeep after a day. Who may not write reads without one, and
    is told so by an error if the version goes meanwhile.
    """
    version, name = handle.version, f"{_PIN}{time.time():.0f}-{uuid.uuid4().hex}"
    with suppress(*_FAILURES):
        handle.tags.create(name, version)
    handle.checkout(version)
    try:
        yield handle
    finally:
        with suppress(*_FAILURES):  # dropped by upkeep meanwhile, or never there
            handle.tags.delete(name)


def _drop_old_pins(table: Any) -> None:
    tags = table.to_lance().tags
    for name in tags.list():
        made = name.removeprefix(_PIN).partition("-")[0]
        if name.startswith(_PIN) and time.time() - float(made) > _PINS_LAST_SECONDS:
            tags.delete(name)


def _index(table: Any) -> None:
    """Make the indexes that this many rows need, or bring those there are up to date."""
    indices = [index for index in table.list_indices() if index.name not in SEARCH_INDEXES]
    existing = {column for index in indices for column in index.columns}
    if table.count_rows() >= _SCALAR_INDEX_ROWS:
        for column, kind in (("namespace", "BITMAP"), ("pk", "BTREE")):
            if column not in existing:
                table.create_scalar_index(column, index_type=kind, replace=False)
    if existing:
        names = [index.name for index in indices]
        table.to_lance().optimize.optimize_indices(num_indices_to_merge=10, index_names=names)
        table.checkout_latest()
