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
from mnemolog.query.scoring.features import Seen
from mnemolog.query.scoring.formulas import KIND_IMPORTANCE, NEUTRAL, Floats
from mnemolog.query.scoring.relevance import Evidence, Sought, relevance
from mnemolog.query.scoring.score import Candidates
from mnemolog.query.scoring.terms import Beside
from mnemolog.query.topmost import topmost
from mnemolog.schemas.checks import check_finite
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.filters import EVERYTHING

CANDIDATES = 50
"""How many memories each search contributes."""

MOST_IN_DOUBT = 4_096
"""Of so many that may be among the nearest the exact cosine is told at most."""

Places = NDArray[np.int64]

_NOWHERE: Places = np.zeros(0, dtype=np.int64)

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
    found, held, relevant = _candidates(cache, live, question, evidence, _shown(cache, live, question))
    places, slots = found.places, live.slots[found.places]
    if not places.size:
        return Recalled([])
    learned = learned_of(live, question, evidence, places, held, relevant)
    kinds = _kinds(cache, slots)
    age = question.now.timestamp() - cache.used[slots]
    candidates = Candidates(
        relevant.relevance,
        {**relevant.terms, **_cosine_part(evidence, places)},
        np.where(np.isin(kinds, sorted(question.lasting)), 0.0, age) if question.lasting else age,
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
    bm25 = live.of(cache.postings.scores(question.terms, cache.size))
    session_bm25 = cache.postings.group_scores(question.terms, live.sessions)
    if cache.part is not None:
        session_bm25 = cache.part.session_bm25
    none = live.vectorless is not None and live.vectorless.all()
    if question.vector is None or not live.slots.size or none:
        return Evidence(bm25, None, session_bm25)
    cosine: Floats = live.of(cache.vectors.near(cache.size, question.vector))
    if live.vectorless is not None:
        cosine[live.vectorless] = np.nan
    return Evidence(bm25, cosine, session_bm25)


def _shown(cache: NamespaceCache, live: Live, question: Question) -> Mask:
    """Which of the live memories may be hits."""
    shown = np.ones_like(live.active) if question.superseded else live.active
    if question.where == EVERYTHING:
        return shown
    mask = np.zeros(cache.size, dtype=bool)
    mask[live.slots] = shown
    selected: Mask = live.of(cache.matching(question.where, mask))
    return selected


def _candidates(
    cache: NamespaceCache, live: Live, question: Question, evidence: Evidence, shown: Mask
) -> tuple[Found, Beside, Seen]:
    """The best of both searches and the neighbours of the best, which of the question's terms are held there,
    and how relevant they are."""
    by_keyword = topmost(evidence.bm25, shown & (evidence.bm25 > 0), CANDIDATES)
    by_vector = _NOWHERE
    if evidence.cosine is not None:
        allowed = shown if live.vectorless is None else shown & ~live.vectorless
        by_vector = _nearest(cache, live, question, evidence, allowed)
    keyword, vector = _mask(len(shown), by_keyword), _mask(len(shown), by_vector)
    found = keyword | vector
    places = np.flatnonzero(_with_neighbours(found, np.flatnonzero(found), live))
    _tell_exactly(cache, live, question, evidence, places)
    sought = Sought(question.asks, live.numbers(question.authors))
    held = _held(cache, live, question, places)
    total, terms = relevance(evidence, live.texts, sought, question.weights, places, held)
    best = places[topmost(total, found[places], NEIGHBOURS_OF)]
    kept = np.flatnonzero((_with_neighbours(found, best, live) & shown)[places])
    seen = Seen(total[kept], {name: values[kept] for name, values in terms.items()})
    return Found(places[kept], vector[places[kept]], keyword[places[kept]]), held.at(kept), seen


def _nearest(
    cache: NamespaceCache, live: Live, question: Question, evidence: Evidence, allowed: Mask
) -> Places:
    """The nearest of those that are allowed: exactly, where rounding leaves in doubt who is among them."""
    near = evidence.cosine
    if near is None or question.vector is None:
        return _NOWHERE
    nearest = topmost(near, allowed, CANDIDATES)
    if not nearest.size:
        return nearest
    least = near[nearest].min() - cache.vectors.doubt(question.vector)
    doubtful = topmost(near, allowed & (near >= least), MOST_IN_DOUBT)
    if doubtful.size == nearest.size:
        return nearest
    _tell_exactly(cache, live, question, evidence, doubtful)
    return doubtful[topmost(near[doubtful], np.ones(doubtful.size, dtype=bool), CANDIDATES)]


def _tell_exactly(
    cache: NamespaceCache, live: Live, question: Question, evidence: Evidence, places: Places
) -> None:
    if evidence.cosine is None or question.vector is None:
        return
    told = places if live.vectorless is None else places[~live.vectorless[places]]
    evidence.cosine[told] = cache.vectors.cosines(live.slots[told], question.vector)


def _held(cache: NamespaceCache, live: Live, question: Question, places: Places) -> Beside:
    before = live.texts.sequence.before[places]
    slots = np.concatenate([live.slots[places], np.where(before >= 0, live.slots[before], -1)])
    held, many = cache.postings.holding(question.terms, slots), len(places)
    return Beside(held.at(slice(0, many)), held.at(slice(many, 2 * many)))


def _mask(size: int, places: Places) -> Mask:
    mask = np.zeros(size, dtype=bool)
    mask[places] = True
    return mask


def _with_neighbours(found: Mask, places: Places, live: Live) -> Mask:
    """Those found and who stands right before and after those at `places`."""
    mask = found.copy()
    for beside in (live.texts.sequence.before, live.texts.sequence.after):
        there = beside[places]
        mask[there[there >= 0]] = True
    return mask
