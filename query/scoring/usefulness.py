"""Usefulness: what feedback taught: the model over `scoring.features`, and the links people read.

A link says how often memories of one shape were used when one type of query was asked. The model is linear
over the features, fitted to all feedback (`processors.learning`), and counts only when it was better on
feedback that it had not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.relevance import Texts
from mnemolog.query.scoring.sequence import Flags, Integers
from mnemolog.schemas.usefulness import ANY, PRIOR

PSEUDOCOUNT = 20.0
"""How many ratings the prior of a link is worth: a namespace borrows that much from all others."""


def lift(features: Floats, weights: Sequence[float]) -> tuple[Floats, Floats]:
    """How much each candidate is lifted over the others [candidates], and each feature's share in the
    exponent [candidates, features].

    U = exp(z·(w − w₀) / 8), with the candidates' mean exponent taken out, so that U is about 1 and
    relevance · U orders as the model was fitted to: by z·w, where w₀ has 8 for log relevance.
    """
    change = np.array(weights, dtype=np.float64)
    change[0] -= PRIOR
    shares = features * (change / PRIOR)
    shares = shares - shares.mean(axis=0, keepdims=True)
    lifted: Floats = np.exp(shares.sum(axis=1))
    return lifted, shares


SHAPES = {
    "date": "has_date",
    "number": "has_number",
    "relative": "has_relative_time",
    "entity": "has_entity",
    "question": "asks",
}
"""The shapes of a memory that links know, each with yes and no: what its text has."""


@dataclass(frozen=True, slots=True)
class Tally:
    """A sum of ratings (each 0…1) and how many there are."""

    total: float = 0.0
    count: int = 0


Tallies = Mapping[tuple[str, str], Tally]
"""(query type, shape) → what is known of it."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What feedback taught so far: the tallies of one namespace, those of all together, and the weights of
    the model where it is served."""

    own: Tallies = field(default_factory=dict)
    pooled: Tallies = field(default_factory=dict)
    weights: tuple[float, ...] | None = None

    def link(self, query_type: str, shape: str) -> Link:
        """What is known of memories of a shape for a type of query."""
        nothing = Tally()
        own, pooled = (each.get((query_type, shape), nothing) for each in (self.own, self.pooled))
        return link_of(query_type, shape, own, pooled, self.pooled.get((query_type, ANY), nothing))


@dataclass(frozen=True, slots=True)
class Link:
    """How memories of one `shape` fared when one `query_type` was asked.

    `strength` is the posterior mean of the rating (0…1), `base` that of all memories for this type of query,
    `count` the number of ratings in the namespace, `pooled` in all namespaces.
    """

    query_type: str
    shape: str
    strength: float
    base: float
    count: int
    pooled: int

    @property
    def lift(self) -> float:
        """How many times the base rate."""
        return self.strength / self.base if self.base > 0 else 1.0


def posterior(own: Tally, prior_mean: float, pseudocount: float = PSEUDOCOUNT) -> float:
    """The mean of a Beta posterior: (s + m·p) / (n + m) for a prior of mean p that is worth m ratings."""
    return prior_mean + (own.total - own.count * prior_mean) / (own.count + pseudocount)


def link_of(query_type: str, shape: str, own: Tally, pooled: Tally, base: Tally) -> Link:
    """A link, hierarchical: the namespace borrows from all, all from the base rate of the query type.

    `own` counts one namespace, `pooled` and `base` all; `base` counts every shape.
    """
    rate = posterior(base, 0.5, 2.0)
    strength = posterior(own, posterior(pooled, rate))
    return Link(query_type, shape, strength, rate, own.count, pooled.count)


def shapes_at(texts: Texts, named: Flags, places: Integers) -> list[tuple[str, ...]]:
    """The shapes of the memories at `places`; `named` says whose author the question names."""
    flags = {name: getattr(texts, flag) for name, flag in SHAPES.items()} | {"author": named}
    words = [
        [f"{name}:yes" if there else f"{name}:no" for there in flag[places].tolist()]
        for name, flag in flags.items()
    ]
    return list(zip(*words, strict=True))


def link_lift(
    knowledge: Knowledge,
    query_type: str,
    texts: Texts,
    named: Flags,
    places: Integers,
    exponent: float,
) -> tuple[Floats, dict[str, Floats]]:
    """The product of the lifts of each candidate's links, to the `exponent`, and by shape the logarithm of
    what each contributes; 1 where nothing is known."""
    flags = {name: getattr(texts, flag) for name, flag in SHAPES.items()} | {"author": named}
    logs = {}
    for name, flag in flags.items():
        yes, no = (np.log(knowledge.link(query_type, f"{name}:{word}").lift) for word in ("yes", "no"))
        logs[f"{query_type}×{name}"] = exponent * np.where(flag[places], yes, no)
    lifted: Floats = np.exp(sum(logs.values(), np.zeros(len(places))))
    return lifted, logs
