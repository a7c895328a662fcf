"""What feedback taught of the candidates of a recall, and what is kept of them to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.live import Live
from mnemolog.query.masks import Mask
from mnemolog.query.models import Trace
from mnemolog.query.question import Question
from mnemolog.query.scoring.features import FEATURES, Scene, Seen, features_of
from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.relevance import Evidence
from mnemolog.query.scoring.terms import Beside
from mnemolog.query.scoring.usefulness import lift, link_lift, shapes_at


@dataclass(frozen=True, slots=True)
class Learned:
    """What feedback taught of the candidates, and their `features` [candidates, features]; `named` says of
    every live memory whether the question names its author."""

    usefulness: Floats | None
    parts: dict[str, Floats]
    features: Floats
    named: Mask


def learned_of(
    live: Live,
    question: Question,
    evidence: Evidence,
    places: NDArray[np.int64],
    held: Beside,
    seen: Seen,
) -> Learned:
    """The usefulness of the candidates at `places`, which ascend."""
    texts, knowledge, kind = live.texts, question.knowledge, question.query_type
    authors = live.numbers(question.authors)
    named = np.isin(texts.author, authors) if authors else np.zeros(len(texts.author), dtype=bool)
    links, parts = np.ones(len(places)), dict[str, Floats]()
    if knowledge is not None and knowledge.pooled and question.weights.links:
        links, parts = link_lift(knowledge, kind, texts, named, places, question.weights.links)
    scene = Scene(evidence, texts, places, held, kind)
    features = features_of(scene, Seen(seen.relevance * links, seen.terms))
    usefulness = links if parts else None
    if knowledge is not None and knowledge.weights is not None:
        lifted, shares = lift(features, knowledge.weights)
        usefulness = links * lifted
        parts |= {f"model:{name}": shares[:, at] for at, name in enumerate(FEATURES)}
    return Learned(usefulness, parts, features, named)


def traces(live: Live, learned: Learned, places: NDArray[np.int64], chosen: list[int]) -> list[Trace]:
    """What is kept of the candidates that were `chosen` among those at `places`."""
    shapes = shapes_at(live.texts, learned.named, places[chosen])
    rows = learned.features[chosen].tolist()
    return [Trace(shape, tuple(row)) for shape, row in zip(shapes, rows, strict=True)]
