"""The order of a namespace's memories: threads, sessions in them, and who stands beside whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import Floats

SESSION_GAP_SECONDS = 4 * 3600.0
"""A pause of this length ends a session."""

OPENING = 2
OPENING_MIN_MEMORIES = 6

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sequence:
    """For each memory: the one `before` and `after` it in its session (−1 for none), its `session`'s number,
    and whether it is one of the first two of a session of at least six (`opens`).

    `order` has all memories, one session after the other; `firsts` are the places in it where one begins.
    """

    before: Integers
    after: Integers
    session: Integers
    sessions: int
    opens: Flags
    order: Integers
    firsts: Integers


def sequence_of(threads: Integers, times: Floats) -> Sequence:
    """The sequence of memories with these threads' numbers and times (seconds), entered in this order."""
    count = len(times)
    order = np.lexsort((np.arange(count), times, threads))
    starts = np.ones(count, dtype=bool)
    if count > 1:
        same = threads[order][1:] == threads[order][:-1]
        starts[1:] = ~(same & (np.diff(times[order]) <= SESSION_GAP_SECONDS))
    numbers, firsts = np.cumsum(starts) - 1, np.flatnonzero(starts)
    sizes = np.bincount(numbers, minlength=1)
    places = np.arange(count) - firsts[numbers]
    before, after = np.full(count, -1), np.full(count, -1)
    linked = np.flatnonzero(~starts)
    before[order[linked]] = order[linked - 1]
    after[order[linked - 1]] = order[linked]
    session, opens = np.empty(count, dtype=np.int64), np.empty(count, dtype=bool)
    session[order] = numbers
    opens[order] = (places < OPENING) & (sizes[numbers] >= OPENING_MIN_MEMORIES)
    return Sequence(before, after, session, int(starts.sum()), opens, order, firsts)


def sequence_at(session: Integers, rank: Integers, sizes: Integers) -> Sequence:
    """The sequence of some memories of which each one's session is known, its rank there, and by session how
    many memories it has in all. Each session has at least one of them."""
    count = len(session)
    order = np.lexsort((rank, session))
    begins = np.diff(session[order], prepend=-1) != 0
    next_to = np.flatnonzero(~begins & (np.diff(rank[order], prepend=-2) == 1))
    before, after = np.full(count, -1), np.full(count, -1)
    before[order[next_to]] = order[next_to - 1]
    after[order[next_to - 1]] = order[next_to]
    opens = (rank < OPENING) & (sizes[session] >= OPENING_MIN_MEMORIES)
    return Sequence(before, after, session, len(sizes), opens, order, np.flatnonzero(begins))
