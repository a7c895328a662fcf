"""What a recall looks at: the memories of a namespace that are not expired, with what stands around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.namespace_cache import SHAPE_FLAGS, NamespaceCache
from mnemolog.query.scoring.dates import calendar_of
from mnemolog.query.scoring.english import HUMANS, ROLES
from mnemolog.query.scoring.relevance import Texts
from mnemolog.query.scoring.sequence import sequence_of


@dataclass(frozen=True, slots=True)
class Live:
    """`slots` of the cache in the order of the columns in `texts`; others have −1 in `session_of_slot`."""

    slots: NDArray[np.int64]
    texts: Texts
    session_of_slot: NDArray[np.int64]


def live_at(cache: NamespaceCache, now: float) -> Live:
    """The live memories at `now` (seconds), superseded ones too: they are context all the same.

    While the cache stays, those that are visible only get fewer with time: their number tells them apart.
    """
    slots = np.flatnonzero(cache.visible(now, superseded=True))
    state = (cache.changes, len(slots))
    if cache.live is None or cache.live[0] != state:
        cache.live = (state, _live(cache, slots))
    found: Live = cache.live[1]
    return found


def _live(cache: NamespaceCache, slots: NDArray[np.int64]) -> Live:
    names = [name.lower() for name in cache.authors.values]
    author = cache.author[slots]
    present = {names[number] for number in np.unique(author) if number >= 0}
    human = np.array([name in HUMANS for name in names] + [False])
    flags = dict(zip(SHAPE_FLAGS, cache.shape[slots].T, strict=True))
    sequence = sequence_of(cache.thread[slots], cache.occurred[slots])
    texts = Texts(
        author=author,
        human=human[author],
        roles=bool(present) and present <= ROLES,
        words=cache.words[slots],
        calendar=calendar_of(cache.occurred[slots]),
        sequence=sequence,
        **flags,
    )
    session_of_slot = np.full(cache.size, -1, dtype=np.int64)
    session_of_slot[slots] = sequence.session
    return Live(slots, texts, session_of_slot)
