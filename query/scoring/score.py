"""The score: a log-linear product of factors, each with an exponent.

score = relevance^w · recency^w · importance^w · usefulness^w · rules
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import NEUTRAL, Floats, importance, recency, similarity
from mnemolog.query.scoring.weights import Weights


@dataclass(frozen=True, slots=True)
class Candidates:
    """The columns of the candidates that a score needs, one entry a candidate.

    `terms` are those that `relevance` is the sum of, and `cosine` where there are vectors. `age` is in
    seconds since last use; `importance` is NaN where none was given, and then `guessed`; `rules` are
    multipliers by name; `usefulness` is None where nothing was learned, its parts are in `lifts`.
    """

    relevance: Floats
    terms: Mapping[str, Floats]
    age: Floats
    importance: Floats
    superseded: NDArray[np.bool_]
    usefulness: Floats | None = None
    lifts: Mapping[str, Floats] = field(default_factory=dict)
    rules: Mapping[str, Floats] = field(default_factory=dict)
    guessed: Floats | float = NEUTRAL
    pinned: NDArray[np.bool_] | bool = False


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
    sums = weights.similarity > 0
    factors = [_sum(candidates, weights)] if sums else _product(candidates, weights)
    rules = {"superseded": np.where(candidates.superseded, weights.superseded, 1.0), **candidates.rules}
    if weights.pinned != 1:
        rules["pinned"] = np.where(candidates.pinned, weights.pinned, np.ones_like(candidates.age))
    kept = [factor for factor in factors if factor is not None]
    kept += [ScoredFactor(name, values, 1.0, values) for name, values in rules.items()]
    total = np.ones_like(candidates.age)
    for factor in kept:
        total = total * factor.value
    return total, kept


def _product(candidates: Candidates, weights: Weights) -> list[ScoredFactor | None]:
    age = np.maximum(candidates.age, 0.0)
    fresh = recency(age, weights.half_life, weights.recency_floor)
    important = importance(candidates.importance, candidates.guessed)
    useful = candidates.usefulness
    return [
        _factor("relevance", candidates.relevance, weights.relevance, candidates.terms),
        _factor("recency", fresh, weights.recency, {"age_days": age / 86_400}),
        _factor("importance", important, weights.importance),
        None if useful is None else _factor("usefulness", useful, weights.usefulness, candidates.lifts),
    ]


def _sum(candidates: Candidates, weights: Weights) -> ScoredFactor:
    """w·(1 − d/2) + w·½^(age / half-life) + w·importance. Source: betterdb-agent-memory."""
    age = np.maximum(candidates.age, 0.0)
    cosine = np.nan_to_num(candidates.terms.get("cosine", np.full_like(age, -1.0)), nan=-1.0)
    given = np.where(np.isnan(candidates.importance), NEUTRAL, candidates.importance)
    parts = {
        "similarity": weights.similarity * similarity(cosine),
        "recency": weights.recency * recency(age, weights.half_life, weights.recency_floor),
        "importance": weights.importance * given,
    }
    total = sum(parts.values(), np.zeros_like(age))
    return ScoredFactor("sum", total, 1.0, total, parts)


def _factor(
    name: str, base: Floats, exponent: float, parts: Mapping[str, Floats] | None = None
) -> ScoredFactor | None:
    if exponent == 0:
        return None
    value = base if exponent == 1 else base**exponent
    return ScoredFactor(name, base, exponent, value, parts or {})
