"""Which memories say nearly what a newer one says. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Text:
    """A memory with a vector, one of many in the order in which the log took them.

    `replaceable`: it may be superseded. `fresh`: it has not been compared with the others yet.
    """

    id: str
    kind: str
    replaceable: bool
    fresh: bool


@dataclass(frozen=True, slots=True)
class Duplicate:
    """`older` says nearly what `newer` says; `cosine` how nearly."""

    older: str
    newer: str
    cosine: float


def near_duplicates(texts: Sequence[Text], vectors: NDArray[np.float32], threshold: float) -> list[Duplicate]:
    """The older one of each pair of a kind, at least one of them fresh, whose cosine is `threshold` or more.

    `texts` are oldest first, `vectors` are theirs, float32 [n, dim] of length 1. None is replaced twice, and
    none by one that was replaced itself.
    """
    found: list[Duplicate] = []
    replaced: set[int] = set()
    kinds = np.array([text.kind for text in texts])
    for at in [at for at, text in enumerate(texts) if text.fresh]:
        if at in replaced:
            continue
        # Product by product, not a matrix: equal bits on every machine, whatever stands beside.
        cosines = np.vecdot(vectors, vectors[at])
        alike = np.flatnonzero((cosines >= np.float32(threshold)) & (kinds == texts[at].kind))
        for other in (int(one) for one in alike if one != at and int(one) not in replaced):
            older, newer = min(at, other), max(at, other)
            if texts[older].replaceable:
                found.append(Duplicate(texts[older].id, texts[newer].id, float(cosines[other])))
                replaced.add(older)
            if at in replaced:
                break
    return found
