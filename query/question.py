"""A recall's question: what to look for, in which memories, and how to score them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.models import MemoryItem
from mnemolog.query.scoring.english import Asks
from mnemolog.query.scoring.usefulness import Knowledge
from mnemolog.query.scoring.weights import Weights
from mnemolog.schemas.filters import EVERYTHING, Node

DEFAULT_WEIGHTS = Weights()

Rule: TypeAlias = Callable[[MemoryItem], float]
"""Gives what a memory's score is multiplied by: a finite number of at least 0."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for, in which memories of the namespace, and how to score them.

    `terms` are the analyzed words of the query without participants' names, `authors` those it names,
    `vector` its embedding (float32 [dim]) or None. `threshold` is the greatest cosine distance of a
    hit, `min_score` its least score. `query_type` is what kind of question it is, `knowledge` what feedback
    taught, None for nothing. `max_tokens` bounds what is shown, `diversity` (0…1) sets near duplicates apart,
    `rules` multiply the score, `lasting` are the kinds that do not age.
    """

    terms: Sequence[str]
    asks: Asks
    now: datetime
    authors: tuple[str, ...] = ()
    vector: NDArray[np.float32] | None = None
    k: int = 5
    where: Node = EVERYTHING
    superseded: bool = False
    threshold: float | None = None
    min_score: float = 0.0
    weights: Weights = DEFAULT_WEIGHTS
    query_type: str = "other"
    knowledge: Knowledge | None = None
    max_tokens: int | None = None
    diversity: float = 0.0
    rules: Mapping[str, Rule] = field(default_factory=dict)
    lasting: frozenset[str] = frozenset()
