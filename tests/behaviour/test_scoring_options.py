"""How a recall may be asked to score, and to choose: presets, rules, a vector, a budget, diversity."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from support.stores import Store
from support.workers import wait_until

from mnemolog import Memory, MemoryItem
from mnemolog.embedders import HashingEmbedder
from mnemolog.schemas.errors import InvalidInputError

NOW = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def test_the_additive_preset_gives_the_numbers_of_its_formula(mem: Memory) -> None:
    """0.6·(1 − d/2) + 0.25·½^(age / 7 d) + 0.15·importance."""
    mem.remember("tea with milk", id="a", occurred_at=NOW - 7 * DAY, importance=0.9)
    mem.remember("coffee without", id="b", occurred_at=NOW - 70 * DAY)
    texts = {"a": "tea with milk", "b": "coffee without"}
    embed = HashingEmbedder().embed
    for hit in mem.recall("tea with sugar", scoring="additive", now=NOW):
        asked, text = embed(["tea with sugar"])[0], embed([texts[hit.memory.id]])[0]
        distance = 1 - float(asked @ text)
        age_days, important = (7, 0.9) if hit.memory.id == "a" else (70, 0.5)
        expected = 0.6 * (1 - distance / 2) + 0.25 * 0.5 ** (age_days / 7) + 0.15 * important
        assert hit.score == pytest.approx(expected, rel=1e-5)
        assert math.prod(factor.value for factor in hit.factors.values()) == hit.score


def test_a_threshold_that_keeps_all_out_reports_the_near_miss(mem: Memory) -> None:
    mem.remember("tea with milk")
    distance = 1 - mem.recall("tea with sugar")[0].factors["relevance"].parts["cosine"]
    hits = mem.recall("tea with sugar", threshold=distance * 0.9)
    assert (len(hits), hits.near_miss) == (0, True)
    assert hits.nearest_beyond == pytest.approx(distance)
    assert not mem.recall("tea with sugar", threshold=distance * 0.1).near_miss
    assert not mem.recall("tea with sugar", threshold=distance * 1.1).near_miss


def test_what_is_ongoing_prefers_the_recent_and_buries_nothing(mem: Memory) -> None:
    mem.remember("the plan is ready", id="old", occurred_at=NOW - 3_000 * DAY)
    mem.remember("the plan is ready now", id="new", occurred_at=NOW)
    mem.remember("lunch is at noon", id="other", occurred_at=NOW)
    hits = mem.recall("the plan is ready", scoring="ongoing", now=NOW)
    assert hits.ids[0] == "new"
    assert hits.ids.index("old") < hits.ids.index("other") if "other" in hits.ids else "old" in hits.ids


def test_kinds_that_last_do_not_age(mem: Memory) -> None:
    mem.remember("the plan is ready", id="old", kind="fact", occurred_at=NOW - 300 * DAY)
    aged = mem.recall("plan", scoring="ongoing", now=NOW)[0].factors["recency"].base
    mem.set_config(lasting=["fact"])
    wait_until(lambda: mem.current_config().lasting == {"fact"}, "the setting")
    kept = mem.recall("plan", scoring="ongoing", now=NOW)[0].factors["recency"].base
    assert aged < 0.6 < kept == 1


def test_a_vector_finds_what_its_text_finds(mem: Memory) -> None:
    mem.remember_many(["tea with milk", "a walk by the lake", "coffee"])
    (vector,) = HashingEmbedder().embed(["a walk by the sea"])
    hits = mem.recall_by_vector(list(map(float, 3 * vector)), k=2)
    assert hits[0].memory.text == "a walk by the lake"
    assert len(hits) == 2
    assert hits[0].factors["relevance"].parts["cosine"] > 0.3


def test_a_budget_of_tokens_bounds_the_texts_together(mem: Memory) -> None:
    mem.remember("plan " * 200, id="long")
    mem.remember("plan of the day", id="short")
    mem.remember("the plan for noon", id="other")
    hits = mem.recall("plan", k=10, max_tokens=12)
    assert {*hits.ids} == {"short", "other"}
    assert sum(len(hit.memory.text) for hit in hits) / 4 <= 12
    assert "long" in mem.recall("plan", k=10, max_tokens=1_000).ids


def test_diversity_sets_near_duplicates_apart(mem: Memory) -> None:
    mem.remember_many([f"the plan for the lake trip is ready{'!' * count}" for count in range(4)])
    mem.remember("a plan for dinner", id="other")
    assert "other" not in mem.recall("the plan for the lake trip", k=2).ids
    assert "other" in mem.recall("the plan for the lake trip", k=2, diversity=0.7).ids


def test_rules_of_ones_own_multiply_the_score(mem: Memory) -> None:
    mem.remember("tea is served", id="a", source="chat")
    mem.remember("tea is served here", id="b", source="manual")

    def trusted(memory: MemoryItem) -> float:
        return 2.0 if memory.source == "manual" else 0.5

    plain = {hit.memory.id: hit.score for hit in mem.recall("tea is served")}
    hits = mem.recall("tea is served", rules={"trusted": trusted})
    assert hits.ids[0] == "b"
    for hit in hits:
        assert hit.factors["rule:trusted"].value == trusted(hit.memory)
        assert hit.score == pytest.approx(plain[hit.memory.id] * trusted(hit.memory))


def test_a_kind_says_how_important_a_memory_is_where_nobody_did(mem: Memory) -> None:
    mem.remember("always answer in French", kind="instruction")
    mem.remember("always answer in German", kind="tool_result")
    mem.remember("always answer in Dutch", kind="tool_result", importance=0.5)
    values = {hit.memory.text[17:]: hit.factors["importance"].value for hit in mem.recall("always answer in")}
    assert values["French"] > 1 > values["German"]
    assert values["Dutch"] == 1


def _fails(memory: MemoryItem) -> float:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda mem: mem.recall("q", scoring="nonsense"), "scoring"),
        (lambda mem: mem.recall("q", scoring=5), "scoring"),
        (lambda mem: mem.recall("q", max_tokens=0), "max_tokens"),
        (lambda mem: mem.recall("q", diversity=1.0), "diversity"),
        (lambda mem: mem.recall("q", diversity=float("nan")), "diversity"),
        (lambda mem: mem.recall("q", rules=[len]), "rules"),
        (lambda mem: mem.recall("q", rules={"r": 5}), "rules"),
        (lambda mem: mem.recall("tea", rules={"r": _fails}), "rules.r"),
        (lambda mem: mem.recall("tea", rules={"r": lambda memory: -1}), "rules.r"),
        (lambda mem: mem.recall("tea", rules={"r": lambda memory: "x"}), "rules.r"),
        (lambda mem: mem.recall_by_vector([1.0, 2.0]), "vector"),
        (lambda mem: mem.recall_by_vector([0.0] * 256), "vector"),
        (lambda mem: mem.recall_by_vector([float("nan")] * 256), "vector"),
        (lambda mem: mem.recall_by_vector("text"), "vector"),
        (lambda mem: mem.set_config(lasting="fact"), "lasting"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    mem: Memory, call: Callable[[Memory], Any], field: str
) -> None:
    mem.remember("tea")
    with pytest.raises(InvalidInputError) as caught:
        call(mem)
    assert caught.value.field == field


def test_views_without_vectors_take_no_vector(folder_store: Store) -> None:
    mem = folder_store.open(embedder="none")
    mem.remember("tea")
    with pytest.raises(InvalidInputError, match="no vectors"):
        mem.recall_by_vector(np.ones(8).tolist())
