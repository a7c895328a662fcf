"""Rows to Arrow and back, vectors without a detour through Python floats."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from sys import intern
from typing import Any

import numpy as np
import pyarrow as pa

from mnemolog.schemas.rows import Row

_PART = 1_000
"""Rows turned at once: so many that their columns are found in the processor's caches."""

KEPT = pa.system_memory_pool()
"""For what stays: Arrow's own pool gives back no page on which anything stands, and passes through much that
does not stay."""


def to_arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """A table of `rows` in the columns of `schema`; a column that a row lacks is null."""
    parts = [_to_batch(rows[start : start + _PART], schema) for start in range(0, len(rows), _PART)]
    return pa.Table.from_batches(parts, schema=schema)


def _to_batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(_columns(rows, list(map(intern, schema.names))), schema, strict=True)
    return pa.RecordBatch.from_arrays([_array(values, field) for values, field in columns], schema=schema)


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    if field.name == "vector":
        return _vectors(values, field)
    if values[0] is None and values.count(None) == len(values):  # what most columns are
        return pa.nulls(len(values), field.type)
    return pa.array(values, type=field.type)


def _columns(rows: Sequence[Row], names: list[str]) -> list[Sequence[Any]]:
    """The values by column: quicker than asking every row for every column."""
    values_of = itemgetter(*names)
    try:
        return list(zip(*map(values_of, rows), strict=True))
    except KeyError:  # a row lacks a column
        blank = dict.fromkeys(names)
        return list(zip(*(values_of({**blank, **row}) for row in rows), strict=True))


def _vectors(given: Sequence[np.ndarray | None], field: pa.Field) -> pa.Array:
    dim = field.type.list_size
    values = np.zeros((len(given), dim), dtype=np.float32)
    missing = np.ones(len(given), dtype=bool)
    for at, vector in enumerate(given):
        if vector is not None:
            values[at], missing[at] = vector, False
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), dim, mask=pa.array(missing))


def from_arrow(table: pa.Table) -> list[Row]:
    """The rows of a table; `vector` as float32 arrays."""
    names = list(map(intern, table.column_names))  # the same strings that code names columns by
    columns = [_split_vectors(table) if name == "vector" else _plain(table.column(name)) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column. Most are null in every row, and each null would be made a scalar first."""
    return [None] * len(column) if column.null_count == len(column) else column.to_pylist()


def _split_vectors(table: pa.Table) -> list[np.ndarray | None]:
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
