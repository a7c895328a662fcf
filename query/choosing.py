"""From scored candidates to what is shown: near duplicates apart, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import Floats

DIVERSE_AMONG = 100
"""Diversity is looked for among so many of the best."""

BYTES_PER_TOKEN = 4


def tokens(text: str) -> int:
    """About how many tokens a text has: one for four bytes of UTF-8, which models' own counts vary around."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def diverse(
    order: Sequence[int], score: Floats, vectors: NDArray[np.float32], count: int, diversity: float
) -> list[int]:
    """The `count` of `order` that are best and unlike each other, in the order in which they were chosen.

    Each next one has the greatest (1 − λ)·score/max − λ·(greatest cosine to one that was chosen); `diversity`
    is λ, `vectors` are of length 1 or 0, one a candidate. Source: Carbonell and Goldstein, The use of MMR
    (1998).
    """
    pool = np.array(order[:DIVERSE_AMONG], dtype=np.int64)
    if not pool.size or diversity == 0:
        return list(order[:count])
    worth = (1 - diversity) * score[pool] / max(float(score[pool].max()), 1e-12)
    near = np.zeros(len(pool))
    chosen: list[int] = []
    left = np.ones(len(pool), dtype=bool)
    while left.any() and len(chosen) < count:
        value = np.where(left, worth - diversity * near, -np.inf)
        at = int(np.argmax(value))
        left[at] = False
        chosen.append(int(pool[at]))
        near = np.maximum(near, np.vecdot(vectors[pool], vectors[pool[at]]))
    return chosen


def within_budget(
    order: Iterable[int], text: Callable[[int], str], count: int, max_tokens: int | None
) -> list[int]:
    """The first `count` of `order` whose texts together stay within the budget; one too long is passed
    over."""
    chosen: list[int] = []
    left = max_tokens
    for at in order:
        if len(chosen) == count:
            break
        if left is not None:
            cost = tokens(text(at))
            if cost > left:
                continue
            left -= cost
        chosen.append(at)
    return chosen
