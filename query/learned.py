"""What feedback taught of the candidates of a recall, and what is kept of them to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.live import Live
from mnemolog.query.masks import Mask
from mnemolog.query.models import Trace
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.question import Question
from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.usefulness import FEATURES, Seen, features_of, lift, link_lift, shapes_at


@dataclass(frozen=True, slots=True)
class Learned:
    """What feedback taught of the candidates, and what is kept of each to learn from: `features` of shape
    [candidates, features]; `named` says of every live memory whether the question names its author."""

    usefulness: Floats | None
    parts: dict[str, Floats]
    features: Floats
    named: Mask


def learned_of(
    cache: NamespaceCache, live: Live, question: Question, places: NDArray[np.int64], seen: Seen
) -> Learned:
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
    return Learned(usefulness, parts, features, named)


def trace_of(learned: Learned, live: Live, place: int, at: int) -> Trace:
    """What is kept of the candidate at `at`, which stands at `place` in the live columns."""
    return Trace(shapes_at(live.texts, learned.named, place), tuple(learned.features[at].tolist()))
