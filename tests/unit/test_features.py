"""What usefulness is learned over: what stands around a candidate, and the same whatever is shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples
from support.scoring import HOUR, START, found, made
from support.tables import DIM, NOON, row

from mnemolog.query.live import live_at
from mnemolog.query.models import Hit
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.question import Question
from mnemolog.query.recall import recall
from mnemolog.query.scoring.english import asks_of
from mnemolog.query.scoring.features import FEATURES, Scene, Seen, features_of
from mnemolog.query.scoring.terms import Beside, Holding
from mnemolog.query.scoring.usefulness import Knowledge
from mnemolog.schemas.rows import memories_schema
from mnemolog.storage.arrow import to_arrow


def features(scene: Scene, relevance: list[float]) -> dict[str, list[float]]:
    table = features_of(scene, Seen(np.array(relevance), {}))
    return {name: table[:, at].round(6).tolist() for at, name in enumerate(FEATURES)}


def holding(*held: list[bool]) -> Holding:
    """By term, which of the documents hold it; the first term is as rare as the others together."""
    rarity = np.array([max(len(held) - 1.0, 1.0), *[1.0] * (len(held) - 1)])
    return Holding(rarity, np.array(held, dtype=bool))


def scene(count: int = 5, times: list[float] | None = None, places: list[int] | None = None) -> Scene:
    """Remarks of two people in turn; the n-th has a BM25 of n and a cosine of n / 10."""
    texts = made(["was it so?"] + ["it was"] * (count - 1), [at % 2 for at in range(count)], times)
    bm25 = [float(at) for at in range(count)]
    at = np.arange(count) if places is None else np.array(places)
    none = holding([False] * len(at))
    return Scene(found(bm25, texts, [one / 10 for one in bm25]), texts, at, Beside(none, none), "what")


def test_terms_count_together_with_those_of_the_remark_before() -> None:
    own, before = (
        holding([True, False], [False, False], [False, True]),
        holding([False, True], *[[False] * 2] * 2),
    )
    texts = made(["a", "b"], [0, 1])
    seen = Scene(found([1, 1], texts), texts, np.arange(2), Beside(own, before), "what")
    named = features(seen, [1.0, 1.0])
    assert named["coverage"] == [0.5, 0.25]
    assert named["joined_coverage"] == [0.5, 0.75]
    assert named["rarest_held"] == [1.0, 0.5]
    assert named["terms_held"] == pytest.approx([1 / 3, 1 / 3], abs=1e-6)


def test_what_the_searches_say_of_two_on_either_side_is_known() -> None:
    named = features(scene(), [1.0] * 5)
    assert named["before_keyword"] == [0, 0, 0.25, 0.5, 0.75]
    assert named["second_before_vector"] == [0, 0, 0, 0.25, 0.5]
    assert named["after_vector"] == [0.25, 0.5, 0.75, 1.0, 0]
    assert named["second_after_keyword"] == [0.5, 0.75, 1.0, 0, 0]
    assert named["before_asks"] == [0, 1, 0, 0, 0]


def test_nothing_stands_beside_over_a_pause() -> None:
    named = features(scene(3, [START, START + 9 * HOUR, START + 9 * HOUR + 60]), [1.0] * 3)
    assert named["before_keyword"] == [0, 0, 0.5]
    assert named["second_before_keyword"] == [0, 0, 0]
    assert named["after_keyword"] == [0, 1.0, 0]
    assert named["same_session"] == pytest.approx([0.1, 0.2, 0.2])


def test_a_neighbour_that_is_no_candidate_has_no_relevance() -> None:
    named = features(scene(5, places=[0, 1, 3]), [0.5, 1.0, 0.25])
    assert named["before_relevance"] == [0, 0.5, 0]
    assert named["after_relevance"] == [1.0, 0, 0]
    assert named["share_of_best"] == [0.5, 1.0, 0.25]


def test_without_vectors_terms_or_neighbours_all_is_finite() -> None:
    texts = made(["a"], [-1])
    nothing = Holding(np.zeros(0), np.zeros((0, 1), dtype=bool))
    alone = Scene(found([0.0], texts), texts, np.arange(1), Beside(nothing, nothing), "other")
    assert np.isfinite(features_of(alone, Seen(np.array([1e-3]), {}))).all()


WORDS = st.lists(st.sampled_from(["tea", "milk", "cup", "pot"]), min_size=1, max_size=4)


@examples(40)
@given(texts=st.lists(WORDS, min_size=2, max_size=12), seed=st.integers(0, 99))
def test_hits_stand_as_the_model_says_of_the_features_that_are_kept(
    texts: list[list[str]], seed: int
) -> None:
    weights = np.random.default_rng(seed).normal(size=len(FEATURES)) / 4
    weights[0] = 8.0
    knowledge = Knowledge(weights=tuple(weights))
    hits = recalled(texts, k=20, knowledge=knowledge)
    said = [float(np.array(hit.trace.features) @ weights) for hit in hits]
    assert said == pytest.approx(sorted(said, reverse=True))
    first = recalled(texts, k=1, knowledge=knowledge)
    assert [hit.trace for hit in first] == [hit.trace for hit in hits[:1]]


def recalled(texts: list[list[str]], **options: Any) -> list[Hit]:
    rows = [
        row(
            f"m{at}",
            namespace="acme",
            text=" ".join(words),
            terms=" ".join(words),
            author="ab"[at % 2],
            thread_id="t",
            occurred_at=NOON + timedelta(minutes=at),
            offset=at,
        )
        for at, words in enumerate(texts)
    ]
    cache = NamespaceCache(DIM)
    cache.upsert([to_arrow(rows, memories_schema(DIM))])
    question = Question(["tea", "milk"], asks_of("tea with milk"), NOON, **options)
    return recall(cache, live_at(cache, NOON.timestamp()), question).hits
