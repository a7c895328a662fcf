"""The vectors of a namespace's memories in memory, and how near each is to that of a question.

Each number is kept in two bytes, a coarse and a fine one: x = scale · (coarse + fine / 254), with a scale for
each vector. A search reads the coarse ones alone, a quarter of float32, and the few that it finds are told
exactly. With 384 dimensions a cosine by coarse bytes was off by 5e-4 (standard deviation, among 20,000), one
by both by 2e-6. Where there is no wheel of NumKong, whose dot products take bytes, numpy widens them first.
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

_BLOCK = 4_096
"""So many vectors are rounded at once."""

_COARSE, _FINE = 127, 254

Vectors32 = NDArray[np.float32]
Bytes = NDArray[np.int8]


class Vectors:
    """Vectors in numbered slots; one that was never put is zeros."""

    def __init__(self, dim: int) -> None:
        self._coarse: Bytes = np.zeros((0, dim), dtype=np.int8)
        self._fine: Bytes = np.zeros((0, dim), dtype=np.int8)
        self._scale = np.zeros(0, dtype=np.float32)

    def reserve(self, capacity: int) -> None:
        """Make room for so many slots. Room takes no memory until something is written there."""
        there, dim = self._coarse.shape
        coarse, fine = (np.zeros((capacity, dim), dtype=np.int8) for _ in range(2))
        scale = np.zeros(capacity, dtype=np.float32)
        coarse[:there], fine[:there], scale[:there] = self._coarse, self._fine, self._scale
        self._coarse, self._fine, self._scale = coarse, fine, scale

    def put(self, start: int, values: Vectors32) -> None:
        """Put `values`, [n, dim], into the slots from `start` on."""
        for at in range(0, len(values), _BLOCK):
            part = values[at : at + _BLOCK]
            slots = slice(start + at, start + at + len(part))
            self._coarse[slots], self._fine[slots], self._scale[slots] = _rounded(part)

    def near(self, size: int, sought: Vectors32) -> Floats:
        """About the cosine of each vector in the slots below `size` to `sought`, where both are of length
        1."""
        (coarse,), _, (scale,) = _rounded(sought[None])
        found: Floats = _dots(self._coarse[:size], coarse) * self._scale[:size].astype(np.float64)
        found *= float(scale)
        return found

    def doubt(self, sought: Vectors32) -> float:
        """How much farther away than another vector one may look to `near` that is nearer.

        A fine byte that is left out is off by 0.29 of a coarse step (standard deviation), on both sides of a
        product, so a cosine by 0.41 steps, and a difference of two by 0.58; this is four times that.
        """
        return 2.3 * float(np.abs(sought).max(initial=0.0)) / _COARSE

    def cosines(self, slots: NDArray[np.int64], sought: Vectors32) -> Floats:
        """The cosine of the vectors in `slots` to `sought`, where all are of length 1."""
        (sought_coarse,), (sought_fine,), (scale,) = _rounded(sought[None])
        coarse, fine = self._coarse[slots], self._fine[slots]
        crossed = _dots(coarse, sought_fine) + _dots(fine, sought_coarse)
        finest = _dots(fine, sought_fine)
        dots = _dots(coarse, sought_coarse) + (crossed + finest / _FINE) / _FINE
        found: Floats = dots * self._scale[slots].astype(np.float64) * float(scale)
        return found

    def at(self, slots: NDArray[np.int64]) -> Vectors32:
        """The vectors in `slots`, [len(slots), dim]."""
        values = self._fine[slots].astype(np.float32)
        values *= np.float32(1 / _FINE)
        values += self._coarse[slots]
        values *= self._scale[slots, None]
        return values

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return int(self._coarse.shape[1])

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return self._coarse.nbytes + self._fine.nbytes + self._scale.nbytes


def _rounded(values: Vectors32) -> tuple[Bytes, Bytes, Vectors32]:
    """The coarse and the fine bytes of each vector, and what one coarse step of it is worth, so that the
    rounded one is as long as it was."""
    step = np.abs(values).max(axis=1, initial=0.0) / np.float32(_COARSE)
    steps = values / np.where(step > 0, step, np.float32(1))[:, None]
    coarse = np.rint(steps)
    fine = np.rint((steps - coarse) * np.float32(_FINE))
    kept = coarse + fine / np.float32(_FINE)
    length = np.sqrt(np.vecdot(steps, steps) / np.maximum(np.vecdot(kept, kept), np.float32(1)))
    return coarse.astype(np.int8), fine.astype(np.int8), step * length


def _dots(rows: Bytes, sought: Bytes) -> Floats:
    """The dot product of each row with `sought`, whole numbers."""
    if not len(rows):
        return np.zeros(0)
    if numkong is not None:
        return np.asarray(numkong.dot(rows, sought[None])).astype(np.float64)
    # A matrix product would be done in threads: ten times as slow on busy cores.
    wide = sought.astype(np.float64)
    blocks = [rows[at : at + _BLOCK].astype(np.float64) for at in range(0, len(rows), _BLOCK)]
    return np.concatenate([np.vecdot(block, wide) for block in blocks])
