"""A namespace's cache that was refreshed step by step equals one that is loaded afresh."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from support.caches import contents
from support.filtering import filters
from support.histories import NAMESPACES, START, Step, histories
from support.properties import examples
from support.shards import EMBEDDER, Shard, after_each
from support.tables import NOON, row

from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.scoring.shapes import SHAPE_FLAGS
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.filters import parse_filter
from mnemolog.schemas.matching import matches
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import Row, memories_schema
from mnemolog.storage.arrow import to_arrow
from mnemolog.storage.memory_table import MemoryTable

NAMESPACE = encode_namespace(NAMESPACES[0])
DIM = EMBEDDER.dim
NOW = START.timestamp()


def refresh(cache: NamespaceCache, tables: dict[str, Any]) -> None:
    """What a reader does: the rows that changed since, the memories' own rows of the usage view."""
    usage = [row for row in tables["usage"].scan() if row["pk"] == row["memory_pk"]]
    ours = [row for row in usage if row["namespace"] == NAMESPACE and row["_off"] >= cache.usage_next_offset]
    cache.upsert_usage(ours)
    cache.upsert([table_of([row for row in tables["memories"].scan() if is_news(row, cache)])])


def is_news(row: Row, cache: NamespaceCache) -> bool:
    changed = row["_off"] >= cache.next_offset or row["_fill"] > cache.last_fill
    return changed and bool(row["namespace"] == NAMESPACE)


def table_of(rows: list[Row]) -> pa.Table:
    return to_arrow(rows, memories_schema(DIM))


def fresh(tables: dict[str, Any]) -> NamespaceCache:
    cache = NamespaceCache(DIM)
    refresh(cache, tables)
    return cache


@examples(60)
@given(steps=histories(40), data=st.data())
def test_a_cache_that_was_kept_fresh_equals_a_new_one(steps: list[Step], data: st.DataObject) -> None:
    cache = NamespaceCache(DIM)
    refreshes = 0
    for shard in after_each(steps, lag=data.draw(st.sampled_from([0, 5, 99]), label="lag")):
        if data.draw(st.integers(0, 3)) == 0:
            refresh(cache, shard.tables)
            refreshes += 1
    refresh(cache, shard.tables)
    event(f"{refreshes // 5 * 5}+ refreshes")
    assert contents(cache) == contents(fresh(shard.tables))
    assert contents(cache).keys() == live_pks(shard)
    for superseded in (True, False):
        assert visible(cache, superseded) == visible(fresh(shard.tables), superseded)


def live_pks(shard: Shard) -> set[str]:
    return {row["pk"] for row in shard.tables["memories"].select(NAMESPACE)}


def visible(cache: NamespaceCache, superseded: bool) -> set[str]:
    mask = cache.visible(NOW, superseded=superseded)
    return {pk for pk, slot in cache.slot_of.items() if mask[slot]}


@examples(30)
@given(steps=histories(30), document=filters(), data=st.data())
def test_a_filter_over_a_cache_selects_what_it_means(
    steps: list[Step], document: dict[str, Any], data: st.DataObject
) -> None:
    cache, node = NamespaceCache(DIM), parse_filter(document)
    for shard in after_each(steps):
        if data.draw(st.integers(0, 5)) == 0:
            refresh(cache, shard.tables)
            cache.matching(node, cache.visible(NOW, superseded=True))  # what it keeps must not go stale
    refresh(cache, shard.tables)
    mask = cache.matching(node, cache.visible(float("-inf"), superseded=True))
    selected = {pk for pk, slot in cache.slot_of.items() if mask[slot]}
    rows = shard.tables["memories"].select(NAMESPACE)
    assert selected == {row["pk"] for row in rows if matches(node, row)}


def memory(number: int, offset: int, **changes: Any) -> Row:
    return row(f"pk{number}", offset, namespace=NAMESPACE, **changes)


def test_a_memory_that_loses_its_use_is_as_old_as_it_was() -> None:
    """The feedback topic may lag: a memory is forgotten, and made again, before its counts go."""
    memories, usage, cache = MemoryTable(), MemoryTable(), NamespaceCache(DIM)
    tables = {"memories": memories, "usage": usage}
    memories.commit([memory(0, 0)], 0)
    counts = {"pk": "pk0", "memory_pk": "pk0", "namespace": NAMESPACE, "deleted": False}
    counts |= {"_off": 0, "_fill": 0}
    usage.commit([{**counts, "last_used_at": NOON + timedelta(days=9)}], 0)
    refresh(cache, tables)
    assert cache.used[cache.slot_of["pk0"]] == (NOON + timedelta(days=9)).timestamp()
    memories.commit([memory(0, 2, text="made again")], 2)
    refresh(cache, tables)
    usage.commit([{**counts, "deleted": True, "last_used_at": None, "_off": 1}], 1)
    refresh(cache, tables)
    assert cache.used[cache.slot_of["pk0"]] == NOON.timestamp()
    assert contents(cache) == contents(fresh(tables))


def test_late_vectors_are_taken() -> None:
    table, cache = MemoryTable(), NamespaceCache(DIM)
    tables = {"memories": table, "usage": MemoryTable()}
    table.commit([memory(number, 0) for number in range(3)], 0)
    refresh(cache, tables)
    assert not cache.has_vector[: cache.size].any()
    vectors = EMBEDDER.embed(["a", "b"])
    for number, vector in enumerate(vectors):
        table.fill([memory(number, 0, vector=vector)])
        refresh(cache, tables)
    assert contents(cache) == contents(fresh(tables))
    assert sorted(cache.has_vector[list(cache.slot_of.values())]) == [False, True, True]


def test_hundreds_of_small_refreshes_keep_every_row_in_its_place() -> None:
    """Chunks are put together on the way, and arrays grow."""
    table, cache = MemoryTable(), NamespaceCache(DIM)
    tables = {"memories": table, "usage": MemoryTable()}
    pick = np.random.default_rng(5)
    for offset in range(300):
        number = int(pick.integers(0, 90))
        table.commit([memory(number, offset, text=f"text {offset}", deleted=offset % 7 == 3)], offset)
        refresh(cache, tables)
    assert contents(cache) == contents(fresh(tables))
    assert 2 * len(cache.slot_of) < cache.size
    table.commit([memory(number, 300 + number, text="last") for number in range(90)], 400)
    refresh(cache, tables)
    assert contents(cache) == contents(fresh(tables))


def test_a_cache_of_changes_alone_says_that_it_is_wasteful() -> None:
    table, cache = MemoryTable(), NamespaceCache(DIM)
    tables = {"memories": table, "usage": MemoryTable()}
    for offset in range(1_010):
        table.commit([memory(0, offset)], offset)
        refresh(cache, tables)
    assert cache.wasteful
    assert not fresh(tables).wasteful


def test_news_of_tombstones_alone_leave_filters_at_work() -> None:
    table, cache = MemoryTable(), NamespaceCache(DIM)
    tables = {"memories": table, "usage": MemoryTable()}
    for offset in range(3):
        table.commit([memory(0, offset, deleted=offset != 1, kind="fact")], offset)
        refresh(cache, tables)
        mask = cache.matching(parse_filter({"kind": "fact"}), cache.visible(NOW, superseded=True))
        assert mask.sum() == (offset == 1)


def test_an_empty_cache_answers() -> None:
    cache = NamespaceCache(None)
    mask = cache.visible(NOW, superseded=True)
    assert mask.tolist() == cache.matching(parse_filter({"kind": "note"}), mask).tolist() == []
    assert cache.counts("kind", np.array([], dtype=np.int64)) == {}
    assert cache.postings.scores(["a"], 0).tolist() == []
    assert len(SHAPE_FLAGS) == cache.shape.shape[1]
    assert not cache.wasteful


def test_counts_are_of_the_slots_asked_for() -> None:
    table, cache = MemoryTable(), NamespaceCache(DIM)
    tables = {"memories": table, "usage": MemoryTable()}
    table.commit([memory(number, 0, kind=kind) for number, kind in enumerate(["b", "a", "b", "c"])], 0)
    refresh(cache, tables)
    assert cache.counts("kind", np.arange(4)) == {"a": 1, "b": 2, "c": 1}
    assert list(cache.counts("kind", np.array([0, 3]))) == ["b", "c"]


def test_a_load_that_broke_off_is_made_good_by_the_next() -> None:
    """The parts of a load come in any order of offsets: what was not read must stay news."""
    table, cache = MemoryTable(), NamespaceCache(DIM)
    tables = {"memories": table, "usage": MemoryTable()}
    for offset in range(10):
        table.commit([memory(offset, offset)], offset)
    newest, older = (table_of([r for r in table.scan() if (r["_off"] > 4) == new]) for new in (True, False))

    def breaking_off() -> Iterator[pa.Table]:
        yield newest
        raise ViewError("gone")

    with pytest.raises(ViewError):
        cache.upsert(breaking_off())
    refresh(cache, tables)
    assert contents(cache) == contents(fresh(tables))
    in_parts = NamespaceCache(DIM)
    in_parts.upsert([newest, table_of([]), older])
    assert contents(in_parts) == contents(cache)


def test_rows_read_in_pieces_of_different_columns_stay_whole() -> None:
    """A column without a value in a piece is not kept there, and is known all the same."""
    table, cache = MemoryTable(), NamespaceCache(DIM)
    tables = {"memories": table, "usage": MemoryTable()}
    changes: list[dict[str, Any]] = [
        {"key": "a"},
        {},
        {"metadata": '{"city": "Paris"}'},
        {"expires_at": NOON + timedelta(days=1)},
    ]
    for offset, change in enumerate(changes * 20):  # enough for the pieces to be put together
        table.commit([memory(offset, offset, **change)], offset)
        refresh(cache, tables)
    rows = {row["pk"]: row for row in table.select(NAMESPACE)}
    for pk, slot in cache.slot_of.items():
        kept = cache.row(slot)
        assert kept == {name: rows[pk].get(name) for name in kept}
    slots = np.array(list(cache.slot_of.values()))
    assert cache.column("key", slots).to_pylist() == [rows[pk].get("key") for pk in cache.slot_of]
    assert cache.counts("metadata.city", slots) == {None: 60, "Paris": 20}
