"""The score: a log-linear product of factors, each with an exponent.

score = relevance^w · recency^w · importance^w · usefulness^w · rules
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import Floats, importance, recency
from mnemolog.query.scoring.weights import Weights


@dataclass(frozen=True, slots=True)
class Candidates:
    """The columns of the candidates that a score needs, one entry a candidate.

    `terms` are those that `relevance` is the sum of. `age` is in seconds since last use; `importance` is NaN
    where none was given; `usefulness` is None where nothing was learned, its parts are in `lifts`.
    """

    relevance: Floats
    terms: Mapping[str, Floats]
    age: Floats
    importance: Floats
    superseded: NDArray[np.bool_]
    usefulness: Floats | None = None
    lifts: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredFactor:
    """One factor over all candidates: `value` is `base ** exponent`."""

    name: str
    base: Floats
    exponent: float
    value: Floats
    parts: Mapping[str, Floats] = field(default_factory=dict)


def score(candidates: Candidates, weights: Weights) -> tuple[Floats, list[ScoredFactor]]:
    """The score of each candidate and the factors that it is the product of, in that order.

    A factor whose exponent is 0 is left out.
    """
    age = np.maximum(candidates.age, 0.0)
    factors = [
        _factor("relevance", candidates.relevance, weights.relevance, candidates.terms),
        _factor(
            "recency",
            recency(age, weights.half_life, weights.recency_floor),
            weights.recency,
            {"age_days": age / 86_400},
        ),
        _factor("importance", importance(candidates.importance), weights.importance),
        None
        if candidates.usefulness is None
        else _factor("usefulness", candidates.usefulness, weights.usefulness, candidates.lifts),
        _factor("superseded", np.where(candidates.superseded, weights.superseded, 1.0), 1.0),
    ]
    kept = [factor for factor in factors if factor is not None]
    total = np.ones_like(age)
    for factor in kept:
        total = total * factor.value
    return total, kept


def _factor(
    name: str, base: Floats, exponent: float, parts: Mapping[str, Floats] | None = None
) -> ScoredFactor | None:
    if exponent == 0:
        return None
    value = base if exponent == 1 else base**exponent
    return ScoredFactor(name, base, exponent, value, parts or {})
