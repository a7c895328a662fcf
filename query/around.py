"""Where memories stand in their sessions, and who stands beside them, found in one pass over a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mnemolog.query.scoring.sequence import SESSION_GAP_SECONDS, sequence_of
from mnemolog.storage.searches import ROW
from mnemolog.storage.sql import is_in, literal

PLACE = (ROW, "thread_id", "occurred_at", "_off")
"""The columns that say where a memory stands."""

REACH = 2
"""So many before and after each are found: the neighbours, and their neighbours."""

Integers = NDArray[np.int64]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Some memories with those beside them: of each the `row`, the `session`, from 0 on, and the `rank`
    there.

    Of each session `sizes` has how many memories it has, and `members` their rows. `sessions_a_memory` is
    about how many sessions there are for each memory of the namespace: the mean of 1 / size over the memories
    that were asked for.
    """

    row: Integers
    session: Integers
    rank: Integers
    sizes: Integers
    members: list[Integers]
    sessions_a_memory: float


def same_threads(centres: pa.Table) -> str:
    """A condition that holds for all rows in the threads of the `centres`."""
    threads = centres.column("thread_id")
    named = is_in("thread_id", threads.drop_null().unique().to_pylist())
    return f"({named} OR thread_id IS NULL)" if threads.null_count else named


def near(centres: pa.Table) -> str:
    """A condition that holds for all rows that can be within `REACH` of the `centres`, in their sessions."""
    times = np.sort(_times(centres))
    reach = REACH * SESSION_GAP_SECONDS
    begins = np.flatnonzero(np.diff(times, prepend=-np.inf) > 2 * reach)
    ends = np.append(begins[1:], len(times)) - 1
    spans = [
        f"(occurred_at >= {_moment(times[begin] - reach)} AND occurred_at <= {_moment(times[end] + reach)})"
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    return f"{same_threads(centres)} AND ({' OR '.join(spans)})"


def around(centres: pa.Table, parts: Iterable[pa.Table]) -> Surroundings:
    """The `centres` and those among `parts` that stand within `REACH` of one, in its session.

    Both have the columns `PLACE`, and `parts` have all rows of the centres' threads, or all that are near.
    """
    threads = centres.column("thread_id").drop_null().unique()
    pieces = [_numbers(part, threads) for part in parts]
    row, thread, time, offset = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    order = np.argsort(offset, kind="stable")
    row = row[order].astype(np.int64)
    sequence = sequence_of(thread[order], time[order])
    firsts = np.append(sequence.firsts, len(row))
    at = np.flatnonzero(np.isin(row[sequence.order], centres.column(ROW).to_numpy()))
    number = sequence.session[sequence.order]
    kept = np.unique(np.clip(at[:, None] + np.arange(-REACH, REACH + 1), 0, len(row) - 1))
    kept = kept[np.isin(number[kept], number[at])]
    there, session = np.unique(number[kept], return_inverse=True)
    sizes = np.diff(firsts)
    return Surroundings(
        row[sequence.order][kept],
        session,
        kept - firsts[number[kept]],
        sizes[there],
        [row[sequence.order][firsts[one] : firsts[one + 1]] for one in there.tolist()],
        float(np.mean(1 / sizes[number[at]])) if at.size else 1.0,
    )


def _numbers(part: pa.Table, threads: pa.Array) -> tuple[Integers, Integers, NDArray[np.float64], Integers]:
    thread = pc.index_in(part.column("thread_id"), value_set=threads).fill_null(-1)
    return (
        part.column(ROW).to_numpy(),
        thread.to_numpy().astype(np.int32),
        _times(part),
        part.column("_off").to_numpy(),
    )


def _times(table: pa.Table) -> NDArray[np.float64]:
    return np.asarray(table.column("occurred_at").cast(pa.int64()).to_numpy() / 1e6, dtype=np.float64)


def _moment(seconds: float) -> str:
    return literal(_EPOCH + timedelta(seconds=float(seconds)))
