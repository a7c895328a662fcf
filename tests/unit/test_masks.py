"""Filters over columns select the rows that they select one by one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from support.filtering import filters, rows
from support.properties import examples

from mnemolog.query.masks import Encoded, encode_column, encode_path, mask_of
from mnemolog.schemas.filters import parse_filter
from mnemolog.schemas.matching import matches
from mnemolog.schemas.rows import Row, memories_schema
from mnemolog.storage.arrow import to_arrow


def columns(table: pa.Table) -> Any:
    def column(name: str) -> Encoded:
        field, _, path = name.partition(".")
        return encode_path(table.column(field), path) if path else encode_column(table.column(field))

    return column


@examples(100)
@given(document=filters(), given_rows=st.lists(rows(), max_size=12), pieces=st.integers(1, 3))
def test_a_mask_is_the_filter_on_each_row(
    document: dict[str, Any], given_rows: list[Row], pieces: int
) -> None:
    node = parse_filter(document)
    parts = [given_rows[at::pieces] for at in range(pieces)]
    given_rows = [row for part in parts for row in part]
    table = pa.concat_tables([to_arrow(part, memories_schema(4)) for part in parts])
    mask = mask_of(node, columns(table), len(given_rows))
    assert mask.dtype == bool
    assert mask.tolist() == [matches(node, row) for row in given_rows]


def test_a_column_of_one_value_and_nulls_is_encoded() -> None:
    cases: list[tuple[list[Any], pa.DataType]] = [
        ([None, "a", None], pa.string()),
        ([True, None, False], pa.bool_()),
        ([0.5, None, -0.0], pa.float64()),
        ([["a"], None, []], pa.list_(pa.string())),
    ]
    for values, kind in cases:
        codes, distinct = encode_column(pa.chunked_array([pa.array(values, type=kind)]))
        decoded = [distinct[code] for code in codes]
        assert decoded == [tuple(one or ()) if isinstance(kind, pa.ListType) else one for one in values]
