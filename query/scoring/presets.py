"""Weights under a name, for settings."""

from __future__ import annotations

from collections.abc import Mapping

from mnemolog.query.scoring.weights import DAY, Weights
from mnemolog.schemas.errors import InvalidInputError

DEFAULT_PRESET = "default"

PRESETS: Mapping[str, Weights] = {
    DEFAULT_PRESET: Weights(),
    "ongoing": Weights(recency=0.5, half_life=30 * DAY, recency_floor=0.5),
    "additive": Weights(similarity=0.6, recency=0.25, importance=0.15, half_life=7 * DAY, recency_floor=0.0),
}
"""`default`: what is relevant, whenever it was. `ongoing`: work in progress, where what is recent or in use
counts somewhat more: the oldest loses at most 30 %. `additive`: a weighted sum of similarity, recency and
importance, as betterdb-agent-memory scores."""


def check_preset(name: str) -> str:
    """`name`, if there is such a preset.

    Raises:
        InvalidInputError: there is not.
    """
    if name not in PRESETS:
        raise InvalidInputError(
            f"unknown preset {name!r:.80}; there are {', '.join(PRESETS)}", field="scoring"
        )
    return name
