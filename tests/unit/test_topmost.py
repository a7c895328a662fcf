"""The highest of many values are those that a sort gives, whatever is allowed and however many are equal."""

from __future__ import annotations

import numpy as np
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


@examples(50)
@given(
    size=st.integers(0, 4_000),
    count=st.integers(1, 60),
    distinct=st.sampled_from([1, 2, 30, 10**9]),
    seed=st.integers(0, 2**32),
)
def test_of_values_that_are_equal_at_the_cut_the_last_are_chosen(
    size: int, count: int, distinct: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    values = chance.integers(0, distinct, size) / distinct
    allowed = chance.random(size) < 0.7
    highest = sorted(np.flatnonzero(allowed).tolist(), key=lambda place: (values[place], place))[-count:]
    assert topmost(values, allowed, count).tolist() == sorted(highest)
