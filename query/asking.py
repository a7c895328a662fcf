"""The arguments of a recall, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from mnemolog.query.config import Config
from mnemolog.query.question import Question, Rule
from mnemolog.query.scoring.presets import PRESETS, check_preset
from mnemolog.schemas.checks import check_count, check_finite, check_moment
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.scope import Scope, scope_node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mnemolog.query.scoring.weights import Weights

MAX_K = 1_000
MAX_TOKENS = 10_000_000


class Asking(Scope, total=False):
    """What a recall takes beside what it looks for; see `mnemolog.Memory.recall`."""

    k: int
    threshold: float | None
    min_score: float
    scoring: str | None
    weights: Mapping[str, float] | None
    include_superseded: bool
    max_tokens: int | None
    diversity: float
    rules: Mapping[str, Rule] | None
    now: datetime | None


def asked(
    question: Question,
    config: Config,
    *,
    k: int = 5,
    threshold: float | None = None,
    min_score: float = 0.0,
    scoring: str | None = None,
    weights: Mapping[str, float] | None = None,
    include_superseded: bool = False,
    max_tokens: int | None = None,
    diversity: float = 0.0,
    rules: Mapping[str, Rule] | None = None,
    now: datetime | None = None,
    **scope: Any,
) -> Question:
    """`question` with the arguments of a call, over the settings that hold.

    Raises:
        InvalidInputError: an argument that makes no sense; `field` names it.
    """
    check_count("k", k, 1, MAX_K)
    for name, value in (("threshold", threshold), ("min_score", min_score)):
        if value is not None:
            check_finite(name, value)
    if max_tokens is not None:
        check_count("max_tokens", max_tokens, 1, MAX_TOKENS)
    check_finite("diversity", diversity)
    if not 0 <= diversity < 1:
        message = f"diversity is at least 0 and less than 1, not {diversity!r}"
        raise InvalidInputError(message, field="diversity")
    return replace(
        question,
        now=question.now if now is None else check_moment("now", now),
        k=k,
        where=scope_node(**scope),
        superseded=include_superseded,
        threshold=config.threshold if threshold is None else threshold,
        min_score=min_score,
        weights=_weights(config, scoring).updated(weights),
        max_tokens=max_tokens,
        diversity=diversity,
        rules=_rules(rules),
        lasting=config.lasting,
    )


def _weights(config: Config, scoring: str | None) -> Weights:
    if scoring is None:
        return config.weights
    if not isinstance(scoring, str):
        raise InvalidInputError(f"scoring is the name of a preset, not {scoring!r:.80}", field="scoring")
    return PRESETS[check_preset(scoring)]


def _rules(rules: Mapping[str, Rule] | None) -> dict[str, Rule]:
    if rules is None:
        return {}
    if not isinstance(rules, Mapping) or not all(callable(rule) for rule in rules.values()):
        raise InvalidInputError(f"rules is a dict of name to callable, not {rules!r:.80}", field="rules")
    return {str(name): rule for name, rule in rules.items()}


def unit_vector(vector: Sequence[float] | NDArray[np.float32], dim: int | None) -> NDArray[np.float32]:
    """`vector` at length 1, float32 [dim].

    Raises:
        InvalidInputError: it is no vector of `dim` finite numbers that are not all 0.
    """
    try:
        given = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("vector is a list of numbers", field="vector") from None
    if dim is None:
        raise InvalidInputError("there are no vectors: the views have no embedder", field="vector")
    if given.shape != (dim,) or not np.isfinite(given).all() or not given.any():
        raise InvalidInputError(f"vector has {dim} finite numbers, not all of them 0", field="vector")
    unit: NDArray[np.float32] = (given / np.linalg.norm(given)).astype(np.float32)
    return unit
