"""A row of the store is the row that Arrow itself gives, whatever the columns' types, nulls and pieces."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.query.row_store import RowStore
from mnemolog.schemas.rows import memories_schema

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "text": (pa.string(), st.text(max_size=9)),
    "when": (
        pa.timestamp("us", tz="UTC"),
        st.datetimes(timezones=st.just(UTC)),
    ),
    "number": (pa.float64(), st.floats(allow_nan=False)),
    "offset": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "flag": (pa.bool_(), st.booleans()),
    "tags": (pa.list_(pa.string()), st.lists(st.text(max_size=3), max_size=2)),
}


def _values(values: st.SearchStrategy[Any], count: int) -> st.SearchStrategy[list[Any]]:
    either = st.sampled_from([values, values | st.none(), st.none()])
    return either.flatmap(lambda one: st.lists(one, min_size=count, max_size=count))


@examples(80)
@given(data=st.data(), count=st.integers(1, 20))
def test_a_row_is_the_one_that_arrow_gives(data: st.DataObject, count: int) -> None:
    columns = {
        name: pa.array(data.draw(_values(values, count)), type=kind) for name, (kind, values) in KINDS.items()
    }
    start = data.draw(st.integers(0, count - 1))
    store = RowStore()
    store.extend(0, pa.table(columns).slice(start))
    store.extend(count - start, pa.table(columns))
    expected = pa.table(columns).slice(start).to_pylist() + pa.table(columns).to_pylist()
    assert [store.row(slot) for slot in range(len(expected))] == expected


def test_a_time_is_an_aware_one_in_utc() -> None:
    moment = datetime(2025, 3, 1, 12, 30, 0, 5, tzinfo=UTC)
    schema = memories_schema(1)
    kind = schema.field("occurred_at").type
    store = RowStore()
    store.extend(0, pa.table({"occurred_at": pa.array([moment + timedelta(hours=1), moment], type=kind)}))
    assert store.row(1)["occurred_at"] == moment
    assert store.row(1)["occurred_at"].tzinfo is UTC


@examples(40)
@given(data=st.data(), sizes=st.lists(st.sampled_from([1, 63, 64, 70]), min_size=1, max_size=4))
def test_columns_with_one_value_in_a_piece_are_read_like_all_others(
    data: st.DataObject, sizes: list[int]
) -> None:
    store, tables = RowStore(), list[pa.Table]()
    for size in sizes:
        columns = {
            name: pa.array(data.draw(_repeated(values, size), label=name), type=kind)
            for name, (kind, values) in KINDS.items()
        }
        store.extend(sum(table.num_rows for table in tables), pa.table(columns))
        tables.append(pa.table(columns))
    expected = pa.concat_tables(tables)
    for _ in range(2):
        slots = np.arange(expected.num_rows)
        assert [store.row(slot) for slot in slots.tolist()] == expected.to_pylist()
        for name in KINDS:
            assert store.column(name, slots).to_pylist() == expected.column(name).to_pylist()
        store._rows.clear()
        store.consolidate(slots)


def _repeated(values: st.SearchStrategy[Any], size: int) -> st.SearchStrategy[list[Any]]:
    """One value throughout, or two in turn."""
    few = st.lists(values | st.none(), min_size=1, max_size=2)
    return few.map(lambda given: (given * size)[:size])
