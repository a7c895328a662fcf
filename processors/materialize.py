"""The shell around the folds: records of one partition in, rows and the applied offset out, in one commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from mnemolog.processors.applied import Applied, OnApplied
from mnemolog.processors.embedding import GivesVectors
from mnemolog.processors.folds.port import Fold, Selection, Stamp, View, is_projection
from mnemolog.processors.garbage import no_search_for_cycles
from mnemolog.processors.kept_rows import KeptRows
from mnemolog.processors.working_set import WorkingSet
from mnemolog.schemas.codec import decode
from mnemolog.schemas.errors import MnemologError, ViewError
from mnemolog.schemas.events import Event
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import partition_of

if TYPE_CHECKING:
    from mnemolog.schemas.ports import ViewTable

FILL_BATCH = 256
KEPT_ROWS = 2_000
"""Rows that a writer keeps of each table: about four kilobytes each, and their vectors."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that could not be read, or that a fold could not apply, and why."""

    record: StoredRecord
    reason: str


Decoded = tuple[StoredRecord, Event]
OnRejected = Callable[[Sequence[Rejected]], None]
"""Takes rejected records and returns once they are kept; only then is their offset counted as applied."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """What records from offset `first` on up to offset `through` hold."""

    first: int
    through: int
    decoded: Sequence[Decoded]
    unreadable: Sequence[Rejected]


class ShardWriter:
    """Writes the views of one partition. Safe to call from several threads; the process must be the owner.

    `views` pairs each fold, and each projection, with its table. `on_rejected` keeps what can't be applied.
    `lock` is held while tables are written; give one that other processes see where they may write too.
    `lacks_vectors` says whether rows may be waiting for `fill_pending`. Up to `keeps` rows of each table stay
    in memory from one batch to the next. With `partitions`, how many the log has, a record whose key belongs
    to another one is rejected: its namespace is elsewhere. `on_applied` hears of each batch.
    """

    def __init__(
        self,
        views: Sequence[tuple[View, ViewTable]],
        embedder: GivesVectors | None,
        on_rejected: OnRejected,
        lock: AbstractContextManager[object] | None = None,
        keeps: int = KEPT_ROWS,
        partitions: int | None = None,
        on_applied: OnApplied | None = None,
    ) -> None:
        self._folds = [(view, table) for view, table in views if not is_projection(view)]
        self._projections = [(view, table) for view, table in views if is_projection(view)]
        self._embedder = embedder
        self._on_rejected = on_rejected
        self._lock = lock or threading.Lock()
        self._alone = lock is not None
        self._passed_over = 0
        self._partitions = partitions
        self._on_applied = on_applied
        self._kept = {fold.name: KeptRows(keeps) for fold, _ in self._folds}
        self.lacks_vectors = embedder is not None

    @property
    def topics(self) -> frozenset[str]:
        """The topics that feed these views."""
        return frozenset(fold.topic for fold, _ in self._folds)

    def next_offset(self, topic: str) -> int:
        """The first offset of `topic` that some view still needs."""
        return min(table.applied() for fold, table in self._folds if fold.topic == topic)

    def applied(self) -> dict[str, int]:
        """View → the offset that it needs next."""
        return {fold.name: table.applied() for fold, table in self._folds}

    def apply(self, topic: str, records: Sequence[StoredRecord], since: int | None = None) -> None:
        """Fold `records`, which follow each other in the partition, into the views of `topic`.

        What is applied already is skipped, so any redelivery is harmless. `since` says that from this offset
        on up to the first of them the log has no records; offsets may be left out.

        Raises:
            ViewError: a view could not be written, or records before these were never applied; nothing of
                the batch counts as applied there.
        """
        if not records:
            return
        with self._lock:
            with no_search_for_cycles():
                decoded, unreadable = decode_all(records, self._partitions)
            batch = _Batch(
                records[0].position.offset if since is None else since,
                records[-1].position.offset,
                decoded,
                unreadable,
            )
            for fold, table in self._folds:
                if fold.topic == topic:
                    while not self._apply(fold, table, batch):
                        pass

    def _apply(self, fold: Fold, table: ViewTable, batch: _Batch) -> bool:
        """Apply what is not applied yet.

        False if the view was written meanwhile: what was read of it may be of two states, so it has to be
        done again.
        """
        begun = time.perf_counter()
        kept, revision = self._kept[fold.name], table.revision()
        kept.at(revision)
        start = table.applied()
        if start > batch.through:
            return True
        _check_no_gap(fold, start, batch.first)
        fresh = [pair for pair in batch.decoded if pair[0].position.offset >= start]
        with no_search_for_cycles():
            changed, failed = fold_batch(fold, table, fresh, kept)
        rows = self._embedded(changed)
        if table.revision() != revision:
            return False
        rejected = [*(bad for bad in batch.unreadable if bad.record.position.offset >= start), *failed]
        if rejected:
            self._on_rejected(rejected)
        committing = time.perf_counter()
        with no_search_for_cycles():
            self._project(fold, rows, batch.through)
            table.commit(rows, batch.through)
        if self._on_applied is not None:
            now, following = time.perf_counter(), batch.through + 1
            spent = now - begun, now - committing
            self._on_applied(Applied(fold.name, len(fresh), len(rows), following, *spent))
        if (written := table.revision()) == revision + 1:
            kept.keep(rows, written)
        if self._embedder is not None and any(lacks_vector(row) for row in rows):
            self.lacks_vectors = True
        return True

    def _project(self, fold: Fold, rows: Sequence[Row], through: int) -> None:
        """Write what follows from `rows` before they are written themselves.

        So where the base table has applied something, its projections have too, whoever wrote it and whenever
        they died; and a batch that changes nothing in them costs no commit.
        """
        for projection, table in self._projections:
            if projection.base == fold.name:
                projected = [row for row in map(projection.row, rows) if row is not None]
                if projected:
                    table.commit(projected, through)

    def _embedded(self, rows: Sequence[Row]) -> Sequence[Row]:
        if self._embedder is None:
            return rows
        lacking = [row for row in rows if lacks_vector(row)]
        done = {row["pk"]: row for row in self._embedder.embed(lacking)}
        return [done.get(row["pk"], row) for row in rows]

    def let_go(self) -> None:
        """Keep no rows until the next batch."""
        for kept in self._kept.values():
            kept.clear()

    def tend(self, now: float) -> None:
        """Do a short step of each table's upkeep that is due at `now`, in seconds of a clock.

        To be called again and again: what is long is done in many steps, so that no event waits for it.
        """
        for _, table in [*self._folds, *self._projections]:
            if table.due(now):
                with self._lock:
                    table.tend(now, self._alone)

    def fill_pending(self) -> tuple[int, int]:
        """Embed up to a batch of rows whose vectors are missing: (how many are done, how many failed).

        The embedder is asked outside the lock: a slow one holds up no event.
        """
        if self._embedder is None:
            return 0, 0
        self.lacks_vectors = False
        try:
            return self._fill(self._embedder)
        except BaseException:
            self.lacks_vectors = True
            raise

    def _fill(self, embedder: GivesVectors) -> tuple[int, int]:
        done = failed = 0
        for fold, table in self._folds:
            if fold.name != "memories":
                continue
            tried = embedder.retry(table.pending(FILL_BATCH, self._passed_over))
            filled = [row for row in tried if row["vector"] is not None]
            if filled:
                with self._lock:
                    table.fill(filled)
            done, failed = done + len(filled), failed + len(tried) - len(filled)
            passed_over, self._passed_over = self._passed_over, self._passed_over + failed if tried else 0
            self.lacks_vectors = self.lacks_vectors or bool(tried) or passed_over > 0
        return done, failed


def _check_no_gap(fold: Fold, start: int, first: int) -> None:
    if first > start > 0:
        raise ViewError(f"{fold.name} has applied up to {start}, but was given records from {first} on")


def lacks_vector(row: Row) -> bool:
    """Whether a row waits for its vector."""
    return not row["deleted"] and "text" in row and row["vector"] is None


def decode_all(
    records: Iterable[StoredRecord], partitions: int | None = None
) -> tuple[list[Decoded], list[Rejected]]:
    """The events of `records`, and the records that hold none, or stand in a partition that is not theirs."""
    decoded: list[Decoded] = []
    rejected: list[Rejected] = []
    for record in records:
        here = record.position.partition
        if partitions is not None and (own := partition_of(record.key or b"", partitions)) != here:
            reason = f"its key belongs to partition {own} of {partitions}, not to {here}"
            rejected.append(Rejected(record, reason))
            continue
        try:
            decoded.append((record, decode(record)))
        except MnemologError as error:
            rejected.append(Rejected(record, str(error)))
    return decoded, rejected


def fold_batch(
    fold: Fold, table: ViewTable, decoded: Sequence[Decoded], kept: KeptRows | None = None
) -> tuple[list[Row], list[Rejected]]:
    """The rows that a batch changes, in their last state, and the records that the fold could not apply.

    What is in `kept` is not looked up in the table.
    """
    working = WorkingSet(table, kept)
    rejected: list[Rejected] = []
    selections = [_first_selection(fold, event) for _, event in decoded]
    firsts = zip(decoded, selections, strict=True)
    working.prefetch(fold, [(event, first) for (_, event), first in firsts if first is not None])
    for (record, event), first in zip(decoded, selections, strict=True):
        stamp = Stamp(record.position.offset, _time_of(record))
        try:
            working.put(fold.evolve(working.rows_for(fold, event, first), event, stamp))
        except ViewError:
            raise
        except (MnemologError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
            reason = f"the {fold.name} fold can't apply it: {type(error).__name__}: {error}"
            rejected.append(Rejected(record, reason))
    return working.changed_rows(), rejected


def _first_selection(fold: Fold, event: Event) -> Selection | None:
    """What the event concerns, as far as it can tell itself; None where it can't be read."""
    try:
        return fold.affects(event, {})
    except MnemologError:
        return None


def _time_of(record: StoredRecord) -> datetime:
    return _EPOCH + timedelta(0, 0, 0, record.timestamp)  # milliseconds, by their place: each record asks
