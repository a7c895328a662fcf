"""The formulas of a score, over arrays of candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

K1 = 0.9
B = 0.4


def idf(documents: int, frequency: int) -> float:
    """How rare a term is: ln(1 + (N − n + ½) / (n + ½)), always positive (Lucene's BM25)."""
    return float(np.log(1 + (documents - frequency + 0.5) / (frequency + 0.5)))


def length_norm(lengths: Floats, mean_length: float) -> Floats:
    """How much documents of `lengths` terms hold a term's counts down: k₁(1 − b + b·l/l̄).

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with k₁ and b of Anserini.
    """
    return K1 * (1 - B + B * lengths / mean_length)


def saturation(counts: Floats, norms: Floats) -> Floats:
    """What a term's `counts` add in documents of such `length_norm`: f(k₁+1) / (f + norm). Same source."""
    return counts * (K1 + 1) / (counts + norms)


def extent(values: Floats) -> tuple[float, float]:
    """The least and the greatest of those that are not NaN; ∞ and −∞ where there are none."""
    return float(np.fmin.reduce(values, initial=np.inf)), float(np.fmax.reduce(values, initial=-np.inf))


def minmax(values: Floats, low: float, high: float) -> Floats:
    """`values` between `low` and `high` stretched to 0…1; all 1 where these are equal, 0 for NaN."""
    stretched = np.ones_like(values) if high == low else (values - low) / (high - low)
    found: Floats = np.where(np.isnan(values), 0.0, stretched)
    return found


def share_of_max(values: Floats) -> Floats:
    """`values` divided by the largest; all 0 where none is positive."""
    high = float(values.max(initial=0.0))
    return values / high if high > 0 else np.zeros_like(values)


def recency(ages: Floats, half_life: float, floor: float) -> Floats:
    """floor + (1 − floor)·½^(age / half-life), ages in seconds and at least 0.

    Source: heapdb-memory. The floor keeps an old exact match findable.
    """
    return floor + (1 - floor) * np.exp2(-np.maximum(ages, 0.0) / half_life)


KIND_IMPORTANCE = {
    "instruction": 0.8,
    "preference": 0.7,
    "summary": 0.6,
    "episode": 0.45,
    "tool_result": 0.35,
}
"""What a memory's kind says where nobody said how important it is; every other kind is neutral."""

NEUTRAL = 0.5


def importance(values: Floats, guessed: Floats | float = NEUTRAL) -> Floats:
    """½ + importance: 1 for the neutral 0.5; from ½ to 1½. Where none was given (NaN) it is `guessed`."""
    return 0.5 + np.where(np.isnan(values), guessed, values)


def similarity(cosine: Floats) -> Floats:
    """1 − d/2 for the cosine distance d = 1 − cos: from 0 to 1. Source: betterdb-agent-memory."""
    return (1 + cosine) / 2
