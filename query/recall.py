"""Recall: candidates from two searches and their neighbours, one score, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.live import Live
from mnemolog.query.masks import Mask
from mnemolog.query.models import Factor, Hit, Trace, to_item
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.scoring.english import Asks
from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.relevance import Evidence, Sought, relevance
from mnemolog.query.scoring.score import Candidates, ScoredFactor, score
from mnemolog.query.scoring.usefulness import (
    FEATURES,
    Knowledge,
    Seen,
    features_of,
    lift,
    link_lift,
    shapes_at,
)
from mnemolog.query.scoring.weights import Weights
from mnemolog.schemas.filters import EVERYTHING, Node
from mnemolog.schemas.rows import Row

CANDIDATES = 50
"""How many memories each search contributes."""

NEIGHBOURS_OF = 20
"""Of so many of the best, the memories right before and after are candidates too."""

STRONGEST = 4
"""Of what was learned, a hit shows so many parts."""

DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for, in which memories of the namespace, and how to score them.

    `terms` are the analyzed words of the query without participants' names, `authors` the numbers of those it
    names, `vector` its embedding (float32 [dim]) or None. `threshold` is the greatest cosine distance of a
    hit, `min_score` its least score. `query_type` is what kind of question it is, `knowledge` what feedback
    taught, None for nothing.
    """

    terms: Sequence[str]
    asks: Asks
    now: datetime
    authors: tuple[int, ...] = ()
    vector: NDArray[np.float32] | None = None
    k: int = 5
    where: Node = EVERYTHING
    superseded: bool = False
    threshold: float | None = None
    min_score: float = 0.0
    weights: Weights = DEFAULT_WEIGHTS
    query_type: str = "other"
    knowledge: Knowledge | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """The candidates, as places in the live columns, and what found each."""

    places: NDArray[np.int64]
    by_vector: Mask
    by_keyword: Mask


def recall(cache: NamespaceCache, live: Live, question: Question) -> tuple[list[Hit], int]:
    """The `k` best memories of the namespace, best first, and how many candidates were scored."""
    evidence = _evidence(cache, live, question)
    total, terms = relevance(evidence, live.texts, Sought(question.asks, question.authors), question.weights)
    found = _candidates(evidence, total, live, _shown(cache, live, question))
    places, slots = found.places, live.slots[found.places]
    if not places.size:
        return [], 0
    parts = {name: values[places] for name, values in terms.items()}
    learned = _learned(cache, live, question, places, Seen(total[places], parts))
    candidates = Candidates(
        total[places],
        parts | _cosine_part(evidence, places),
        question.now.timestamp() - cache.used[slots],
        cache.importance[slots],
        cache.superseded[slots],
        learned.usefulness,
        learned.parts,
    )
    return _ranked(cache, live, question, found, candidates, learned), int(places.size)


@dataclass(frozen=True, slots=True)
class _Learned:
    """What feedback taught of the candidates, and what is kept of each to learn from: `features` of shape
    [candidates, features]; `named` says of every live memory whether the question names its author."""

    usefulness: Floats | None
    parts: dict[str, Floats]
    features: Floats
    named: Mask


def _learned(
    cache: NamespaceCache, live: Live, question: Question, places: NDArray[np.int64], seen: Seen
) -> _Learned:
    texts, knowledge, kind = live.texts, question.knowledge, question.query_type
    named = np.isin(texts.author, question.authors)
    links, parts = np.ones(len(places)), dict[str, Floats]()
    if knowledge is not None and knowledge.pooled and question.weights.links:
        links, parts = link_lift(knowledge, kind, texts, named, places, question.weights.links)
    coverage = cache.postings.coverage(question.terms, cache.size)[live.slots][places]
    ranked = Seen(seen.relevance * links, seen.terms)
    features = features_of(ranked, coverage, texts, places, kind)
    usefulness = links if parts else None
    if knowledge is not None and knowledge.weights is not None:
        lifted, shares = lift(features, knowledge.weights)
        usefulness = links * lifted
        parts |= {f"model:{name}": shares[:, at] for at, name in enumerate(FEATURES)}
    return _Learned(usefulness, parts, features, named)


def _cosine_part(evidence: Evidence, places: NDArray[np.int64]) -> dict[str, Floats]:
    return {} if evidence.cosine is None else {"cosine": evidence.cosine[places]}


def _evidence(cache: NamespaceCache, live: Live, question: Question) -> Evidence:
    bm25 = cache.postings.scores(question.terms, cache.size)[live.slots]
    sessions = live.texts.sequence.sessions
    session_bm25 = cache.postings.group_scores(question.terms, live.session_of_slot, sessions)
    if question.vector is None or not live.slots.size:
        return Evidence(bm25, None, session_bm25)
    # One thread: a matrix product's threads are ten times as slow where cores are busy, and not bit-equal.
    cosine: Floats = np.vecdot(cache.vectors[: cache.size], question.vector).astype(np.float64)[live.slots]
    cosine[~cache.has_vector[live.slots]] = np.nan
    return Evidence(bm25, None if np.isnan(cosine).all() else cosine, session_bm25)


def _shown(cache: NamespaceCache, live: Live, question: Question) -> Mask:
    """Which of the live memories may be hits."""
    mask = np.zeros(cache.size, dtype=bool)
    mask[live.slots] = question.superseded | ~cache.superseded[live.slots]
    if question.where != EVERYTHING:
        mask = cache.matching(question.where, mask)
    shown: Mask = mask[live.slots]
    return shown


def _candidates(evidence: Evidence, total: Floats, live: Live, shown: Mask) -> _Found:
    by_keyword = _best(evidence.bm25, shown & (evidence.bm25 > 0), CANDIDATES)
    by_vector = np.zeros_like(by_keyword)
    if evidence.cosine is not None:
        by_vector = _best(evidence.cosine, shown & ~np.isnan(evidence.cosine), CANDIDATES)
    found = by_keyword | by_vector
    best = _best(total, found, NEIGHBOURS_OF)
    sequence = live.texts.sequence
    for beside in (sequence.before, sequence.after):
        there = beside[best]
        found[there[there >= 0]] = True
    places = np.flatnonzero(found & shown)
    return _Found(places, by_vector[places], by_keyword[places])


def _best(values: Floats, mask: Mask, count: int) -> Mask:
    """The `count` highest values among those in `mask`."""
    allowed = np.flatnonzero(mask)
    if allowed.size > count:
        allowed = allowed[np.argpartition(-values[allowed], count)[:count]]
    best = np.zeros(len(values), dtype=bool)
    best[allowed] = True
    return best


def _ranked(
    cache: NamespaceCache,
    live: Live,
    question: Question,
    found: _Found,
    candidates: Candidates,
    learned: _Learned,
) -> list[Hit]:
    total, factors = score(candidates, question.weights)
    keep = total >= question.min_score
    if question.threshold is not None and "cosine" in candidates.terms:
        keep &= 1 - candidates.terms["cosine"] <= question.threshold
    order = np.lexsort((found.places, np.abs(candidates.age), -total))  # of equals the nearest to now
    best = [int(at) for at in order if keep[at]][: question.k]
    return [
        _hit(
            cache.row(int(live.slots[found.places[at]])),
            cache,
            float(total[at]),
            _factors(factors, at),
            _origins(found, at),
            Trace(
                shapes_at(live.texts, learned.named, int(found.places[at])),
                tuple(learned.features[at].tolist()),
            ),
        )
        for at in best
    ]


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
    shown = (one for one in factors if one.name != "superseded" or one.base[at] != 1.0)
    return {one.name: _factor(one, at) for one in shown}


def _factor(factor: ScoredFactor, at: int) -> Factor:
    parts = {name: float(values[at]) for name, values in factor.parts.items() if values[at] != 0}
    if factor.name == "usefulness":
        strongest = sorted(parts, key=lambda name: -abs(parts[name]))[:STRONGEST]
        parts = {name: parts[name] for name in strongest}
    return Factor(factor.name, float(factor.base[at]), factor.exponent, float(factor.value[at]), parts)


def _origins(found: _Found, at: int) -> tuple[str, ...]:
    named = [("vector", found.by_vector[at]), ("keyword", found.by_keyword[at])]
    return tuple(name for name, there in named if there) or ("neighbour",)
