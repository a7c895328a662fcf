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

STRONGEST = 4
"""Of what was learned, a hit shows so many parts."""

_RULES = frozenset({"superseded", "pinned"})
_ORIGINS = {
    (True, True): ("vector", "keyword"),
    (True, False): ("vector",),
    (False, True): ("keyword",),
    (False, False): ("neighbour",),
}


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
    best = _chosen(cache, question, order[keep[order]].tolist(), total, slots)
    hits = [
        _hit(cache, slot, *reasons)
        for slot, *reasons in zip(
            slots[best].tolist(),
            total[best].tolist(),
            _factors(factors, best),
            _origins(found, best),
            traces(live, learned, found.places, best),
            strict=True,
        )
    ]
    return hits, nearest


def _chosen(
    cache: NamespaceCache, question: Question, order: list[int], total: Floats, slots: NDArray[np.int64]
) -> list[int]:
    if question.diversity:
        order = diverse(order, total, cache.vectors.at(slots), len(order), question.diversity)
    return within_budget(
        order, lambda at: str(cache.row(int(slots[at]))["text"]), question.k, question.max_tokens
    )


def _hit(
    cache: NamespaceCache,
    slot: int,
    total: float,
    factors: dict[str, Factor],
    origins: tuple[str, ...],
    trace: Trace,
) -> Hit:
    row = cache.row(slot)
    return Hit(to_item(row, cache.usage(row["pk"])), total, factors, origins, trace)


def _factors(factors: Sequence[ScoredFactor], best: Sequence[int]) -> list[dict[str, Factor]]:
    """The factors of each of the `best`; a rule that changes nothing is left out."""
    columns = [_column(factor, best) for factor in factors]
    return [
        {one.name: one for one in shown if one.name not in _RULES or one.base != 1.0}
        for shown in zip(*columns, strict=True)
    ]


def _column(factor: ScoredFactor, best: Sequence[int]) -> list[Factor]:
    names, parts = list(factor.parts), [values[best].tolist() for values in factor.parts.values()]
    strongest = STRONGEST if factor.name == "usefulness" else None
    return [
        Factor(factor.name, base, factor.exponent, value, _parts(names, numbers, strongest))
        for base, value, *numbers in zip(
            factor.base[best].tolist(), factor.value[best].tolist(), *parts, strict=True
        )
    ]


def _parts(names: Sequence[str], numbers: Sequence[float], strongest: int | None) -> dict[str, float]:
    parts = {name: number for name, number in zip(names, numbers, strict=True) if number != 0}
    if strongest is None:
        return parts
    return dict(sorted(parts.items(), key=lambda part: -abs(part[1]))[:strongest])


def _origins(found: Found, best: Sequence[int]) -> list[tuple[str, ...]]:
    both = zip(found.by_vector[best].tolist(), found.by_keyword[best].tolist(), strict=True)
    return [_ORIGINS[of] for of in both]
