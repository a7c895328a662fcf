"""An inverted index in memory: which slots hold a term, and how often."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import Floats, idf, saturation


class _Postings(NamedTuple):
    """The documents that hold a term, and how often each does."""

    slots: array[int]
    counts: array[int]


class Postings:
    """Terms of documents in numbered slots. A removed document stays in the lists and is not counted."""

    def __init__(self) -> None:
        self._lists: dict[str, _Postings] = {}
        self._frequency: Counter[str] = Counter()
        self._lengths = array("d")
        self._terms: dict[int, str] = {}
        self._documents = 0
        self._total_length = 0.0
        self._text_bytes = 0

    def add(self, slot: int, terms: str) -> None:
        """Index the space-separated `terms` of the document in `slot`; slots only grow."""
        words = terms.split()
        while len(self._lengths) <= slot:
            self._lengths.append(0.0)
        self._lengths[slot] = len(words)
        self._terms[slot] = terms
        self._text_bytes += len(terms)
        self._documents += 1
        self._total_length += len(words)
        for term, count in Counter(words).items():
            if term not in self._lists:
                self._lists[term] = _Postings(array("q"), array("q"))
            slots, counts = self._lists[term]
            slots.append(slot)
            counts.append(count)
            self._frequency[term] += 1

    def remove(self, slot: int) -> None:
        """Stop counting the document in `slot`."""
        self._documents -= 1
        self._total_length -= self._lengths[slot]
        terms = self._terms.pop(slot)
        self._text_bytes -= len(terms)
        for term in set(terms.split()):
            self._frequency[term] -= 1

    def scores(self, terms: Iterable[str], size: int) -> Floats:
        """The BM25 score of every slot below `size` for the query's `terms`; 0 where none occurs."""
        scores = np.zeros(size)
        if not self._documents:
            return scores
        mean_length = max(self._total_length / self._documents, 1e-9)
        lengths = np.array(self._lengths)
        for term, repeats in Counter(terms).items():
            if self._frequency[term] > 0:
                slots = np.array(self._lists[term].slots)
                counts = np.array(self._lists[term].counts, dtype=np.float64)
                rarity = idf(self._documents, self._frequency[term])
                scores[slots] += repeats * rarity * saturation(counts, lengths[slots], mean_length)
        return scores

    def coverage(self, terms: Iterable[str], slots: NDArray[np.int64]) -> Floats:
        """The share of the query's distinct `terms`, weighted by idf, that the documents in `slots` hold."""
        rarity = {term: idf(self._documents, self._frequency[term]) for term in sorted(set(terms))}
        whole = sum(rarity.values())
        held = [
            sum(weight for term, weight in rarity.items() if term in words)
            for words in (set(self._terms[slot].split()) for slot in slots.tolist())
        ]
        return np.array(held, dtype=np.float64) / whole if whole else np.zeros(len(slots))

    def group_scores(self, terms: Iterable[str], groups: NDArray[np.int64], count: int) -> Floats:
        """The BM25 score of `count` groups as one document each; `groups` has each slot's group, or −1."""
        scores = np.zeros(count)
        if not count:
            return scores
        member = groups >= 0
        held_lengths = np.array(self._lengths)[: len(groups)][member]
        lengths = np.bincount(groups[member], weights=held_lengths, minlength=count).astype(np.float64)
        mean_length = max(float(lengths.mean()), 1e-9)
        for term, repeats in Counter(terms).items():
            if self._frequency[term] > 0:
                slots = np.array(self._lists[term].slots)
                held = groups[slots] >= 0
                weights = np.array(self._lists[term].counts, dtype=np.float64)[held]
                counts = np.bincount(groups[slots][held], weights=weights, minlength=count).astype(np.float64)
                rarity = idf(count, int((counts > 0).sum()))
                scores += repeats * rarity * saturation(counts, lengths, mean_length)
        return scores

    @property
    def nbytes(self) -> int:
        """About how much memory the lists hold."""
        return 300 * len(self._lists) + int(16 * self._total_length) + self._text_bytes
