"""What comes first where scores are equal, and what never comes at all."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from support.tables import DIM, NOON, row

from mnemolog.query.live import live_at
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.question import Question
from mnemolog.query.recall import CANDIDATES, recall
from mnemolog.query.scoring.english import asks_of
from mnemolog.query.scoring.presets import PRESETS
from mnemolog.schemas.rows import Row, memories_schema
from mnemolog.storage.arrow import to_arrow


def memory(name: str, **changes: Any) -> Row:
    return row(name, namespace="acme", text="tea", terms="tea", **changes)


def ranked(rows: list[Row], parts: int = 1, **options: Any) -> list[str]:
    cache = NamespaceCache(DIM)
    cache.upsert(to_arrow(rows[start::parts], memories_schema(DIM)) for start in range(parts))
    question = Question(["tea"], asks_of("tea"), NOON, **options)
    found = recall(cache, live_at(cache, NOON.timestamp()), question)
    return [hit.memory.id for hit in found.hits]


def test_of_equal_scores_the_one_nearest_to_now_comes_first() -> None:
    """M56: a time ahead of the clock puts nothing above a fresh memory."""
    ages = {"old": -9, "ahead": 10, "fresh": 0, "older": -30, "far ahead": 400}
    rows = [memory(name, occurred_at=NOON + timedelta(days=days)) for name, days in ages.items()]
    assert ranked(rows) == ["fresh", "old", "ahead", "older", "far ahead"]


def test_of_equal_scores_and_times_the_first_one_written_comes_first() -> None:
    rows = [memory(name, offset=offset) for offset, name in enumerate("bca")]
    for shuffled in permutations(rows):
        assert ranked(list(shuffled)) == ["b", "c", "a"]


def test_of_many_equals_at_the_cut_the_same_ones_are_taken_however_they_are_read() -> None:
    """Also where one event changed several: then their keys decide."""
    rows = [memory(f"m{number:03}", offset=number // 3) for number in range(4 * CANDIDATES)]
    expected = ranked(rows, k=CANDIDATES)
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))
        assert ranked(shuffled, k=CANDIDATES) == ranked(shuffled, parts=7, k=CANDIDATES) == expected


def test_the_expired_and_the_superseded_do_not_come() -> None:
    rows = [
        memory("expired", expires_at=NOON),
        memory("expires later", expires_at=NOON + timedelta(microseconds=1)),
        memory("superseded", superseded_by="x"),
        memory("forgotten", deleted=True),
    ]
    assert ranked(rows) == ["expires later"]
    assert ranked(rows, superseded=True) == ["expires later", "superseded"]


@pytest.mark.parametrize(("dim", "apart"), [(8, 0.02), (384, 0.02)])
def test_the_nearest_come_first_though_many_are_nearly_as_near(dim: int, apart: float) -> None:
    """What a search reads of vectors is rounded; who is the nearest does not hang on that."""
    random = np.random.default_rng(dim)
    vectors = random.standard_normal(dim) + apart * random.standard_normal((2_000, dim))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    cache = NamespaceCache(dim)
    rows = [memory(f"m{at}", offset=at, vector=vector) for at, vector in enumerate(vectors)]
    cache.upsert([to_arrow(rows, memories_schema(dim))])
    live = live_at(cache, NOON.timestamp())
    for sought in vectors[:40]:
        question = Question((), asks_of(""), NOON, vector=sought, weights=PRESETS["additive"], k=5)
        found = [hit.memory.id for hit in recall(cache, live, question).hits]
        exact = vectors.astype(np.float64) @ sought
        assert exact[[int(one[1:]) for one in found]].min() > np.sort(exact)[-5] - 4e-5
