"""An embedder without a model, for tests and offline use: near texts are those that share letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from mnemolog.schemas.errors import InvalidInputError

NGRAM_LENGTHS = (2, 3, 4)
"""Characters of an n-gram, the marks around a word included. Two, because many Chinese words have two."""


class HashingEmbedder:
    """Signed feature hashing (Weinberger et al. 2009) of character n-grams.

    The same text gives the same bits in any batch, process and machine: counts are whole numbers, and only
    the last step, the division by the length, rounds.
    """

    def __init__(self, dim: int = 256) -> None:
        """`dim` is the length of a vector; below about 64 unlike texts start to look alike."""
        if dim < 1:
            raise InvalidInputError("dim must be at least 1", field="dim")
        self.dim = dim
        self.name = f"hashing-{NGRAM_LENGTHS[0]}-{NGRAM_LENGTHS[-1]}-{dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text: float32 of shape [len(texts), dim], each of length 1."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            counts = self._counts(_hashes(text))
            if not counts.any():
                counts = self._counts(_word_hashes(""))
            vectors[row] = counts / np.sqrt((counts * counts).sum())
        return vectors

    def _counts(self, hashes: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The signed counts of the places; the lowest bit of a hash is its sign."""
        places = (hashes >> np.uint64(1)) % np.uint64(self.dim)
        signs = (hashes & np.uint64(1)) * 2.0 - 1.0
        return np.bincount(places.astype(np.intp), signs, self.dim).astype(np.float64)


def _hashes(text: str) -> NDArray[np.uint64]:
    words = unicodedata.normalize("NFKC", text).casefold().split() or [""]
    return np.concatenate([_word_hashes(word) for word in words])


@lru_cache(maxsize=8192)
def _word_hashes(word: str) -> NDArray[np.uint64]:
    marked = f"<{word}>"
    starts = [(start, length) for length in NGRAM_LENGTHS for start in range(len(marked) - length + 1)]
    return np.array([_hash(marked[start : start + length]) for start, length in starts], dtype=np.uint64)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
