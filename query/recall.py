"""Recall: candidates from two searches and their neighbours, one score, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.learned import learned_of
from mnemolog.query.live import Live
from mnemolog.query.masks import Mask
from mnemolog.query.models import Hit, MemoryItem, to_item
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.question import Question, Rule
from mnemolog.query.ranking import Found, ranked
from mnemolog.query.scoring.formulas import KIND_IMPORTANCE, NEUTRAL, Floats
from mnemolog.query.scoring.relevance import Evidence, Sought, relevance
from mnemolog.query.scoring.score import Candidates
from mnemolog.query.scoring.usefulness import Seen
from mnemolog.schemas.checks import check_finite
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.filters import EVERYTHING

CANDIDATES = 50
"""How many memories each search contributes."""

NEIGHBOURS_OF = 20
"""Of so many of the best, the memories right before and after are candidates too."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The hits, best first; how many candidates were scored; and the least cosine distance among those that
    only the threshold kept out, None if there are none."""

    hits: list[Hit]
    candidates: int = 0
    nearest_beyond: float | None = None


def recall(cache: NamespaceCache, live: Live, question: Question) -> Recalled:
    """The `k` best memories of the namespace, and what was looked at."""
    evidence = _evidence(cache, live, question)
    total, terms = relevance(evidence, live.texts, Sought(question.asks, question.authors), question.weights)
    found = _candidates(evidence, total, live, _shown(cache, live, question))
    places, slots = found.places, live.slots[found.places]
    if not places.size:
        return Recalled([])
    parts = {name: values[places] for name, values in terms.items()}
    learned = learned_of(cache, live, question, places, Seen(total[places], parts))
    kinds = _kinds(cache, slots)
    age = question.now.timestamp() - cache.used[slots]
    candidates = Candidates(
        total[places],
        parts | _cosine_part(evidence, places),
        np.where(np.isin(kinds, sorted(question.lasting)), 0.0, age),
        cache.importance[slots],
        cache.superseded[slots],
        learned.usefulness,
        learned.parts,
        _rules(cache, slots, question),
        np.array([KIND_IMPORTANCE.get(kind, NEUTRAL) for kind in kinds]),
        cache.pinned[slots],
    )
    hits, nearest = ranked(cache, live, question, found, candidates, learned)
    return Recalled(hits, int(places.size), nearest)


def _kinds(cache: NamespaceCache, slots: NDArray[np.int64]) -> list[str]:
    codes, values = cache.values("kind", slots)
    return [values[code] for code in codes.tolist()]


def _rules(cache: NamespaceCache, slots: NDArray[np.int64], question: Question) -> dict[str, Floats]:
    """What each rule of the caller says of each candidate."""
    if not question.rules:
        return {}
    rows = [cache.row(slot) for slot in slots.tolist()]
    items = [to_item(row, cache.usage(row["pk"])) for row in rows]
    said = {
        name: np.array([_said(name, rule, item) for item in items]) for name, rule in question.rules.items()
    }
    return {f"rule:{name}": values for name, values in said.items()}


def _said(name: str, rule: Rule, item: MemoryItem) -> float:
    try:
        value = rule(item)
        check_finite(f"rules.{name}", value)
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"the rule {name} failed on {item.id!r}: {error}", field=f"rules.{name}"
        ) from error
    if value < 0:
        raise InvalidInputError(f"the rule {name} gave {value!r}, less than 0", field=f"rules.{name}")
    return float(value)


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


def _candidates(evidence: Evidence, total: Floats, live: Live, shown: Mask) -> Found:
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
    return Found(places, by_vector[places], by_keyword[places])


def _best(values: Floats, mask: Mask, count: int) -> Mask:
    """The `count` highest values among those in `mask`."""
    allowed = np.flatnonzero(mask)
    if allowed.size > count:
        allowed = allowed[np.argpartition(-values[allowed], count)[:count]]
    best = np.zeros(len(values), dtype=bool)
    best[allowed] = True
    return best
