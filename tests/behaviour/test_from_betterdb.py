"""Memories as in betterdb-agent-memory, in our names: each test shows rows of the page on other libraries."""

from __future__ import annotations

import asyncio
import math
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.mapping import rows
from support.stores import MovingClock, OpenMemory, texts
from support.workers import wait_until

import mnemolog
from mnemolog import Memory, MemoryItem, Weights
from mnemolog.embedders import HashingEmbedder
from mnemolog.query.scoring import formulas
from mnemolog.schemas.errors import EmbedderMismatchError, InvalidInputError

shows = partial(rows, "betterdb-agent-memory")
WEEK = 7 * 86_400.0


def item(mem: Memory, memory_id: str) -> MemoryItem:
    found = mem.get(memory_id)
    assert found is not None
    return found


@shows("MemoryStore", "client", "name", "embed_fn", "weights", "ensure_index", "close", "get")
def test_opening_is_all_there_is_to_set_up(tmp_path: Path) -> None:
    def embed(batch: list[str]) -> Any:
        return HashingEmbedder(16).embed(batch)

    for _ in range(2):
        with mnemolog.open(tmp_path / "m", ("app",), embedder=embed, weights=Weights(recency=0.5)) as mem:
            mem.remember("a note", id="m")
            assert mem.recall("note")[0].origins == ("vector", "keyword")
            assert mem.current_config().weights.recency == 0.5

    async def twin() -> MemoryItem | None:
        async with mnemolog.AsyncMemory.open(tmp_path / "m", ("app",), embedder=embed) as memory:
            return await memory.get("m")

    found = asyncio.run(twin())
    assert found is not None
    assert found.text == "a note"


@shows("another dimension at run time raises", "without an embedder recall raises")
def test_another_model_is_refused_and_none_leaves_keywords(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing:8") as mem:
        mem.remember("a red bike")
    with pytest.raises(EmbedderMismatchError), mnemolog.open(tmp_path, embedder="hashing:16") as mem:
        mem.recall("bike")
    with mnemolog.open(tmp_path / "other", embedder="none") as mem:
        mem.remember("a red bike")
        assert texts(mem.recall("bike")) == ["a red bike"]


@shows(
    "remember(content)",
    "remember(importance)",
    "remember(tags)",
    "remember(source)",
    "remember(ttl)",
    "remember(thread_id)",
    "remember(namespace)",
    "MemoryItem.id",
    "MemoryItem.content",
    "MemoryItem.namespace",
    "MemoryItem.created_at",
    "ValueError",
)
def test_what_a_memory_is_given_it_keeps(place: Memory, clock: MovingClock) -> None:
    now = clock()
    made = place.remember(
        "prefers dark mode",
        importance=0.8,
        tags=["ui, dark"],
        source="chat",
        ttl_seconds=60,
        thread_id="t",
        agent_id="a",
    )
    found = item(place, made.id)
    assert (found.id, found.text, found.importance) == (made.id, "prefers dark mode", 0.8)
    assert (found.tags, found.source, found.thread_id, found.agent_id) == (("ui, dark",), "chat", "t", "a")
    assert (found.namespace, found.occurred_at) == (place.namespace, now)
    assert place.at((*place.namespace, "x")).get(made.id) is None
    assert item(place, place.remember("x").id).importance is None
    for field, bad in [("importance", 2.0), ("ttl_seconds", 0), ("importance", math.nan)]:
        with pytest.raises(ValueError) as refused:
            place.remember("x", **{field: bad})  # type: ignore[arg-type]
        assert isinstance(refused.value, InvalidInputError)
        assert refused.value.field == field
    clock.advance(seconds=61)
    assert place.get(made.id) is None


@shows(
    "recall(query)",
    "recall(k)",
    "recall(tags)",
    "recall(weights)",
    "recall(thread_id)",
    "recall(namespace)",
    "MemoryHit",
    "MemoryHit.item",
    "MemoryHit.score",
    "MemoryScope",
)
def test_recall(place: Memory) -> None:
    for number in range(9):
        place.remember(
            f"bike {number}", tags=["even"] * (number % 2 == 0), thread_id=f"t{number % 3}", agent_id="a"
        )
    hits = place.recall("bike")
    assert (len(hits), len(place.recall("bike", k=8))) == (5, 8)
    assert hits.recall_id
    assert hits[0].score >= hits[1].score > 0
    assert hits[0].memory.text.startswith("bike")
    assert len(place.recall("bike", k=9, tags=["even"])) == 5
    assert len(place.recall("bike", k=9, thread_id="t0", agent_id="a")) == 3
    assert place.recall("bike", weights={"relevance": 0.0})[0].score != hits[0].score
    assert not place.at((*place.namespace, "x")).recall("bike")
    assert place.list(thread_id="t0", tags=["even"]).total == 2


@shows(
    "recall(threshold)",
    "default_threshold",
    "RECALL_NEAR_MISS_FACTOR",
    "recall_by_vector",
    "recall.threshold",
)
def test_a_threshold_is_a_cosine_distance_and_near_misses_are_told(place: Memory) -> None:
    place.remember("a red bike")
    vector = HashingEmbedder().embed(["a red bike"])[0]
    other = HashingEmbedder().embed(["green"])[0]
    mixed = 0.8 * vector + 0.6 * (other - np.dot(other, vector) * vector)
    assert texts(place.recall_by_vector((5 * vector).tolist(), threshold=0.01)) == ["a red bike"]
    distance = 1 - float(np.dot(mixed, vector) / np.linalg.norm(mixed))
    place.set_config(threshold=distance * 0.7)
    missed = place.recall_by_vector(mixed.tolist())
    assert (len(missed), missed.near_miss) == (0, True)
    assert missed.nearest_beyond == pytest.approx(distance, abs=1e-3)
    assert len(place.recall_by_vector(mixed.tolist(), threshold=distance * 1.1)) == 1
    with pytest.raises(InvalidInputError):
        place.set_config(threshold=2.5)


@shows(
    "composite_score",
    "similarity_from_distance",
    "recency_decay",
    "half_life_seconds",
    "MemoryHit.similarity",
)
def test_the_weighted_sum(place: Memory, clock: MovingClock) -> None:
    now = clock()
    place.remember("a red bike", importance=0.8, occurred_at=now - timedelta(days=7))
    (hit,) = place.recall("a red bike", scoring="additive", now=now)
    parts = hit.factors["sum"].parts
    assert parts["similarity"] == pytest.approx(0.6, abs=1e-3)
    assert parts["recency"] == pytest.approx(0.25 / 2)
    assert parts["importance"] == pytest.approx(0.15 * 0.8)
    assert hit.score == pytest.approx(sum(parts.values()))
    assert formulas.similarity(np.array([-1.0, 0.0, 1.0])).tolist() == [0, 0.5, 1]
    assert formulas.recency(np.array([-5.0, 0.0, WEEK]), WEEK, 0.0).tolist() == [1, 1, 0.5]


@shows("MemoryItem.last_accessed_at", "MemoryItem.access_count", "reinforcement")
def test_what_was_used_is_fresh_and_counted(place: Memory, clock: MovingClock) -> None:
    place.remember("a red bike", id="m")
    place.recall("bike")
    assert (item(place, "m").use_count, item(place, "m").last_used_at) == (0, None)
    clock.advance(days=3)
    place.mark_used("m")
    assert (item(place, "m").use_count, item(place, "m").last_used_at) == (1, clock())


@shows("list", "MemoryListResult", "stats", "forget", "forget_by_scope")
def test_listing_counting_and_forgetting(place: Memory) -> None:
    for number in range(6):
        place.remember(f"{number}", id=f"m{number}", thread_id=f"t{number % 2}", tags=["x"], agent_id="a")
    page = place.list(limit=2, offset=1)
    assert (texts(page.items), page.total) == (["4", "3"], 6)
    place.forget("m0", reason="asked")
    place.forget("unknown")
    assert place.get("m0") is None
    assert (place.stats()["active"], place.stats()["memories"]) == (5, 5)
    assert place.forget_scope(thread_id="t1", agent_id="a", tags=["x"], dry_run=True) == 3
    assert place.forget_scope(thread_id="t1", agent_id="a", tags=["x"]) == 3
    assert texts(place) == ["4", "2"]
    with pytest.raises(InvalidInputError):
        place.forget_scope()


@shows("MemoryStats.evictions", "max_items_per_scope", "maxItemsPerScope", "eviction")
def test_what_is_over_the_capacity_goes(place: Memory) -> None:
    place.set_config(max_items_per_scope=2)
    for number in range(4):
        place.remember(f"{number}", id=f"m{number}", importance=number / 10, pinned=number == 0)
    wait_until(lambda: place.stats()["evictions"] == {"capacity": 2}, "two memories to go", 30)
    assert {one.id for one in place} == {"m0", "m3"}


@shows("MemoryStats.config", "current_config", "recall.weights.*", "recall.halfLifeSeconds")
def test_settings(place: Memory) -> None:
    place.set_config(weights={"recency": 0.3}, half_life=WEEK)
    place.set_config(weights={"importance": 0.5})
    weights = place.current_config().weights
    assert (weights.recency, weights.importance, weights.half_life) == (0.3, 0.5, WEEK)
    assert place.current_config().origins["weights.recency"] == "namespace"
    for name, bad in [("half_life", 0), ("weights", {"recency": -1})]:
        with pytest.raises(InvalidInputError):
            place.set_config(**{name: bad})  # type: ignore[arg-type]
    assert place.current_config().weights == weights


@shows("betterdb_agent_cache")
def test_the_caches_are_part_of_a_handle(open_memory: OpenMemory) -> None:
    cache = open_memory().cache
    assert not cache.llm.check({"model": "m"}).hit
    assert not cache.tool.check("t").hit
    assert cache.session.get("k", thread_id="t") is None
