"""Recall, learning, scoring as heapdb-memory does, in our names: each test shows rows of that page."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from functools import partial

import numpy as np
import pytest
from support.mapping import rows
from support.stores import NOON, OpenMemory, texts

from mnemolog import Memory, MemoryItem, Weights
from mnemolog.embedders import HashingEmbedder, MiniLMEmbedder, resolve
from mnemolog.query.scoring import formulas, usefulness
from mnemolog.query.scoring.english import shape_of
from mnemolog.query.scoring.query_types import query_type
from mnemolog.schemas.analysis import analyze
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.usefulness import PRIOR

shows = partial(rows, "heapdb-memory")
DAY = 86_400.0


def item(mem: Memory, memory_id: str) -> MemoryItem:
    found = mem.get(memory_id)
    assert found is not None
    return found


@shows(
    "recall(query)",
    "recall(now)",
    "recall(kinds)",
    "recall(min_score)",
    "recall(config)",
    "w_recency",
    "half_life_days",
    "recency_floor",
    "Recalled.lexical",
)
def test_the_arguments_of_recall(place: Memory) -> None:
    place.remember("the red bike", kind="fact", tags=["x"])
    place.remember("a red bike once")
    assert len(place.recall("red bike", k=1)) == 1
    assert texts(place.recall("red bike", kinds=["fact"], tags=["x"])) == ["the red bike"]
    assert not place.recall("red bike", min_score=1e9)
    assert "recency" not in place.recall("red bike")[0].factors
    aged = place.recall("red bike", now=NOON + timedelta(days=400), weights={"recency": 1.0})[0]
    recency = aged.factors["recency"]
    assert recency.parts["age_days"] > 300
    assert recency.base == pytest.approx(0.5 + 0.5 * 0.5 ** (recency.parts["age_days"] / 30))
    assert place.recall("red bike", scoring="ongoing")[0].factors["recency"].exponent == 0.5
    assert {"keyword", "vector", "cosine"} <= set(aged.factors["relevance"].parts)


@shows(
    "RecallResult",
    "RecallResult.query",
    "RecallResult.namespace",
    "Recalled.rank",
    "Recalled.memory",
    "Recalled.score",
    "Recalled.relevance",
    "Recalled.explain",
    "recall(explain)",
    "R · T · I · U · rules",
    "w_relevance",
)
def test_hits_explain_themselves(place: Memory) -> None:
    place.remember("a red bike", id="m", importance=0.8)
    place.remember("a red car", id="n")
    hits = place.recall("red bike", weights={"recency": 1.0, "usefulness": 0.0})
    assert (hits.query, hits.ids, hits.candidates, hits.at) == ("red bike", ["m", "n"], 2, hits.at)
    assert hits.recall_id
    assert hits.items[0].memory.namespace == place.namespace
    (factors, score) = hits[0].factors, hits[0].score
    assert score == pytest.approx(np.prod([factor.value for factor in factors.values()]))
    assert all(one.value == pytest.approx(one.base**one.exponent) for one in factors.values())
    assert set(factors) == {"relevance", "recency", "importance"}
    assert factors["importance"].base == pytest.approx(1.3)
    off = place.recall("red bike", weights={"relevance": 0.0, "importance": 0.0, "usefulness": 0.0})
    assert "importance" not in off[0].factors
    line = hits[0].explain()
    assert all(name in line for name in factors)
    printed = str(hits).splitlines()
    assert printed[:3] == ["'red bike' (2 of 2 candidates)", "1. [m] a red bike", f"   {line}"]
    assert place.recall("red bike").ids == place.recall("red bike").ids


@shows("recall(track)")
def test_what_the_log_keeps_of_a_recall_is_a_choice(open_memory: OpenMemory) -> None:
    mem = open_memory(track="off")
    mem.remember("a red bike", id="m")
    mem.feedback(mem.recall("which bike?").recall_id, used=["m"])
    assert mem.explain_usefulness() == []
    assert item(mem, "m").use_count == 1


@shows(
    "mark_used",
    "mark_ignored",
    "mark_used(query)",
    "feedback(used)",
    "feedback(reject_unused)",
    "MemoryItem.last_used",
    "MemoryItem.use_count",
)
def test_feedback_counts_once(place: Memory) -> None:
    for number in range(3):
        place.remember(f"bike {number}", id=f"m{number}")
    recall_id = place.recall("which bike?").recall_id
    for _ in range(2):
        place.feedback(recall_id, used=["m0"], ignored=["m1"])
    place.mark_used("m2", recall_id=recall_id)
    place.mark_used("unknown")
    place.mark_ignored("m1")
    counts = {one.id: (one.use_count, one.ignore_count) for one in place}
    assert counts == {"m0": (1, 0), "m1": (0, 2), "m2": (1, 0)}
    assert item(place, "m0").last_used_at is not None
    assert item(place, "m1").last_used_at is None


@shows(
    "explain_usefulness(namespace)",
    "explain_usefulness(min_support)",
    "feature",
    "most_useful_features",
    "Recalled.feature_links",
    "MemoryItem.features",
    "date:",
    "prior",
)
def test_what_feedback_taught_is_told(place: Memory) -> None:
    place.remember("met on May 3, 2026", id="dated")
    place.remember("met somewhere", id="plain")
    hits = place.recall("when did they meet, met?")
    assert {hit.memory.id: "date:yes" in hit.trace.shape for hit in hits} == {"dated": True, "plain": False}
    place.feedback(hits.recall_id, used=["dated"], ignored=["plain"])
    links = {link.shape: link for link in place.explain_usefulness(query_type="when")}
    assert links["date:yes"].strength > links["date:no"].strength
    assert links["date:yes"].count == 1
    assert set(usefulness.SHAPES) <= {shape.partition(":")[0] for shape in links}
    assert place.explain_usefulness(min_count=2) == [link for link in links.values() if link.count >= 2]
    assert place.explain_usefulness(everywhere=True)
    learned = next(hit for hit in place.recall("when did they meet?") if hit.memory.id == "dated")
    assert any("date" in name for name in learned.factors["usefulness"].parts)
    assert (PRIOR, usefulness.PSEUDOCOUNT) == (8.0, 20.0)


@shows("ScoringConfig", "lexical_weight", "bm25_k1", "heuristic_importance")
def test_weights_and_constants() -> None:
    weights = Weights()
    assert (weights.relevance, weights.importance, weights.usefulness, weights.recency) == (1, 1, 1, 0)
    assert (weights.half_life, weights.recency_floor, weights.superseded) == (30 * DAY, 0.5, 0.1)
    assert (weights.keyword, weights.vector, formulas.K1, formulas.B) == (0.5, 0.7, 0.9, 0.4)
    assert Weights(**asdict(weights)) == weights
    assert (
        formulas.KIND_IMPORTANCE["instruction"] > formulas.NEUTRAL > formulas.KIND_IMPORTANCE["tool_result"]
    )
    for bad in ({"recency": -1.0}, {"half_life": 0.0}, {"nosuch": 1.0}):
        with pytest.raises(InvalidInputError):
            weights.updated(bad)


@shows("query_type", "memory_features", "tokenize")
def test_what_is_read_out_of_texts() -> None:
    assert [query_type(text) for text in ("When did it rain?", "How many?", "hm")] == [
        "when",
        "howmany",
        "other",
    ]
    shape = shape_of("Did Ann pay 20 dollars on May 3?")
    assert (shape.asks, shape.has_date, shape.has_number, shape.has_entity) == (True, True, True, True)
    assert analyze("Bikes были 上海")[0] == "bike"
    assert len(analyze("Bikes были 上海")) == 3


@shows("Embedder", "HashingEmbedder", "OnnxEmbedder", "SentenceTransformerEmbedder", "make_embedder")
def test_embedders() -> None:
    hashing = resolve("hashing:512")
    assert isinstance(hashing, HashingEmbedder)
    assert (hashing.dim, hashing.embed(["a", "b"]).shape) == (512, (2, 512))
    assert isinstance(resolve("minilm"), MiniLMEmbedder)

    def encode(sentences: list[str]) -> list[list[float]]:
        return [[float(len(sentence)), 1.0] for sentence in sentences]

    model = resolve(encode)
    assert model is not None
    assert model.embed(["abc"]).shape == (1, 2)
    assert "encode" in model.name
    assert resolve("none") is None
