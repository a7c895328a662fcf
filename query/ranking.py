"""From scored candidates to hits, each with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.choosing import diverse, within_budget
from mnemolog.query.learned import Learned, traces
from mnemolog.query.live import Live
from mnemolog.query.masks import Mask
from mnemolog.query.models import Factor, Hit, Trace, to_item
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.question import Question
from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.score import Candidates, ScoredFactor, score
from mnemolog.schemas.rows import Row

STRONGEST = 4
"""Of what was learned, a hit shows so many parts."""

_RULES = frozenset({"superseded", "pinned"})


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates, as places in the live columns, and what found each."""

    places: NDArray[np.int64]
    by_vector: Mask
    by_keyword: Mask


def ranked(
    cache: NamespaceCache,
    live: Live,
    question: Question,
    found: Found,
    candidates: Candidates,
    learned: Learned,
) -> tuple[list[Hit], float | None]:
    """The hits, best first, and the least cosine distance that the threshold alone kept out."""
    total, factors = score(candidates, question.weights)
    keep = total >= question.min_score
    nearest = None
    if question.threshold is not None and "cosine" in candidates.terms:
        distance = 1 - candidates.terms["cosine"]
        close = distance <= question.threshold
        beyond = distance[keep & ~close & ~np.isnan(distance)]
        nearest = float(beyond.min()) if beyond.size else None
        keep &= close
    order = np.lexsort((found.places, np.abs(candidates.age), -total))  # of equals the nearest to now
    slots = live.slots[found.places]
    best = _chosen(cache, question, [int(at) for at in order if keep[at]], total, slots)
    kept = traces(cache, live, question, learned, found.places, best)
    hits = [
        _hit(
            cache.row(int(slots[at])),
            cache,
            float(total[at]),
            _factors(factors, at),
            _origins(found, at),
            trace,
        )
        for at, trace in zip(best, kept, strict=True)
    ]
    return hits, nearest


def _chosen(
    cache: NamespaceCache, question: Question, order: list[int], total: Floats, slots: NDArray[np.int64]
) -> list[int]:
    if question.diversity:
        order = diverse(order, total, cache.vectors[slots], len(order), question.diversity)
    return within_budget(
        order, lambda at: str(cache.row(int(slots[at]))["text"]), question.k, question.max_tokens
    )


def _hit(
    row: Row,
    cache: NamespaceCache,
    total: float,
    factors: dict[str, Factor],
    origins: tuple[str, ...],
    trace: Trace,
) -> Hit:
    return Hit(to_item(row, cache.usage(row["pk"])), total, factors, origins, trace)


def _factors(factors: Sequence[ScoredFactor], at: int) -> dict[str, Factor]:
    shown = (one for one in factors if one.name not in _RULES or one.base[at] != 1.0)
    return {one.name: _factor(one, at) for one in shown}


def _factor(factor: ScoredFactor, at: int) -> Factor:
    parts = {name: float(values[at]) for name, values in factor.parts.items() if values[at] != 0}
    if factor.name == "usefulness":
        strongest = sorted(parts, key=lambda name: -abs(parts[name]))[:STRONGEST]
        parts = {name: parts[name] for name in strongest}
    return Factor(factor.name, float(factor.base[at]), factor.exponent, float(factor.value[at]), parts)


def _origins(found: Found, at: int) -> tuple[str, ...]:
    named = [("vector", found.by_vector[at]), ("keyword", found.by_keyword[at])]
    return tuple(name for name, there in named if there) or ("neighbour",)
