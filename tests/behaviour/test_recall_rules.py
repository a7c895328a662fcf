"""What a recall promises: scores that can be explained, and filters that come first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.stores import NOON, MovingClock, OpenMemory, Store, texts

from mnemolog import Hits, Memory
from mnemolog.embedders import HashingEmbedder
from mnemolog.schemas.errors import EmbeddingError


def conversation(mem: Memory) -> None:
    """Some memories that differ in all that a score looks at."""
    lines = [
        ("Alice", "We fly to Lisbon on Friday, the hotel is booked", 0.9),
        ("Bob", "When does the flight to Lisbon leave?", None),
        ("Alice", "The flight leaves at 9:40 in the morning", 0.2),
        ("Bob", "I bought 3 guide books yesterday", 0.5),
    ]
    for number, (author, text, importance) in enumerate(lines):
        when = NOON + timedelta(minutes=number)
        mem.remember(text, author=author, importance=importance, occurred_at=when, thread_id="t")


def all_hits(mem: Memory) -> list[Hits]:
    weights: Sequence[dict[str, float]] = [{}, {"recency": 1.0}, {"relevance": 2.0, "importance": 0.5}]
    asked = ["When does Alice fly to Lisbon?", "how many guide books", "flight"]
    return [mem.recall(query, weights=w, include_superseded=True) for query in asked for w in weights]


def test_a_score_is_the_product_of_its_factors(mem: Memory) -> None:
    conversation(mem)
    for hits in all_hits(mem):
        assert len(hits) == 4
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            values = [factor.value for factor in hit.factors.values()]
            assert hit.score == pytest.approx(math.prod(values), rel=1e-12)


def test_a_factor_is_its_base_to_its_exponent(mem: Memory) -> None:
    conversation(mem)
    for hits in all_hits(mem):
        for factor in (factor for hit in hits for factor in hit.factors.values()):
            assert factor.value == pytest.approx(factor.base**factor.exponent, rel=1e-12)


def test_relevance_is_the_sum_of_its_terms(mem: Memory) -> None:
    conversation(mem)
    for hit in mem.recall("When does Alice fly to Lisbon?"):
        factor = hit.factors["relevance"]
        terms = [value for name, value in factor.parts.items() if name != "cosine"]
        assert factor.base == pytest.approx(max(sum(terms), 0), abs=1e-9)


def test_explain_shows_the_score_and_every_factor(mem: Memory) -> None:
    conversation(mem)
    for hits in all_hits(mem):
        for hit in hits:
            line = hit.explain()
            assert line.startswith(f"{hit.score:.6g} = ")
            assert all(name in line for name in [*hit.factors, *hit.origins])


def test_a_weight_of_0_switches_its_factor_off(mem: Memory) -> None:
    conversation(mem)
    hit = mem.recall("flight", weights={"importance": 0.0})[0]
    assert "recency" not in hit.factors
    assert "importance" not in hit.factors


def test_superseded_memories_are_left_out_or_count_a_tenth(mem: Memory) -> None:
    old = mem.remember("Alice eats no meat", key="diet")
    new = mem.remember("Alice eats no meat at all", key="diet")
    assert mem.recall("Alice eats no meat").ids == [new.id]
    hits = mem.recall("Alice eats no meat", include_superseded=True)
    assert hits.ids == [new.id, old.id]
    assert hits[1].factors["superseded"].value == 0.1
    assert "superseded" not in hits[0].factors
    others = [factor.value for name, factor in hits[1].factors.items() if name != "superseded"]
    assert hits[1].score == pytest.approx(math.prod(others) * 0.1)
    assert not hits[1].memory.active


def test_min_score_cuts_off_what_is_below(mem: Memory) -> None:
    conversation(mem)
    scores = [hit.score for hit in mem.recall("flight to Lisbon")]
    assert scores[0] > scores[1]
    assert [hit.score for hit in mem.recall("flight to Lisbon", min_score=scores[1])] == scores[:2]
    assert list(mem.recall("flight to Lisbon", min_score=scores[0] * 2)) == []


def test_threshold_is_the_greatest_distance(mem: Memory) -> None:
    mem.remember("the same words", id="same")
    mem.remember("completely different", id="other")
    assert mem.recall("the same words", threshold=1e-6).ids == ["same"]
    assert set(mem.recall("the same words", threshold=2.0).ids) == {"same", "other"}


FILTERS: list[dict[str, Any]] = [
    {"kinds": ["rare"]},
    {"kinds": ["rare", "unused"]},
    {"tags": ["rare"]},
    {"tags": ["rare", "both"]},
    {"filters": {"metadata.rare": True}},
    {"filters": {"kind": {"ne": "note"}, "importance": {"gte": 0.5}}},
]


def test_the_filter_comes_before_the_candidate_cut(mem: Memory) -> None:
    better = [{"text": f"the cat sat on the mat {number}", "tags": ["both"]} for number in range(120)]
    mem.remember_many(better)
    mem.remember(
        "a dog", id="rare", kind="rare", tags=["rare", "both"], importance=0.5, metadata={"rare": True}
    )
    for filters in FILTERS:
        assert mem.recall("the cat sat on the mat", **filters).ids == ["rare"]
    assert "rare" not in mem.recall("the cat sat on the mat", k=50).ids
    assert list(mem.recall("the cat", kinds=[])) == []


def test_recency_counts_when_it_is_weighed(open_memory: OpenMemory) -> None:
    clock = MovingClock(NOON)
    mem = open_memory(clock=clock)
    for days, name in ((90, "old"), (0, "new"), (30, "middle")):
        mem.remember("the plan", id=name, occurred_at=NOON - timedelta(days=days), thread_id=name)
    hits = mem.recall("the plan", weights={"recency": 1.0})
    assert hits.ids == ["new", "middle", "old"]
    values = {hit.memory.id: hit.factors["recency"].value for hit in hits}
    assert values == pytest.approx({"new": 1.0, "middle": 0.75, "old": 0.5625})
    later = mem.recall("the plan", weights={"recency": 1.0}, now=NOON + timedelta(days=30))
    assert later[0].factors["recency"].value == pytest.approx(0.75)


def test_weights_of_the_handle_are_changed_for_one_call_only(open_memory: OpenMemory) -> None:
    mem = open_memory()
    mem.remember("the plan")
    assert "recency" in mem.recall("plan", weights={"recency": 1.0})[0].factors
    assert "recency" not in mem.recall("plan")[0].factors


def test_importance_lifts(mem: Memory) -> None:
    for name, importance in (("low", 0.0), ("high", 1.0), ("none", None)):
        mem.remember("the plan", id=name, importance=importance, thread_id=name)
    hits = mem.recall("the plan")
    assert hits.ids == ["high", "none", "low"]
    assert [hit.factors["importance"].value for hit in hits] == [1.5, 1.0, 0.5]


def test_an_author_named_in_the_question_comes_first(open_memory: OpenMemory) -> None:
    mem = open_memory(embedder="none")  # of two memories, the likeness of letters would decide
    for author in ("Alice", "Bob"):
        mem.remember("I like the trip", author=author, id=author, thread_id=author)
    for author in ("Alice", "Bob"):
        assert mem.recall(f"What does {author} say about the trip?").ids[0] == author


def test_k_bounds_the_hits(mem: Memory) -> None:
    mem.remember_many([f"note {number}" for number in range(12)])
    assert [len(mem.recall("note", k=k)) for k in (1, 5, 12, 1_000)] == [1, 5, 12, 12]
    assert len(mem.recall("note")) == 5


def test_group_by_kind_gives_each_kind_up_to_k(mem: Memory) -> None:
    mem.remember_many([f"note about tea {number}" for number in range(8)])
    mem.remember_many([f"fact about tea {number}" for number in range(2)], kind="fact")
    found = mem.recall("tea", k=3, group_by_kind=True)
    assert {kind: len(hits) for kind, hits in found.items()} == {"note": 3, "fact": 2}
    assert all(hit.memory.kind == kind for kind, hits in found.items() for hit in hits)
    assert set(mem.recall("tea", kinds=["fact"], group_by_kind=True)) == {"fact"}


def test_every_recall_has_an_id_of_its_own(mem: Memory) -> None:
    mem.remember("tea")
    assert mem.recall("tea").recall_id != mem.recall("tea").recall_id


def test_feedback_on_one_recall_counts_once(mem: Memory) -> None:
    receipt = mem.remember("tea")
    recall_id = mem.recall("tea").recall_id
    for _ in range(3):
        mem.feedback(recall_id, used=[receipt.id])
    mem.feedback(mem.recall("tea").recall_id, ignored=[receipt.id])
    item = mem.get(receipt.id)
    assert item is not None
    assert (item.use_count, item.ignore_count) == (1, 1)


class QuestionsFail(HashingEmbedder):
    """Fails on questions alone."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any(text.endswith("?") for text in texts):
            raise EmbeddingError("no answer")
        return super().embed(texts)


def test_an_embedder_that_fails_on_the_question_leaves_keywords_and_a_warning(folder_store: Store) -> None:
    mem = folder_store.open(embedder=QuestionsFail())
    mem.remember("a cup of tea")
    hits = mem.recall("tea?")
    assert texts(hits) == ["a cup of tea"]
    assert hits[0].origins == ("keyword",)
    (warning,) = hits.warnings
    assert "keyword search alone" in warning
    assert "no answer" in warning
