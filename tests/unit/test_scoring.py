"""The formulas of a score against values worked out by hand, and what every score keeps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.query.scoring.formulas import (
    extent,
    idf,
    importance,
    length_norm,
    minmax,
    recency,
    saturation,
    share_of_max,
)
from mnemolog.query.scoring.score import Candidates, score
from mnemolog.query.scoring.weights import DAY, Weights
from mnemolog.schemas.errors import InvalidInputError


def array(*values: float) -> Any:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize(
    ("documents", "frequency", "expected"),
    [(1, 1, math.log(4 / 3)), (10, 1, math.log(1 + 9.5 / 1.5)), (10, 10, math.log(1 + 0.5 / 10.5))],
)
def test_idf(documents: int, frequency: int, expected: float) -> None:
    assert idf(documents, frequency) == pytest.approx(expected, rel=1e-15)
    assert expected > 0


def test_saturation() -> None:
    norms = length_norm(array(10, 20), 10.0)
    assert norms.tolist() == pytest.approx([0.9, 0.9 * 1.4])
    assert saturation(array(1, 2), norms).tolist() == pytest.approx([1.0, 2 * 1.9 / (2 + 0.9 * 1.4)])
    assert saturation(array(1e9), norms[:1])[0] == pytest.approx(1.9)
    assert saturation(array(0), norms[1:]).tolist() == [0]


def test_minmax() -> None:
    values = array(-1, math.nan, 0, 3)
    assert extent(values) == (-1, 3)
    assert minmax(values, *extent(values)).tolist() == [0, 0, 0.25, 1]
    assert minmax(array(0.4, 0.4), 0.4, 0.4).tolist() == [1, 1]
    assert minmax(array(), *extent(array())).tolist() == []


def test_share_of_max() -> None:
    assert share_of_max(array(0, 1, 4)).tolist() == [0, 0.25, 1]
    assert share_of_max(array(0, 0)).tolist() == [0, 0]
    assert share_of_max(array()).tolist() == []


def test_recency() -> None:
    ages = array(0, 30 * DAY, 60 * DAY, 1e12)
    assert recency(ages, 30 * DAY, 0.5).tolist() == pytest.approx([1, 0.75, 0.625, 0.5])
    assert recency(ages, 30 * DAY, 0.0).tolist() == pytest.approx([1, 0.5, 0.25, 0])
    assert recency(array(-10 * DAY), 30 * DAY, 0.5).tolist() == [1]


def test_importance() -> None:
    assert importance(array(0, 0.5, 1, math.nan)).tolist() == [0.5, 1, 1.5, 1]


def candidates(**changes: Any) -> Candidates:
    columns = {
        "relevance": array(0.8, 0.8),
        "terms": {"keyword": array(0.8, 0.8)},
        "age": array(0, 30 * DAY),
        "importance": array(0.9, math.nan),
        "superseded": np.array([False, True]),
    }
    return Candidates(**{**columns, **changes})


def test_a_score_worked_out_by_hand() -> None:
    total, factors = score(candidates(), Weights(recency=2.0, importance=0.5, relevance=3.0))
    assert [factor.name for factor in factors] == ["relevance", "recency", "importance", "superseded"]
    assert total[0] == pytest.approx(0.8**3 * 1.0**2 * 1.4**0.5)
    assert total[1] == pytest.approx(0.8**3 * 0.75**2 * 1.0**0.5 * 0.1)


def test_an_exponent_of_0_leaves_its_factor_out() -> None:
    total, factors = score(candidates(), Weights(relevance=0, recency=0, importance=0))
    assert [factor.name for factor in factors] == ["superseded"]
    assert total.tolist() == pytest.approx([1, 0.1])


def test_recency_is_off_by_default() -> None:
    _, factors = score(candidates(), Weights())
    assert "recency" not in [factor.name for factor in factors]


def test_a_time_ahead_of_the_clock_is_an_age_of_0() -> None:
    """M56: finite, and not above a fresh one."""
    ahead = candidates(
        age=array(-10 * DAY, 0), importance=array(0.5, 0.5), superseded=np.array([False, False])
    )
    total, factors = score(ahead, Weights(recency=1.0))
    assert total[0] == total[1]
    assert np.isfinite(total).all()
    parts = {factor.name: factor.parts for factor in factors}
    assert parts["recency"]["age_days"].tolist() == [0, 0]


unit = st.floats(0, 1)
exponents = st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.0, 7.5])


@examples(200)
@given(
    columns=st.lists(
        st.tuples(st.floats(0.001, 3), st.floats(-1e9, 1e12), unit | st.just(math.nan), st.booleans()),
        min_size=1,
    ),
    weights=st.builds(
        Weights,
        relevance=exponents,
        recency=exponents,
        importance=exponents,
        recency_floor=unit,
        superseded=unit,
        half_life=st.floats(1e-3, 1e12),
    ),
)
def test_a_score_is_exactly_the_product_of_its_factors(columns: list[Any], weights: Weights) -> None:
    relevance, age, given_importance, superseded = (np.array(column) for column in zip(*columns, strict=True))
    given_candidates = Candidates(relevance, {}, age, given_importance, superseded.astype(bool))
    total, factors = score(given_candidates, weights)
    for at in range(len(total)):
        product = 1.0
        for factor in factors:
            assert factor.value[at] == pytest.approx(factor.base[at] ** factor.exponent)
            product *= float(factor.value[at])
        assert float(total[at]) == product
        assert math.isfinite(product)
        assert product >= 0


@examples(100)
@given(ages=st.lists(st.floats(-1e9, 1e10), min_size=2), weights=st.builds(Weights, recency=exponents))
def test_an_older_memory_never_scores_above_a_younger_one(ages: list[float], weights: Weights) -> None:
    count = len(ages)
    same = Candidates(
        np.full(count, 0.5), {}, np.array(sorted(ages)), np.full(count, 0.5), np.zeros(count, dtype=bool)
    )
    total, _ = score(same, weights)
    assert (np.diff(total) <= 0).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nonsense", 1),
        ("recency", -1),
        ("recency", math.nan),
        ("recency", math.inf),
        ("recency", True),
        ("recency", "1"),
        ("recency", None),
        ("half_life", 0),
        ("recency_floor", 1.5),
    ],
)
def test_weights_that_are_none_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError):
        Weights().updated({name: value})


def test_single_weights_are_changed() -> None:
    assert Weights().updated({"recency": 1, "half_life": 60}) == Weights(recency=1, half_life=60)
    assert Weights().updated(None) == Weights().updated({}) == Weights()
