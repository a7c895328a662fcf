"""Relevance: how well a memory answers the question, before anything else counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mnemolog.query.scoring.formulas import Floats, minmax, share_of_max
from mnemolog.query.scoring.weights import Weights


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the two searches say of each candidate: `bm25` ≥ 0; `cosine` in −1…1, None without vectors."""

    bm25: Floats
    cosine: Floats | None


def relevance(evidence: Evidence, weights: Weights) -> tuple[Floats, dict[str, Floats]]:
    """The weighted hybrid k·bm25/max + v·minmax(cosine), divided by k + v, and its parts.

    A candidate without a vector takes the lowest cosine. Weighted fusion was measured to beat reciprocal rank
    fusion (MRR .524 to .472 on LoCoMo).
    """
    keyword = share_of_max(evidence.bm25)
    if evidence.cosine is None:
        return keyword, {"bm25": keyword}
    known = ~np.isnan(evidence.cosine)
    similar = np.zeros_like(keyword)
    similar[known] = minmax(evidence.cosine[known])
    total = weights.keyword + weights.vector
    if total == 0:
        return np.ones_like(keyword), {}
    blended = (weights.keyword * keyword + weights.vector * similar) / total
    return blended, {"bm25": keyword, "cosine": evidence.cosine}
