"""The memories that were selected as an Arrow table, for DuckDB, Polars or pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mnemolog.query.columns import USAGE, column_of
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.rows import MEMORY_FIELDS, TIME

_INTERNAL = frozenset(
    {"pk", "namespace", "deleted", "_off", "_fill", "successor", "slot", "origin", "history", "repeats",
     "terms", "embed_error", "connected", "timeline", "rank", "rests_on"}
)  # fmt: skip
_USAGE_FIELDS = [pa.field(name, TIME if name == "last_used_at" else pa.int64()) for name in USAGE]

PUBLIC_FIELDS: Mapping[str, pa.Field] = {
    field.name: field for field in [*MEMORY_FIELDS, *_USAGE_FIELDS] if field.name not in _INTERNAL
}
"""The columns that a table of memories may have, beside `vector`."""


def check_columns(columns: Sequence[str] | None, *, vectors: bool) -> list[str]:
    """The names of the columns to give; all public ones for None.

    Raises:
        InvalidInputError: an unknown column, or no list of names.
    """
    if columns is None:
        return [*PUBLIC_FIELDS, *(["vector"] if vectors else [])]
    if isinstance(columns, str | bytes | Mapping) or not isinstance(columns, Iterable):
        raise InvalidInputError(f"columns: give a list of names, not {columns!r:.80}", field="columns")
    names = list(dict.fromkeys([*columns, *(["vector"] if vectors else [])]))
    for name in names:
        if name != "vector" and name not in PUBLIC_FIELDS:
            known = ", ".join([*PUBLIC_FIELDS, "vector"])
            raise InvalidInputError(
                f"columns: unknown column {name!r:.80}; there are {known}", field="columns"
            )
    return names


def to_table(
    cache: NamespaceCache | None, slots: NDArray[np.int64], names: Sequence[str], dim: int | None
) -> pa.Table:
    """The named columns, a row a slot. `vector` is float32 [dim], null where a memory has none;
    recall keeps 11 bits of each number, and these are given here."""
    schema = pa.schema([_vector_field(dim) if name == "vector" else PUBLIC_FIELDS[name] for name in names])
    if cache is None or not slots.size:
        return schema.empty_table()
    arrays = [_column(cache, slots, field) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _column(cache: NamespaceCache, slots: NDArray[np.int64], field: pa.Field) -> pa.Array:
    if field.name == "vector":
        return _vectors(cache, slots)
    return column_of(cache, field.name, slots).cast(field.type)


def _vector_field(dim: int | None) -> pa.Field:
    return pa.field("vector", pa.null() if dim is None else pa.list_(pa.float32(), dim))


def _vectors(cache: NamespaceCache, slots: NDArray[np.int64]) -> pa.Array:
    dim = cache.vectors.dim
    if not dim:
        return pa.nulls(slots.size)
    missing = pa.array(~cache.has_vector[slots])
    return pa.FixedSizeListArray.from_arrays(pa.array(cache.vectors.at(slots).ravel()), dim, mask=missing)
