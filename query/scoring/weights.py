"""How much each factor of a score counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeGuard

from mnemolog.schemas.errors import InvalidInputError

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Weights:
    """Exponents of the factors (0 switches one off) and the shape of the recency factor.

    Recency is off by default: over long histories it costs more than it gives. `half_life` is in seconds.
    `links` is the exponent of what feedback says of a memory's shape, within usefulness. A `similarity` over
    0 makes the score a sum: of the similarity by vector, recency and importance, each times its weight.
    `superseded` and `pinned` are what such a memory's score is multiplied by. From `keyword` on they weigh
    the terms of relevance; see `scoring.relevance`.
    """

    relevance: float = 1.0
    recency: float = 0.0
    importance: float = 1.0
    half_life: float = 30 * DAY
    recency_floor: float = 0.5
    usefulness: float = 1.0
    links: float = 0.05
    similarity: float = 0.0
    superseded: float = 0.1
    pinned: float = 1.0
    keyword: float = 0.5
    vector: float = 0.7
    author: float = 0.2
    person: float = 0.15
    before: float = 0.15
    before_question: float = 0.4
    asking: float = 0.2
    after: float = 0.1
    session_keyword: float = 0.25
    session_vector: float = 0.25
    date: float = 0.8
    when: float = 0.3
    number: float = 0.2
    length: float = 0.2
    opening: float = 0.1
    fresh: float = 0.4
    joined: float = 0.6
    continued: float = 0.4

    def updated(self, changes: Mapping[str, float] | None) -> Weights:
        """These weights with some of them changed.

        Raises:
            InvalidInputError: an unknown name, or a value that is not a finite number of at least 0.
        """
        if not isinstance(changes, Mapping | None):
            raise InvalidInputError(f"weights are a dict of numbers, not {changes!r}", field="weights")
        if not changes:
            return self
        for name, value in changes.items():
            _check(name, value)
        return replace(self, **changes)


_NAMES = frozenset(field.name for field in fields(Weights))


def _check(name: str, value: object) -> None:
    if name not in _NAMES:
        raise InvalidInputError(f"unknown weight {name!r}; there are {sorted(_NAMES)}", field="weights")
    if not _is_number(value) or value < 0:
        message = f"weight {name} is a finite number of at least 0, not {value!r}"
        raise InvalidInputError(message, field="weights")
    if name == "half_life" and value == 0:
        raise InvalidInputError("half_life is more than 0 seconds", field="weights")
    if name == "recency_floor" and value > 1:
        raise InvalidInputError("recency_floor is at most 1", field="weights")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
