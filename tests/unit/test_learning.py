"""Fitting usefulness: what helps is found, noise is not served, the same feedback gives the same model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.processors.learning import LEAST_EVIDENCE, Choice, _likelihood, _loss, _weights, fit
from mnemolog.query.scoring import usefulness
from mnemolog.schemas.usefulness import PRIOR


def choices(count: int, signal: float, seed: int = 3, groups: int = 8) -> list[Choice]:
    """Lists of six memories in the order of relevance; the second tells with `signal` which was used."""
    chance = np.random.default_rng(seed)
    made = []
    for number in range(count):
        features = np.zeros((6, 3))
        features[:, 0] = np.log(np.linspace(1.0, 0.7, 6))
        features[:, 1:] = chance.integers(0, 2, (6, 2))
        wanted = signal * features[:, 1] + chance.gumbel(size=6)
        ratings = np.zeros(6)
        ratings[int(np.argmax(wanted))] = 1.0
        made.append(Choice(features, ratings, f"g{number % groups}"))
    return made


def test_a_feature_that_tells_is_learned_and_served() -> None:
    found = fit(choices(400, signal=3.0))
    assert found is not None
    assert found.served
    assert found.gain > 0.05
    assert found.weights[1] > 4 * abs(found.weights[2])


def test_what_tells_nothing_is_not_served() -> None:
    chance = np.random.default_rng(11)
    noise = []
    for number in range(400):
        ratings = np.zeros(6)
        ratings[int(chance.choice(6, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1]))] = 1.0
        features = np.column_stack([np.log(np.linspace(1, 0.7, 6)), chance.random((6, 2))])
        noise.append(Choice(features, ratings, f"g{number % 8}"))
    found = fit(noise)
    assert found is not None
    assert not found.served


def test_little_feedback_is_never_served_and_moves_little() -> None:
    few, many = fit(choices(LEAST_EVIDENCE - 1, 3.0)), fit(choices(400, 3.0))
    assert few is not None
    assert many is not None
    assert not few.served
    assert abs(few.weights[1]) < abs(many.weights[1]) / 3


def test_the_less_sure_the_gain_the_less_far_weights_go() -> None:
    """The whole way where it is over two standard errors, half of it over one and a half, else none."""
    seen = set()
    for seed in range(8):
        found, whole = fit(nearly_equal(100, 0.5, seed)), _weights(nearly_equal(100, 0.5, seed))
        assert found is not None
        prior = np.array([PRIOR, 0.0, 0.0])
        far = float((found.weights - prior)[1] / (whole - prior)[1])
        sure = 2.0 if far == 1 else 1.5
        assert found.weights == pytest.approx(prior + far * (whole - prior))
        assert found.served == (found.gain > sure * found.error)
        seen.add((found.served, far))
    assert seen == {(False, 1.0), (True, 0.5), (True, 1.0)}


def test_boldness_alone_is_no_gain() -> None:
    made = choices(300, 3.0)
    prior = np.array([PRIOR, 0.0, 0.0])
    relevant = [replace(one, ratings=np.eye(6)[0]) for one in made]
    gained = [_likelihood(one, 10 * prior) - _likelihood(one, None) for one in relevant]
    assert gained == pytest.approx(np.zeros(300))


def nearly_equal(count: int, signal: float, seed: int) -> list[Choice]:
    """`choices` of which relevance hardly says which is best."""
    made = choices(count, signal, seed)
    return [replace(one, features=one.features * np.array([1 / 8, 1, 1])) for one in made]


def test_lists_of_which_all_or_none_was_used_teach_nothing() -> None:
    features = np.ones((3, 2))
    assert fit([Choice(features, np.ones(3), "g"), Choice(features, np.zeros(3), "g")]) is None
    assert fit([Choice(features[:1], np.ones(1), "g")]) is None
    assert fit([]) is None


@examples(20)
@given(data=st.data())
def test_the_order_of_feedback_does_not_matter(data: st.DataObject) -> None:
    made = choices(40, 2.0)
    shuffled = data.draw(st.permutations(made))
    one, other = fit(made), fit(shuffled)
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-4, atol=1e-6)


def test_the_slope_is_that_of_the_loss() -> None:
    made = choices(20, 1.0)
    features = np.stack([one.features for one in made])
    ratings = np.stack([one.ratings for one in made])
    ratings[1] = [0.0, 0.7, 0.2, 1.0, 0.0, 0.0]
    there = np.ones(ratings.shape, bool)
    there[0, 5] = False
    ratings[0] = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    prior, weights = np.array([PRIOR, 0, 0]), np.array([5.0, 0.7, -0.3])
    _, slope = _loss(weights, features, ratings, there, prior)
    for at in range(3):
        step = np.zeros(3)
        step[at] = 1e-5
        rise = _loss(weights + step, features, ratings, there, prior)[0]
        fall = _loss(weights - step, features, ratings, there, prior)[0]
        assert abs((rise - fall) / 2e-5 - slope[at]) < 1e-4


def test_which_of_those_that_were_used_comes_first_does_not_matter() -> None:
    features = np.zeros((1, 4, 5))
    features[0, :, 1:] = np.eye(4)
    ratings, there, prior = np.array([[1.0, 1.0, 0.0, 0.0]]), np.ones((1, 4), bool), np.zeros(5)
    first, second, neither = (
        _loss(np.array([0.0, *lead]), features, ratings, there, prior)[0]
        for lead in ((5.0, 0, 0, 0), (0, 5.0, 0, 0), (0, 0, 5.0, 0))
    )
    assert first == second
    assert first < neither


def test_the_lift_orders_as_the_model_was_fitted() -> None:
    chance = np.random.default_rng(5)
    relevance = chance.uniform(0.2, 1.5, 30)
    features = np.column_stack([np.log(relevance), chance.random((30, 4))])
    weights = np.array([6.0, 1.0, -2.0, 0.5, 0.0])
    lifted, shares = usefulness.lift(features, weights.tolist())
    assert (np.argsort(-relevance * lifted) == np.argsort(-(features @ weights))).all()
    np.testing.assert_allclose(np.log(lifted), shares.sum(axis=1))
    assert abs(np.log(lifted).mean()) < 1e-12


def test_a_link_borrows_where_it_knows_little() -> None:
    base = usefulness.Tally(10.0, 100)
    unknown = usefulness.link_of("when", "date:yes", usefulness.Tally(), usefulness.Tally(), base)
    assert unknown.lift == 1.0
    pooled = usefulness.link_of("when", "date:yes", usefulness.Tally(), usefulness.Tally(30.0, 60), base)
    assert 0.3 < pooled.strength < 0.5
    mine, all_of_them = usefulness.Tally(0.0, 200), usefulness.Tally(30.0, 260)
    own = usefulness.link_of("when", "date:yes", mine, all_of_them, base)
    assert own.strength < 0.02
    assert (own.count, own.pooled) == (200, 260)
