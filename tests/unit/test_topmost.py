"""The highest of many values are those that a sort gives, whatever is allowed and however many are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.query.topmost import topmost


@examples(150)
@given(
    size=st.integers(0, 4_000),
    count=st.integers(1, 60),
    distinct=st.sampled_from([1, 2, 30, 10**9]),
    share=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_topmost_are_the_highest(size: int, count: int, distinct: int, share: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    values = chance.integers(0, distinct, size) / distinct - 0.5
    allowed = chance.random(size) < share
    places = topmost(values, allowed, count)
    assert len(set(places.tolist())) == len(places) == min(count, int(allowed.sum()))
    assert allowed[places].all()
    assert sorted(values[places]) == sorted(values[allowed])[max(0, int(allowed.sum()) - count) :]


@pytest.mark.parametrize("cut", [49, 50])
def test_what_is_equal_at_the_cut_is_chosen_as_by_a_partition_of_all(cut: int) -> None:
    values = np.arange(5_000, dtype=np.float64)
    values[-cut - 3 : -cut + 3] = values[-cut]
    every = np.ones(len(values), dtype=bool)
    assert set(topmost(values, every, 50)) == set(np.argpartition(-values, 50)[:50])
