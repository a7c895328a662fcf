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
    """What feedback taught of the candidates; `relevant` is their relevance with the links' lift, and `named`
    says of every live memory whether the question names its author."""

    usefulness: Floats | None
    parts: dict[str, Floats]
    relevant: Seen
    named: Mask


def learned_of(
    cache: NamespaceCache, live: Live, question: Question, places: NDArray[np.int64], seen: Seen
) -> Learned:
    """The usefulness of the candidates at `places`."""
    texts, knowledge, kind = live.texts, question.knowledge, question.query_type
    authors = live.numbers(question.authors)
    named = np.isin(texts.author, authors) if authors else np.zeros(len(texts.author), dtype=bool)
    links, parts = np.ones(len(places)), dict[str, Floats]()
    if knowledge is not None and knowledge.pooled and question.weights.links:
        links, parts = link_lift(knowledge, kind, texts, named, places, question.weights.links)
    relevant = Seen(seen.relevance * links, seen.terms)
    usefulness = links if parts else None
    if knowledge is not None and knowledge.weights is not None:
        lifted, shares = lift(_features(cache, live, question, places, relevant), knowledge.weights)
        usefulness = links * lifted
        parts |= {f"model:{name}": shares[:, at] for at, name in enumerate(FEATURES)}
    return Learned(usefulness, parts, relevant, named)


def _features(
    cache: NamespaceCache, live: Live, question: Question, places: NDArray[np.int64], seen: Seen
) -> Floats:
    coverage = cache.postings.coverage(question.terms, live.slots[places])
    return features_of(seen, coverage, live.texts, places, question.query_type)


def traces(
    cache: NamespaceCache,
    live: Live,
    question: Question,
    learned: Learned,
    places: NDArray[np.int64],
    chosen: list[int],
) -> list[Trace]:
    """What is kept of the candidates that were `chosen` among those at `places`."""
    seen, there = learned.relevant, places[chosen]
    terms = {name: values[chosen] for name, values in seen.terms.items()}
    features = _features(cache, live, question, there, Seen(seen.relevance[chosen], terms))
    shapes = shapes_at(live.texts, learned.named, there)
    return [Trace(shape, tuple(row)) for shape, row in zip(shapes, features.tolist(), strict=True)]
