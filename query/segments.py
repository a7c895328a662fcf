"""Compact lists of which slots hold a term: the parts that an inverted index is made of."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mnemolog.storage.arrow import KEPT


@dataclass(frozen=True, slots=True)
class Segment:
    """The postings of some documents. `terms` are sorted by their bytes; those of the n-th, by slot, stand
    from `starts[n]` to before `starts[n + 1]` in `slots` and `counts`."""

    terms: pa.Array
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.unsignedinteger[Any]]

    @property
    def size(self) -> int:
        """How many postings there are."""
        return len(self.slots)

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.unsignedinteger[Any]]] | None:
        """The slots that hold a term and how often each does; None if none does."""
        sought, terms = term.encode(), self.terms
        at = bisect_left(range(len(terms)), sought, key=lambda place: terms[place].as_py())
        if at == len(terms) or terms[at].as_py() != sought:
            return None
        start, end = self.starts[at], self.starts[at + 1]
        return self.slots[start:end], self.counts[start:end]

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        arrays = (self.terms, self.starts, self.slots, self.counts)
        return int(sum(array.nbytes for array in arrays))


def segment_of(start: int, terms: pa.Array | pa.ChunkedArray) -> tuple[Segment, NDArray[np.int64]]:
    """The postings of the documents in the slots from `start` on, and how many terms each has.

    `terms` has each document's terms, joined by spaces.
    """
    if isinstance(terms, pa.ChunkedArray):
        terms = terms.combine_chunks()
    documents = len(terms)
    split = pc.split_pattern(pc.fill_null(terms, ""), " ")
    document = pc.list_parent_indices(split).to_numpy()
    encoded = pc.cast(split.flatten(), pa.binary()).dictionary_encode()
    numbers, words = _sorted_words(encoded)
    if len(words) and words[0].as_py() == b"":  # of a text without terms
        kept = numbers > 0
        numbers, document, words = numbers[kept] - 1, document[kept], words.slice(1)
    lengths = np.bincount(document, minlength=documents)
    pairs, counts = np.unique(numbers * documents + document, return_counts=True)
    starts = np.searchsorted(pairs, np.arange(len(words) + 1) * documents)
    slots = (pairs % documents + start).astype(np.int32)
    return Segment(words, starts, slots, _narrow(counts)), lengths


def _sorted_words(encoded: pa.DictionaryArray) -> tuple[NDArray[np.int64], pa.Array]:
    """The distinct words, sorted, and the place of each occurrence among them."""
    order = pc.sort_indices(encoded.dictionary)
    place = np.empty(len(order), dtype=np.int64)
    place[order.to_numpy()] = np.arange(len(order))
    return place[encoded.indices.to_numpy()], pc.take(encoded.dictionary, order, memory_pool=KEPT)


def merged(first: Segment, second: Segment) -> Segment:
    """Both as one; the slots of `second` are behind those of `first`."""
    both = pa.chunked_array([first.terms, second.terms]).combine_chunks().dictionary_encode()
    numbers, words = _sorted_words(both)
    split = len(first.terms)
    sizes = np.diff(first.starts), np.diff(second.starts)
    term = np.concatenate([np.repeat(numbers[:split], sizes[0]), np.repeat(numbers[split:], sizes[1])])
    order = np.argsort(term, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(term, minlength=len(words)))])
    slots = np.concatenate([first.slots, second.slots])[order]
    return Segment(words, starts, slots, _narrow(np.concatenate([first.counts, second.counts])[order]))


def _narrow(counts: NDArray[Any]) -> NDArray[np.unsignedinteger[Any]]:
    """`counts` in as few bytes as hold them."""
    narrow: NDArray[np.unsignedinteger[Any]] = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
    return narrow
