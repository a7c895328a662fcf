"""Recall: candidates from two searches, one score, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.models import Factor, Hit, to_item
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.relevance import Evidence
from mnemolog.query.scoring.score import Candidates, ScoredFactor, score
from mnemolog.query.scoring.weights import Weights
from mnemolog.schemas.filters import EVERYTHING, Node

if TYPE_CHECKING:
    from mnemolog.query.masks import Mask

CANDIDATES = 50
"""How many memories each search contributes."""

DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for, in which memories of the namespace, and how to score them.

    `terms` are the analyzed words of the query, `vector` its embedding (float32 [dim]) or None. `threshold`
    is the greatest cosine distance of a hit, `min_score` its least score.
    """

    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    now: datetime
    k: int = 5
    where: Node = EVERYTHING
    superseded: bool = False
    threshold: float | None = None
    min_score: float = 0.0
    weights: Weights = DEFAULT_WEIGHTS


def recall(cache: NamespaceCache, question: Question) -> tuple[list[Hit], int]:
    """The `k` best memories of the namespace, best first, and how many candidates were scored."""
    now = question.now.timestamp()
    mask = cache.visible(now, superseded=question.superseded)
    if question.where != EVERYTHING:
        mask = cache.matching(question.where, mask)
    bm25 = np.where(mask, cache.postings.scores(question.terms, cache.size), 0.0)
    cosine = _cosines(cache, question, mask)
    found = _NONE if cosine is None else _best(cosine, np.isfinite(cosine))
    slots = np.union1d(_best(bm25, bm25 > 0), found)
    if not slots.size:
        return [], 0
    chosen = None if cosine is None else np.where(np.isneginf(cosine), np.nan, cosine)[slots]
    candidates = Candidates(
        Evidence(bm25[slots], chosen),
        now - cache.used[slots],
        cache.importance[slots],
        cache.superseded[slots],
    )
    return _ranked(cache, question, slots, candidates), int(slots.size)


_NONE = np.empty(0, dtype=np.int64)


def _cosines(cache: NamespaceCache, question: Question, mask: Mask) -> Floats | None:
    """The cosine of each slot with the query; −∞ where it may not be shown or has no vector."""
    if question.vector is None or not cache.size:
        return None
    cosine: Floats = (cache.vectors[: cache.size] @ question.vector).astype(np.float64)
    cosine[~(mask & cache.has_vector[: cache.size])] = -np.inf
    return cosine


def _best(values: Floats, mask: Mask) -> NDArray[np.int64]:
    """The slots of the `CANDIDATES` highest values among those in `mask`."""
    allowed = np.flatnonzero(mask)
    if allowed.size <= CANDIDATES:
        return allowed
    top = np.argpartition(-values[allowed], CANDIDATES)[:CANDIDATES]
    best: NDArray[np.int64] = allowed[top]
    return best


def _ranked(
    cache: NamespaceCache, question: Question, slots: NDArray[np.int64], candidates: Candidates
) -> list[Hit]:
    total, factors = score(candidates, question.weights)
    keep = total >= question.min_score
    if question.threshold is not None and candidates.evidence.cosine is not None:
        keep &= 1 - candidates.evidence.cosine <= question.threshold
    order = np.lexsort((slots, candidates.age, -total))
    best = [at for at in order if keep[at]][: question.k]
    return [_hit(cache, int(slots[at]), int(at), float(total[at]), factors, candidates) for at in best]


def _hit(
    cache: NamespaceCache,
    slot: int,
    at: int,
    total: float,
    factors: Sequence[ScoredFactor],
    candidates: Candidates,
) -> Hit:
    row = cache.row(slot)
    named = {factor.name: _factor(factor, at) for factor in factors if _shown(factor, at)}
    return Hit(to_item(row, cache.usage(row["pk"])), total, named, _origins(candidates.evidence, at))


def _shown(factor: ScoredFactor, at: int) -> bool:
    return factor.name != "superseded" or bool(factor.base[at] != 1.0)


def _factor(factor: ScoredFactor, at: int) -> Factor:
    parts = {name: float(values[at]) for name, values in factor.parts.items()}
    return Factor(factor.name, float(factor.base[at]), factor.exponent, float(factor.value[at]), parts)


def _origins(evidence: Evidence, at: int) -> tuple[str, ...]:
    found = []
    if evidence.cosine is not None and not np.isnan(evidence.cosine[at]):
        found.append("vector")
    if evidence.bm25[at] > 0:
        found.append("keyword")
    return tuple(found)
