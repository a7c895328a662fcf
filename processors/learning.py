"""Fitting the usefulness model to feedback: pure arithmetic over arrays.

The first feature is log relevance; its weight starts at 8, all others at 0. A list of memories that were
shown is one choice among them, softmax(z·w), mixed with a share of chance so that wrong feedback pulls
little; what counts is how likely any of those that were used is chosen, since the first that helps is what
a reader wants. Weights are shrunk twice: to the prior by a ridge, and by how little feedback there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemolog.schemas.usefulness import PRIOR

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

RIDGE = 20.0
CHANCE = 0.3
SHRINK = 300.0
STEPS = 150
FOLDS = 5
LEAST_EVIDENCE = 30
"""With fewer recalls nothing is served."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One recall with feedback: `features` float64 [shown, features], best first, and a rating (0…1) of each.

    `group` holds together what must not be split between learning and testing, such as a namespace.
    """

    features: Floats
    ratings: Floats
    group: str

    @property
    def tells(self) -> bool:
        """Whether anything can be learned: some were used and some were not."""
        return len(self.ratings) > 1 and bool(self.ratings.min() < self.ratings.max())


SERVED = ((1.0, 2.0), (0.5, 1.5))
"""How far from the prior to go, and by how many standard errors that must tell feedback better that was not
seen. Half of the way asks for less: it costs half as much where feedback misleads, and gives most of the gain
where it is noisy."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights in the order of the features, the recalls they rest on, and how much likelier than without them
    what was used is chosen in recalls that were left out: the mean gain, and its standard error.

    `served` says whether that is more than chance easily gives.
    """

    weights: Floats
    evidence: int
    gain: float
    error: float
    served: bool


def fit(choices: Sequence[Choice]) -> Fitted | None:
    """The model of all feedback, as far as feedback that was held out bears it; None where nothing tells."""
    telling = [choice for choice in choices if choice.tells]
    if not telling:
        return None
    weights, many = _weights(telling), len(telling)
    gains = _held_out_gains(telling)
    means, errors = gains.mean(axis=1).tolist(), (gains.std(axis=1) / np.sqrt(many)).tolist()
    for (share, sure), gain, error in zip(SERVED, means, errors, strict=True):
        if many >= LEAST_EVIDENCE and gain > sure * error:
            return Fitted(_towards(weights, share), many, gain, error, True)
    return Fitted(weights, many, means[0], errors[0], False)


def _towards(weights: Floats, share: float) -> Floats:
    """A `share` of the way from the prior to `weights`."""
    moved = share * weights
    moved[0] += (1 - share) * PRIOR
    return moved


def _held_out_gains(choices: Sequence[Choice]) -> Floats:
    """Each choice's gain in likelihood by a model that did not see its fold, for each share of the way
    that may be served [shares, choices]."""
    folds = _folds(choices)
    gains = np.zeros((len(SERVED), len(choices)))
    for number in range(FOLDS):
        seen = [choice for at, choice in enumerate(choices) if folds[at] != number]
        if not seen:
            continue
        weights = _weights(seen)
        ways = [_towards(weights, share) for share, _ in SERVED]
        for at in np.flatnonzero(folds == number).tolist():
            before = _likelihood(choices[at], None)
            gains[:, at] = [_likelihood(choices[at], way) - before for way in ways]
    return gains


def _folds(choices: Sequence[Choice]) -> NDArray[np.int64]:
    """The fold of each choice: groups stay together where there are enough of them."""
    groups = sorted({choice.group for choice in choices})
    if len(groups) < FOLDS:
        return np.arange(len(choices)) % FOLDS
    fold = {group: at % FOLDS for at, group in enumerate(groups)}
    return np.array([fold[choice.group] for choice in choices])


def _likelihood(choice: Choice, weights: Floats | None) -> float:
    """How likely what was used is chosen, Σ y·softmax(s); None for relevance alone.

    The scores are brought to the spread that those of relevance have: boldness alone is no gain.
    """
    prior = PRIOR * choice.features[:, 0]
    scores = prior if weights is None else choice.features @ weights
    spread = float(scores.std())
    if spread > 0:
        scores = scores * (float(prior.std()) / spread)
    grown = np.exp(scores - scores.max())
    return float(choice.ratings @ grown / grown.sum())


def _weights(choices: Sequence[Choice]) -> Floats:
    """The fitted weights, shrunk to the prior: w₀ + n/(n + 300)·(w − w₀)."""
    features, ratings, there = _padded(choices)
    scale = _scale(features, there)
    prior = np.zeros(features.shape[2])
    prior[0] = PRIOR
    found = _descend(features / scale, ratings, there, prior)
    share = len(choices) / (len(choices) + SHRINK)
    shrunk: Floats = (prior + share * (found - prior)) / scale
    return shrunk


def _padded(choices: Sequence[Choice]) -> tuple[Floats, Floats, Flags]:
    """[n, longest, features], each memory's rating [n, longest], and what is there."""
    longest = max(len(choice.ratings) for choice in choices)
    features = np.zeros((len(choices), longest, choices[0].features.shape[1]))
    ratings = np.zeros((len(choices), longest))
    there = np.zeros((len(choices), longest), dtype=bool)
    for at, choice in enumerate(choices):
        count = len(choice.ratings)
        features[at, :count] = choice.features
        ratings[at, :count] = choice.ratings
        there[at, :count] = True
    return features, ratings, there


def _scale(features: Floats, there: Flags) -> Floats:
    """The spread of each feature; 1 for log relevance and for what never varies."""
    spread: Floats = features[there].std(axis=0)
    spread[(spread < 1e-9) | (np.arange(len(spread)) == 0)] = 1.0
    return spread


def _descend(features: Floats, ratings: Floats, there: Flags, prior: Floats) -> Floats:
    """Gradient descent with a step that is halved until it helps: the same input gives the same output."""
    weights, step = prior.copy(), 1.0 / (RIDGE + len(features))
    loss, slope = _loss(weights, features, ratings, there, prior)
    for _ in range(STEPS):
        step, tried = _step(weights, step, loss, slope, (features, ratings, there, prior))
        if tried is None:
            break
        weights, gained, loss, slope = tried[0], loss - tried[1], tried[1], tried[2]
        if gained < 1e-7 * abs(loss):
            break
        step *= 1.5
    return weights


_Data = tuple[Floats, Floats, Flags, Floats]


def _step(
    weights: Floats, step: float, loss: float, slope: Floats, data: _Data
) -> tuple[float, tuple[Floats, float, Floats] | None]:
    """The step that helps enough (Armijo), and where it leads: weights, loss, slope; None at the end."""
    steepness = float(slope @ slope)
    while step > 1e-12:
        tried = weights - step * slope
        new_loss, new_slope = _loss(tried, *data)
        if new_loss <= loss - 0.25 * step * steepness:
            return step, (tried, new_loss, new_slope)
        step /= 2
    return step, None


def _loss(
    weights: Floats, features: Floats, ratings: Floats, there: Flags, prior: Floats
) -> tuple[float, Floats]:
    """−Σ ln(Σ y·((1 − ε)·p + ε/n)) + ½·ridge·|w − w₀|², p = softmax(z·w) over each list; and its gradient."""
    scores = np.where(there, features @ weights, -np.inf)
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    chosen = grown / grown.sum(axis=1, keepdims=True)
    picked = (1 - CHANCE) * ratings * chosen
    chance = CHANCE * ratings.sum(axis=1) / there.sum(axis=1)
    likely = picked.sum(axis=1) + chance
    away = weights - prior
    loss = -float(np.log(likely).sum()) + 0.5 * RIDGE * float(away @ away)
    share = picked / likely[:, None]
    pull = chosen * share.sum(axis=1, keepdims=True) - share
    slope: Floats = np.einsum("nif,ni->f", features, pull) + RIDGE * away
    return loss, slope
