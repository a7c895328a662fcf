"""What a recall looks at: the memories of a namespace that are not expired, with what stands around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.postings import Groups
from mnemolog.query.scoring.dates import calendar_of
from mnemolog.query.scoring.english import HUMANS, ROLES
from mnemolog.query.scoring.relevance import Texts
from mnemolog.query.scoring.sequence import Flags, Sequence, sequence_at, sequence_of
from mnemolog.query.scoring.shapes import SHAPE_FLAGS
from mnemolog.query.scoring.weights import DAY

Slots = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Live:
    """`slots` of the cache in the order of the log, which is that of the columns in `texts`; `every` says
    that they are all there are, and stand so.

    `active` are not superseded, `vectorless` has those without a vector, None for none. `sessions` knows the
    session of each slot; others have −1. It holds from `since` to before `until`, in seconds.
    `authors` has the number of each.
    """

    slots: Slots
    every: bool
    texts: Texts
    sessions: Groups
    active: Flags
    vectorless: Flags | None
    since: float
    until: float
    authors: Mapping[str, int]

    def numbers(self, authors: Iterable[str]) -> tuple[int, ...]:
        """The numbers that `texts` has for these authors; those of nobody here are left out."""
        return tuple(self.authors[author] for author in authors if author in self.authors)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """The entries of the live memories in an array over slots."""
        return values if self.every else values[self.slots]


def live_at(cache: NamespaceCache, now: float) -> Live:
    """The live memories at `now` (seconds), superseded ones too: they are context all the same."""
    known = cache.live
    if known is None or known[0] != cache.changes or not known[1].since <= now < known[1].until:
        known = cache.live = (cache.changes, _live(cache, now))
    found: Live = known[1]
    return found


def _live(cache: NamespaceCache, now: float) -> Live:
    visible = np.flatnonzero(cache.visible(now, superseded=True))
    slots = cache.in_order(visible)
    names = [name.lower() for name in cache.authors.values]
    author = cache.author[slots]
    present = {names[number] for number in np.unique(author) if number >= 0}
    human = np.array([name in HUMANS for name in names] + [False])
    flags = dict(zip(SHAPE_FLAGS, cache.shape[slots].T, strict=True))
    whole = None if cache.part is None else cache.part.whole
    sequence = _sequence(cache, slots)
    texts = Texts(
        author=author,
        human=human[author],
        roles=bool(present) and present <= ROLES if whole is None else whole.roles,
        words=cache.words[slots],
        calendar=calendar_of(cache.occurred[slots]),
        spoken=calendar_of(cache.occurred[slots] + DAY * cache.spoken[slots]),
        sequence=sequence,
        whole=whole,
        **flags,
    )
    session_of_slot = np.full(cache.size, -1, dtype=np.int64)
    session_of_slot[slots] = sequence.session
    sessions = cache.postings.groups(session_of_slot, sequence.sessions)
    vectorless = ~cache.has_vector[slots]
    ends = cache.expires[: cache.size][cache.alive[: cache.size]]
    return Live(
        slots,
        len(slots) == cache.size and np.array_equal(slots, visible),
        texts,
        sessions,
        ~cache.superseded[slots],
        vectorless if vectorless.any() else None,
        float(np.max(ends, initial=-np.inf, where=ends <= now)),
        float(np.min(ends, initial=np.inf, where=ends > now)),
        cache.authors.values,
    )


def _sequence(cache: NamespaceCache, slots: Slots) -> Sequence:
    if cache.part is None:
        return sequence_of(cache.thread[slots], cache.occurred[slots])
    return sequence_at(*cache.part.standing(cache.column("pk", slots).to_pylist() if slots.size else []))
