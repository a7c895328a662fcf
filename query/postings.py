"""An inverted index in memory: which slots hold a term, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import Floats, idf, length_norm, saturation
from mnemolog.query.scoring.terms import Holding
from mnemolog.query.scoring.whole import Whole
from mnemolog.query.segments import Segment, merged, segment_of

Integers = NDArray[np.int64]

_NO_SLOTS: Integers = np.zeros(0, dtype=np.int64)

_MERGE_AT = 2
"""A segment is merged into the one before it unless that one has so many times its size."""

_KEPT_BYTES = 16 * 2**20
"""So much of what was looked up last is kept: most questions share their most frequent terms."""

_OBJECT_BYTES = 500


@dataclass(frozen=True, slots=True)
class _Found:
    """The slots that hold a term, how often each does, how many of them count, the term's `idf`, and what it
    adds to the BM25 score of each slot. Of a frequent term `there` says of each slot, and of −1, whether it
    holds the term."""

    slots: Integers
    counts: NDArray[np.unsignedinteger[Any]]
    frequency: int
    rarity: float
    added: Floats
    there: NDArray[np.bool_] | None = None

    @property
    def nbytes(self) -> int:
        there = 0 if self.there is None else self.there.nbytes
        return _OBJECT_BYTES + self.slots.nbytes + self.counts.nbytes + self.added.nbytes + there

    def hold(self, sought: Integers) -> NDArray[np.bool_]:
        """Which of the slots `sought` hold the term; −1 never does."""
        if self.there is not None:
            return self.there[sought]
        if not self.slots.size:
            return np.zeros(len(sought), dtype=np.bool_)
        held: NDArray[np.bool_] = self.slots.take(self.slots.searchsorted(sought), mode="clip") == sought
        return held


@dataclass(frozen=True, slots=True)
class Groups:
    """Slots put together: `of_slot` is each slot's group, or −1; `norms` the `length_norm` of each group.

    `known` has, by term, the groups that hold it and its `saturation` there. They are good until a document
    comes or goes.
    """

    of_slot: Integers
    norms: Floats
    known: dict[str, tuple[Integers, Floats]] = field(default_factory=dict)


class Postings:
    """Terms of documents in numbered slots. A removed document stays in the lists and is not counted.

    The lists are immutable segments of neighbouring slots, merged as they become many. Where these are only
    some of the documents, `whole` knows how rare a term is among all. Not safe for threads.
    """

    def __init__(self, whole: Whole | None = None) -> None:
        self._whole = whole
        self._segments: list[Segment] = []
        self._lengths = np.zeros(0, dtype=np.int32)
        self._counted = np.zeros(0, dtype=np.bool_)
        self._size = 0
        self._documents = 0
        self._total_length = 0
        self._norm: Floats | None = None
        self._found: dict[str, _Found] = {}
        self._found_bytes = 0

    def extend(self, start: int, terms: pa.Array | pa.ChunkedArray) -> None:
        """Index the documents in the slots from `start` on: each one's terms, joined by spaces.

        Slots only grow: `start` is behind all that were indexed.
        """
        if not len(terms):
            return
        segment, lengths = segment_of(start, terms)
        end = start + len(terms)
        self._reserve(end)
        self._lengths[start:end], self._counted[start:end] = lengths, True
        self._size = end
        self._documents += len(terms)
        self._total_length += int(lengths.sum())
        self._forget()
        self._segments.append(segment)
        while len(self._segments) > 1 and self._segments[-2].size < _MERGE_AT * self._segments[-1].size:
            last = self._segments.pop()
            self._segments[-1] = merged(self._segments[-1], last)

    def _reserve(self, size: int) -> None:
        if size > len(self._lengths):
            more = max(size, 5 * len(self._lengths) // 4) - len(self._lengths)
            self._lengths = np.concatenate([self._lengths, np.zeros(more, dtype=np.int32)])
            self._counted = np.concatenate([self._counted, np.zeros(more, dtype=np.bool_)])

    def remove(self, slot: int) -> None:
        """Stop counting the document in `slot`."""
        self._counted[slot] = False
        self._documents -= 1
        self._total_length -= int(self._lengths[slot])
        self._forget()

    def _forget(self) -> None:
        self._norm = None
        self._found.clear()
        self._found_bytes = 0

    def _of(self, term: str) -> _Found:
        if term not in self._found:
            found = self._look_up(term)
            if self._found_bytes + found.nbytes > _KEPT_BYTES:
                self._found.clear()
                self._found_bytes = 0
            self._found[term] = found
            self._found_bytes += found.nbytes
        return self._found[term]

    def _look_up(self, term: str) -> _Found:
        found = [segment.of(term) for segment in self._segments]
        there = [one for one in found if one is not None]
        if not there or not self._documents:
            return _Found(_NO_SLOTS, _NO_SLOTS.astype(np.uint8), 0, self._rarity(term, 0), np.zeros(0))
        slots, counts = there[0] if len(there) == 1 else map(np.concatenate, zip(*there, strict=True))
        wide = slots.astype(np.int64)
        every = self._documents == self._size
        frequency = len(wide) if every else int(np.count_nonzero(self._counted[wide]))
        rarity = self._rarity(term, frequency)
        saturated = saturation(counts.astype(np.float64), self._norms()[wide])
        held = None
        if wide.nbytes > self._size:
            held = np.zeros(self._size + 1, dtype=np.bool_)
            held[wide] = True
        return _Found(wide, counts, frequency, rarity, rarity * saturated, held)

    def _rarity(self, term: str, frequency: int) -> float:
        return idf(self._documents, frequency) if self._whole is None else self._whole.idf(term, frequency)

    def _norms(self) -> Floats:
        if self._norm is None:
            mean_length = max(self._total_length / self._documents, 1e-9)
            if self._whole is not None:
                mean_length = self._whole.mean_length
            self._norm = length_norm(self._lengths[: self._size].astype(np.float64), mean_length)
        return self._norm

    def scores(self, terms: Iterable[str], size: int) -> Floats:
        """The BM25 score of every slot below `size` for the query's `terms`; 0 where none occurs."""
        scores = np.zeros(size)
        if not self._documents:
            return scores
        for term, repeats in Counter(terms).items():
            found = self._of(term)
            if found.frequency:
                scores[found.slots] += found.added if repeats == 1 else repeats * found.added
        return scores

    def holding(self, terms: Iterable[str], slots: Integers) -> Holding:
        """Which of the query's distinct `terms` the documents in `slots` hold; a slot of −1 holds none."""
        sought = sorted(set(terms))
        held = np.zeros((len(sought), len(slots)), dtype=bool)
        rarity = np.zeros(len(sought))
        for number, term in enumerate(sought):
            found = self._of(term)
            rarity[number] = found.rarity
            held[number] = found.hold(slots)
        return Holding(rarity, held)

    def groups(self, of_slot: Integers, count: int) -> Groups:
        """The slots as `count` groups; `of_slot` has each slot's group, or −1."""
        member = of_slot >= 0
        held = self._lengths[: len(of_slot)][member]
        lengths = np.bincount(of_slot[member], weights=held, minlength=count).astype(np.float64)
        return Groups(of_slot, length_norm(lengths, max(float(lengths.mean()), 1e-9) if count else 1.0))

    def group_scores(self, terms: Iterable[str], groups: Groups) -> Floats:
        """The BM25 score of each of the groups as one document."""
        count = len(groups.norms)
        scores = np.zeros(count)
        for term, repeats in Counter(terms).items() if count else ():
            if term not in groups.known:
                self._look_up_groups(term, groups)
            there, saturated = groups.known[term]
            if there.size:
                scores[there] += repeats * idf(count, len(there)) * saturated
        return scores

    def _look_up_groups(self, term: str, groups: Groups) -> None:
        found = self._of(term)
        if not found.frequency:
            groups.known[term] = found.slots[:0], found.added[:0]
            return
        group, times = groups.of_slot[found.slots], found.counts
        member = group >= 0
        if not member.all():
            group, times = group[member], times[member]
        counts = np.bincount(group, weights=times, minlength=len(groups.norms)).astype(np.float64)
        there = np.flatnonzero(counts)
        if sum(_OBJECT_BYTES + 2 * held.nbytes for held, _ in groups.known.values()) > _KEPT_BYTES // 4:
            groups.known.clear()
        groups.known[term] = there, saturation(counts[there], groups.norms[there])

    @property
    def nbytes(self) -> int:
        """How much memory the lists hold."""
        own = self._lengths.nbytes + self._counted.nbytes + 8 * self._size
        return own + sum(segment.nbytes for segment in self._segments)
