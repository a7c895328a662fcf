"""What is known of all memories of a namespace where only some of them are at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mnemolog.query.scoring.dates import Calendar
from mnemolog.query.scoring.formulas import Floats, idf, length_norm, saturation
from mnemolog.query.scoring.sequence import Integers


@dataclass(frozen=True, slots=True)
class Whole:
    """The numbers of a namespace that scores are measured against.

    `documents` is how many memories there are, `mean_length` how many terms they have on average, and
    `frequency` gives how many of them hold a term. `authored` says that any has an author, `roles` that all
    authors are roles such as user and assistant. `first_person` and `asking` are the shares of memories that
    say "I" and that ask. `calendar` has each day on which anything happened once, `on_day` how much did.
    """

    documents: int
    mean_length: float
    frequency: Callable[[str], int]
    authored: bool
    roles: bool
    first_person: float
    asking: float
    calendar: Calendar
    on_day: Integers

    def idf(self, term: str, at_hand: int) -> float:
        """How rare a term is that `at_hand` of the memories at hand hold."""
        return idf(self.documents, self._frequency(term, at_hand))

    def share(self, term: str) -> float:
        """The share of the memories that hold a term."""
        return self._frequency(term, 0) / max(self.documents, 1)

    def _frequency(self, term: str, at_hand: int) -> int:
        return min(max(self.frequency(term), at_hand), self.documents)

    def share_of(self, fits: Floats) -> tuple[int, int]:
        """How many memories happened on the days of `calendar` where `fits` is positive, and how many there
        are in all."""
        return int(self.on_day[fits > 0].sum()), int(self.on_day.sum())


@dataclass(frozen=True, slots=True)
class Part:
    """What is known of some memories of a namespace. `session_of` has by key the session of each and its rank
    there, `sizes` how many memories each session has in all, `session_bm25` its score as one document."""

    whole: Whole
    session_of: Mapping[str, tuple[int, int]]
    sizes: Integers
    session_bm25: Floats

    def standing(self, keys: Sequence[str]) -> tuple[Integers, Integers, Integers]:
        """Of the memories with these keys: the session of each and its rank there, and the sizes of all
        sessions; those of which none is there are left out."""
        found = np.array([self.session_of[key] for key in keys], dtype=np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1], self.sizes


def session_bm25(
    whole: Whole, terms: Mapping[str, int], counts: Floats, lengths: Floats, sessions: float
) -> Floats:
    """The BM25 of sessions as documents of `lengths` terms, which hold each of the question's `terms` as
    often as `counts` says, [terms, lengths]. `terms` has how often the question says each.

    There are about `sessions` in all. How many of them hold a term is not known: as if it stood in any memory
    with the same chance, 1 − (1 − n/N)^size of them do.
    """
    every = max(round(sessions), 1)
    norms = length_norm(lengths, max(whole.mean_length * whole.documents / every, 1e-9))
    total = np.zeros(len(lengths))
    for (term, repeats), found in zip(terms.items(), counts, strict=True):
        holding = every * (1 - (1 - whole.share(term)) ** (whole.documents / every))
        total += repeats * idf(every, min(round(holding), every)) * saturation(found, norms)
    return total
