"""Rows to Arrow and back, also where a table is a part of another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.folding import snapshot
from support.tables import DIM, row

from mnemolog.schemas.rows import Row, memories_schema, usage_schema
from mnemolog.storage.arrow import from_arrow, to_arrow, vector_matrix

SCHEMA = memories_schema(DIM)


def given_rows() -> list[Row]:
    vectors = np.arange(6 * DIM, dtype=np.float32).reshape(6, DIM) / 7
    vectors[4] = [np.nan, np.inf, -0.0, 1e-45, *vectors[4][4:]]
    return [row(str(at), vector=None if at % 3 == 2 else vectors[at]) for at in range(6)]


@pytest.mark.parametrize(("start", "count"), [(0, 6), (1, 3), (2, 1), (4, 2), (3, 0), (6, 0)])
def test_a_part_of_a_table_has_its_own_vectors(start: int, count: int) -> None:
    table = to_arrow(given_rows(), SCHEMA).slice(start, count)
    assert snapshot(from_arrow(table)) == snapshot(given_rows()[start : start + count])


def test_tables_put_end_to_end_keep_their_order() -> None:
    parts = [to_arrow(given_rows()[at : at + 2], SCHEMA) for at in (0, 2, 4)]
    table = pa.concat_tables([parts[0], parts[1].slice(1), parts[2].slice(0, 0), parts[2]])
    assert [one["pk"] for one in from_arrow(table)] == ["0", "1", "3", "4", "5"]
    assert snapshot(from_arrow(table)) == snapshot([given_rows()[at] for at in (0, 1, 3, 4, 5)])


def test_missing_vectors_are_zeros_in_a_matrix_and_told_apart() -> None:
    values, there = vector_matrix(to_arrow(given_rows(), SCHEMA).column("vector"))
    assert values.dtype == np.float32
    assert values.shape == (6, DIM)
    assert there.tolist() == [True, True, False] * 2
    assert not values[~there].any()


def test_a_part_of_a_column_is_that_part_of_the_matrix() -> None:
    column = to_arrow(given_rows(), SCHEMA).column("vector").chunk(0)
    values, there = vector_matrix(column)
    part, part_there = vector_matrix(column.slice(2, 3))
    assert part.tobytes() == values[2:5].tobytes()
    assert part_there.tolist() == there[2:5].tolist()


def test_rows_without_a_vector_column_have_none() -> None:
    one = {"pk": "a", "namespace": "acme", "deleted": False, "_off": 0, "_fill": 0, "use_count": 1}
    (found,) = from_arrow(to_arrow([one], usage_schema()))
    assert "vector" not in found
    assert snapshot([found]) == snapshot([one])


def test_no_rows_are_an_empty_table() -> None:
    assert from_arrow(to_arrow([], SCHEMA)) == []
    assert to_arrow([], SCHEMA).schema == SCHEMA


def test_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        to_arrow([row("a", vector=np.ones(DIM + 1, dtype=np.float32))], SCHEMA)
