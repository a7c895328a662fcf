"""The vectors of a namespace's memories in memory, and how near each is to that of a question.

They are kept as float16: half of the memory of float32, and half of what a search has to read. Only their
directions are rounded, not their lengths: with 384 dimensions a cosine was off by 1.2e-5 (standard deviation;
at most by 6e-5 among 20,000), with more by less. Where there is no wheel of NumKong, whose dot products take
float16 and add up in float32, they stay float32: numpy takes ten times as long for float16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import Floats

numkong: Any
try:
    import numkong
except ImportError:
    numkong = None

_KIND: type[np.floating] = np.float32 if numkong is None else np.float16
_BLOCK = 4_096
"""So many vectors are rounded at once."""

Vectors32 = NDArray[np.float32]


class Vectors:
    """Vectors in numbered slots; one that was never put is zeros."""

    def __init__(self, dim: int) -> None:
        self._rows: NDArray[np.floating] = np.zeros((0, dim), dtype=_KIND)
        self._lengths = np.zeros(0, dtype=np.float32)

    def reserve(self, capacity: int) -> None:
        """Make room for so many slots. Room takes no memory until something is written there."""
        rows = np.zeros((capacity, self._rows.shape[1]), dtype=_KIND)
        lengths = np.zeros(capacity, dtype=np.float32)
        there = len(self._rows)
        rows[:there], lengths[:there] = self._rows, self._lengths
        self._rows, self._lengths = rows, lengths

    def put(self, start: int, values: Vectors32) -> None:
        """Put `values`, [n, dim], into the slots from `start` on."""
        for at in range(0, len(values), _BLOCK):
            part = values[at : at + _BLOCK]
            slots = slice(start + at, start + at + len(part))
            self._rows[slots], self._lengths[slots] = _rounded(part)

    def cosines(self, size: int, sought: Vectors32) -> Floats:
        """The cosine of each vector in the slots below `size` to `sought`, where both are of length 1."""
        (row,), (length,) = _rounded(sought[None])
        if numkong is None or not size:
            # A matrix product would be done in threads: ten times as slow on busy cores, and not bit-equal.
            dots = np.vecdot(self._rows[:size], row).astype(np.float64)
        else:
            dots = np.asarray(numkong.dot(self._rows[:size], row[None]))
        found: Floats = dots * self._lengths[:size]
        found *= length
        return found

    def at(self, slots: NDArray[np.int64]) -> Vectors32:
        """The vectors in `slots`, [len(slots), dim]."""
        return self._rows[slots].astype(np.float32) * self._lengths[slots, None]

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return int(self._rows.shape[1])

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return self._rows.nbytes + self._lengths.nbytes


def _rounded(values: Vectors32) -> tuple[NDArray[np.floating], Vectors32]:
    """Each vector's direction, and what that is to be multiplied by to be as long as the vector."""
    if numkong is None:
        return values, np.ones(len(values), dtype=np.float32)
    lengths = _length(values)
    rows = (values / np.where(lengths > 0, lengths, np.float32(1))[:, None]).astype(np.float16)
    kept = _length(rows.astype(np.float32))
    return rows, np.divide(lengths, kept, out=np.zeros_like(lengths), where=kept > 0)


def _length(values: Vectors32) -> Vectors32:
    lengths: Vectors32 = np.sqrt(np.vecdot(values, values))
    return lengths
