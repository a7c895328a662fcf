"""Rows to Arrow and back, vectors without a detour through Python floats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mnemolog.schemas.rows import Row


def to_arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """A table of `rows` in the columns of `schema`; a column that a row lacks is null."""
    arrays = [_vectors(rows, field) if field.name == "vector" else _column(rows, field) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _column(rows: Sequence[Row], field: pa.Field) -> pa.Array:
    return pa.array([row.get(field.name) for row in rows], type=field.type)


def _vectors(rows: Sequence[Row], field: pa.Field) -> pa.Array:
    dim = field.type.list_size
    values = np.zeros((len(rows), dim), dtype=np.float32)
    missing = np.ones(len(rows), dtype=bool)
    for at, row in enumerate(rows):
        if row.get("vector") is not None:
            values[at], missing[at] = row["vector"], False
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), dim, mask=pa.array(missing))


def from_arrow(table: pa.Table) -> list[Row]:
    """The rows of a table; `vector` as float32 arrays."""
    vectors = _split_vectors(table)
    plain = table.drop_columns(["vector"]) if vectors is not None else table
    rows: list[Row] = plain.to_pylist()
    if vectors is not None:
        for row, vector in zip(rows, vectors, strict=True):
            row["vector"] = vector
    return rows


def _split_vectors(table: pa.Table) -> list[np.ndarray | None] | None:
    if "vector" not in table.column_names:
        return None
    column = table.column("vector").combine_chunks()
    values, valid = vector_matrix(column)
    return [values[at] if valid[at] else None for at in range(len(values))]


def vector_matrix(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of a column, float32 [n, dim], and which of them exist, bool [n]; a null one is zeros."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    dim = column.type.list_size
    valid = np.asarray(column.is_valid())
    flat = column.values.slice(column.offset * dim, len(column) * dim)
    values = np.asarray(flat.to_numpy(zero_copy_only=False), dtype=np.float32).reshape(-1, dim)
    if not valid.all():
        values = np.where(valid[:, None], values, np.float32(0))
    return values, valid
