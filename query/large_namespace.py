"""A namespace that is too large to be in memory: recalled from through searches in the view.

What a recall needs of it, some hundred rows, becomes a small cache of its own, and goes through the same
recall as a namespace in memory does, measured against the numbers of all its memories (`Survey`). So scores
are those of a recall in memory, but for this:

- An index of vectors may miss one that is near. One of terms orders by the numbers of the whole shard, so of
  256 that it finds the best by the namespace's own are taken.
- How many memories hold a term is counted to a few more than there are, and how many there are exactly. Both,
  the mean length and what is known of authors and days are counted anew once a sixteenth has changed; until
  then what is new is counted, and what is gone still is.
- How many sessions hold a term is reckoned from how many memories do; so is what sessions of thousands say.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from mnemolog.query.candidates import Within, scores_of_sessions, surroundings
from mnemolog.query.live import live_at
from mnemolog.query.masks import columns_of, mask_in
from mnemolog.query.namespace_cache import READ, NamespaceCache
from mnemolog.query.question import Question
from mnemolog.query.recall import Recalled, recall
from mnemolog.query.scoring.whole import Part
from mnemolog.query.survey import SURVEYED, Survey, live_part
from mnemolog.schemas.errors import ViewError
from mnemolog.storage.arrow import from_arrow
from mnemolog.storage.searches import Snapshot
from mnemolog.storage.sql import is_in, literal
from mnemolog.storage.table import LanceTable, TableState

STALE_PART = 16
"""The survey is made anew once one in so many memories has changed."""

_ATTEMPTS = 3
_COLUMNS = ("_off", "deleted", *SURVEYED)

Result = TypeVar("Result")


class LargeNamespace:
    """One namespace, by its encoded `name`. In memory each of its memories would take `each` bytes. Threads
    may share it."""

    def __init__(self, name: str, dim: int | None, each: float) -> None:
        self._each = each
        self._name = name
        self._ours = f"namespace = {literal(name)}"
        self._dim = dim
        self._lock = threading.Lock()
        self._survey = Survey()
        self._seen: TableState | None = None
        self._next_offset = 0
        self._whole = self._survey.whole(0)
        self.authors: tuple[str, ...] = ()

    @property
    def documents(self) -> int:
        """How many memories there are, those that have expired among them."""
        return self._whole.documents

    @property
    def nbytes(self) -> int:
        """About how much memory it would take."""
        return int(self.documents * self._each)

    def refresh(self, memories: LanceTable, state: TableState) -> None:
        """Take in what is new in the table, whose newest state this is."""
        with self._lock:
            if self._seen is None or self._seen.version != state.version:
                _anew(lambda: self._look(Snapshot(memories)))
                self._seen = state

    def _look(self, snapshot: Snapshot) -> None:
        documents = snapshot.count(f"{self._ours} AND NOT deleted")
        survey, begin = self._survey, self._next_offset
        if abs(survey.rows - documents) * STALE_PART > documents or not survey.rows:
            survey, begin = Survey(), 0
        self._survey, next_offset = Survey(), begin  # what fails in the middle is begun anew
        for part in snapshot.stream(f"{self._ours} AND _off >= {begin}", _COLUMNS):
            next_offset = max(next_offset, int(part.column("_off").to_numpy().max()) + 1)
            survey.add(live_part(part))
        self._survey, self._next_offset = survey, next_offset
        self._whole, self.authors = survey.whole(documents), tuple(survey.authors)

    def kinds(self, memories: LanceTable, question: Question) -> list[str]:
        """The kinds of the memories that a question may find, superseded ones too, sorted."""
        return _anew(lambda: self._kinds(Snapshot(memories), question))

    def _kinds(self, snapshot: Snapshot, question: Question) -> list[str]:
        within, kinds = Within.of(self._name, question), set[str]()
        for part in snapshot.stream(within.live, sorted({"kind", *columns_of(question.where)})):
            kinds |= set(part.filter(mask_in(part, question.where)).column("kind").unique().to_pylist())
        return sorted(kinds)

    def recall(self, memories: LanceTable, usage: LanceTable, question: Question) -> Recalled:
        """The `k` best memories, and what was looked at."""
        cache = _anew(lambda: self._at_hand(Snapshot(memories), question))
        if cache.slot_of:
            cache.upsert_usage(from_arrow(usage.where(f"{self._ours} AND {is_in('pk', cache.slot_of)}")))
        return recall(cache, live_at(cache, question.now.timestamp()), question)

    def _at_hand(self, snapshot: Snapshot, question: Question) -> NamespaceCache:
        whole, within = self._whole, Within.of(self._name, question)
        found = surroundings(snapshot, within, question, whole, outdone=self._survey.superseded)
        if found is None:
            return NamespaceCache(self._dim)
        rows = snapshot.rows(found.row, [name for name in READ if name != "vector" or self._dim])
        standing = zip(found.session.tolist(), found.rank.tolist(), strict=True)
        session_of = dict(zip(rows.column("pk").to_pylist(), standing, strict=True))
        said = scores_of_sessions(snapshot, found, question.terms, whole)
        cache = NamespaceCache(self._dim, Part(whole, session_of, found.sizes, said))
        cache.upsert([rows])
        return cache


@dataclass(frozen=True, slots=True)
class InView:
    """A large namespace in the tables that it is in, as they stand when they are asked."""

    large: LargeNamespace
    memories: LanceTable
    usage: LanceTable

    @property
    def authors(self) -> tuple[str, ...]:
        """The names of all authors."""
        return self.large.authors

    def kinds(self, question: Question) -> list[str]:
        """See `LargeNamespace.kinds`."""
        return self.large.kinds(self.memories, question)

    def recall(self, question: Question) -> Recalled:
        """See `LargeNamespace.recall`."""
        return self.large.recall(self.memories, self.usage, question)


def _anew(attempt: Callable[[], Result]) -> Result:
    """What `attempt` gives; begun again where upkeep dropped the version under it."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except ViewError:
            continue
    return attempt()
