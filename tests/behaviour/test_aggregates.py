"""Numbers about many memories, and tables of them: what a plain loop over the same memories would say."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples
from support.stores import NOON, MovingClock, OpenMemory, Store

import mnemolog
from mnemolog import Memory, MemoryItem


def some_memories(mem: Memory) -> None:
    """Memories that differ in all that groups and numbers may be taken of."""
    for number in range(12):
        metadata: dict[str, Any] = {"city": ["Paris", "Rome", None][number % 3], "cost": number * 1.5}
        if number % 4 == 0:
            metadata = {"city": {"name": "Oslo"}, "cost": "free"}
        mem.remember(
            f"note {number}",
            id=f"m{number}",
            kind=["note", "fact"][number % 2],
            importance=None if number % 5 == 0 else number / 20,
            tags=[["a"], ["a", "b"], []][number % 3],
            agent_id=[None, "x"][number % 2],
            occurred_at=NOON + timedelta(minutes=number),
            metadata=metadata,
        )
    mem.feedback("r", used=["m1", "m2"], ignored=["m3"])


def test_numbers_by_group_are_those_of_a_loop(mem: Memory) -> None:
    some_memories(mem)
    groups: dict[str, list[MemoryItem]] = defaultdict(list)
    for item in mem.list(limit=100).items:
        groups[item.kind].append(item)
    found = mem.aggregate(
        "kind",
        {
            "count": ["agent_id", "tags"],
            "sum": "use_count",
            "avg": "importance",
            "min": ["occurred_at", "importance"],
            "max": "last_used_at",
        },
    )
    assert [row["kind"] for row in found] == sorted(groups)
    for row in found:
        items = groups[row["kind"]]
        weights = [item.importance for item in items if item.importance is not None]
        assert row["count_agent_id"] == sum(item.agent_id is not None for item in items)
        assert row["count_tags"] == sum(bool(item.tags) for item in items)
        assert row["sum_use_count"] == sum(item.use_count for item in items)
        assert row["avg_importance"] == pytest.approx(sum(weights) / len(weights))
        assert row["min_importance"] == min(weights)
        assert row["min_occurred_at"] == min(item.occurred_at for item in items)
        assert row["max_last_used_at"] == max(item.last_used_at for item in items if item.last_used_at)


def test_without_by_there_is_one_row_for_all(mem: Memory) -> None:
    assert mem.aggregate(metrics={"count": True, "avg": "importance"}) == [
        {"count": 0, "avg_importance": None}
    ]
    assert mem.aggregate(by="kind") == []
    some_memories(mem)
    assert mem.aggregate() == [{"count": 12}]
    assert mem.aggregate(filters={"kind": "none of this"}) == [{"count": 0}]


def test_metadata_groups_keep_values_of_different_types_apart(mem: Memory) -> None:
    for value in (1, "1", True, 1.5, None, [1], {"a": 1}):
        mem.remember(f"is {value!r}", metadata={"x": value})
    mem.remember("without")
    found = mem.aggregate("metadata.x", {"count": True})
    assert {json.dumps(row["metadata.x"]): row["count"] for row in found} == {
        "1": 1, '"1"': 1, "true": 1, "1.5": 1, "null": 2, "[1]": 1, '{"a": 1}': 1,
    }  # fmt: skip
    assert found[-1]["metadata.x"] is None


def test_of_metadata_only_numbers_are_computed_with(mem: Memory) -> None:
    for value in (1, 2, "3", True, None, [4], 2.5):
        mem.remember(f"costs {value!r}", metadata={"cost": value, "n": 2, "deep": {"er": 7}})
    metrics = {"sum": ["metadata.cost", "metadata.n"], "max": "metadata.deep.er", "count": "metadata.cost"}
    assert mem.aggregate(None, metrics) == [
        {"sum_metadata.cost": 5.5, "sum_metadata.n": 14, "max_metadata.deep.er": 7, "count_metadata.cost": 6}
    ]


def test_a_memory_counts_in_each_of_its_tags(mem: Memory) -> None:
    some_memories(mem)
    assert mem.aggregate("tags") == [
        {"tags": "a", "count": 8},
        {"tags": "b", "count": 4},
        {"tags": None, "count": 4},
    ]
    both = mem.aggregate(["kind", "tags"])
    assert sum(row["count"] for row in both) == 16
    assert [row["kind"] for row in both] == sorted(row["kind"] for row in both)


def test_aggregates_see_what_may_be_shown_and_nothing_else(open_memory: OpenMemory) -> None:
    clock = MovingClock(datetime.now(UTC))
    mem, other = open_memory(clock=clock), open_memory("bob")
    other.remember("of another", importance=1.0)
    mem.remember("old", key="k", importance=0.1)
    mem.remember("new", key="k", importance=0.2)
    mem.remember("short", importance=0.3, ttl_seconds=60)
    mem.remember("gone", id="gone", importance=0.9)
    mem.forget("gone")
    assert mem.aggregate(metrics={"max": "importance"}) == [{"max_importance": 0.3}]
    clock.advance(seconds=61)
    assert mem.aggregate(metrics={"count": True, "max": "importance"}) == [
        {"count": 1, "max_importance": 0.2}
    ]
    every = mem.aggregate("superseded", include_superseded=True)
    assert every == [{"superseded": False, "count": 1}, {"superseded": True, "count": 1}]
    assert mem.to_arrow(["text"]).column("text").to_pylist() == ["new"]


def test_aggregates_follow_every_change(mem: Memory) -> None:
    mem.remember("one", id="m", importance=0.5, metadata={"n": 1})
    metrics = {"sum": ["metadata.n", "importance"]}
    assert mem.aggregate(metrics=metrics) == [{"sum_metadata.n": 1, "sum_importance": 0.5}]
    mem.update("m", metadata={"n": 5}, importance=0.25)
    assert mem.aggregate(metrics=metrics) == [{"sum_metadata.n": 5, "sum_importance": 0.25}]
    mem.remember("two", metadata={"n": 1.5})
    assert mem.aggregate(metrics=metrics) == [{"sum_metadata.n": 6.5, "sum_importance": 0.25}]


def test_a_table_has_what_a_list_has(mem: Memory) -> None:
    some_memories(mem)
    table, items = mem.to_arrow(), mem.list(limit=100).items
    assert table.num_rows == len(items)
    names = set(table.column_names)
    assert names.isdisjoint(
        {"pk", "namespace", "deleted", "_off", "_fill", "slot", "successor", "origin", "terms", "vector"}
    )
    for row, item in zip(table.to_pylist(), items, strict=True):
        assert json.loads(row.pop("metadata")) == item.metadata
        for name, value in row.items():
            if hasattr(item, name) and name not in ("links", "detail"):
                said = getattr(item, name)
                assert (list(said) if isinstance(said, tuple) else said) == value, name


def test_a_table_has_the_columns_that_are_asked_for(mem: Memory) -> None:
    empty = mem.to_arrow(["id", "importance"])
    assert (empty.num_rows, empty.schema.names) == (0, ["id", "importance"])
    mem.remember("a red bike", id="m")
    table = mem.to_arrow(["text", "id"], vectors=True)
    assert table.schema.names == ["text", "id", "vector"]
    (vector,) = table.column("vector").to_pylist()
    assert table.schema.field("vector").type == pa.list_(pa.float32(), len(vector))
    assert math.isclose(float(np.linalg.norm(vector)), 1.0, rel_tol=1e-5)


def test_a_table_of_memories_without_vectors(folder_store: Store) -> None:
    mem = folder_store.open(embedder="none")
    mem.remember("bike")
    assert mem.to_arrow(["id"], vectors=True).column("vector").to_pylist() == [None]


VALUES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["a", "b"]))
MEMORY = st.fixed_dictionaries(
    {"kind": st.sampled_from("ab"), "importance": st.none() | st.floats(0, 1), "x": VALUES, "y": VALUES}
)


@examples(25)
@given(memories=st.lists(MEMORY, max_size=12))
def test_any_memories_give_the_numbers_of_a_loop(
    tmp_path_factory: pytest.TempPathFactory, memories: list[dict[str, Any]]
) -> None:
    with mnemolog.open(tmp_path_factory.mktemp("m"), embedder="none") as mem:
        mem.remember_many(
            [
                {"text": "t", "kind": one["kind"], "importance": one["importance"],
                 "metadata": {"x": one["x"], "y": one["y"]}}
                for one in memories
            ]
        )  # fmt: skip
        found = mem.aggregate(["kind", "metadata.x"], {"count": True, "sum": ["metadata.y", "importance"]})
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for one in memories:
        groups[one["kind"], json.dumps(one["x"])].append(one)
    assert {(row["kind"], json.dumps(row["metadata.x"])) for row in found} == set(groups)
    for row in found:
        group = groups[row["kind"], json.dumps(row["metadata.x"])]
        assert row["count"] == len(group)
        assert row["sum_metadata.y"] == total(group, "y", is_number)
        assert row["sum_importance"] == pytest.approx(total(group, "importance", lambda one: one is not None))


def is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def total(group: list[dict[str, Any]], name: str, counts: Callable[[Any], bool]) -> Any:
    values = [one[name] for one in group if counts(one[name])]
    return sum(values) if values else None
