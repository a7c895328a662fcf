"""Filters over many rows at once: each distinct value of a column is tested once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mnemolog.schemas.filters import And, Compare, Node, Not, Or
from mnemolog.schemas.matching import matches

Encoded: TypeAlias = tuple[NDArray[np.int64], list[Any]]
"""A column as codes, one a row, and the distinct values that they number."""

Mask: TypeAlias = NDArray[np.bool_]


def encode_column(column: pa.ChunkedArray) -> Encoded:
    """The distinct values of a column, None among them, and which of them each row has."""
    if pa.types.is_list(column.type):
        return _encode_lists(column.to_pylist())
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    codes: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, encoded.dictionary.to_pylist()


def _encode_lists(values: list[list[Any] | None]) -> Encoded:
    numbers: dict[tuple[Any, ...], int] = {}
    codes = [numbers.setdefault(tuple(value or ()), len(numbers)) for value in values]
    return np.array(codes, dtype=np.int64), list(numbers)


def mask_of(node: Node, column: Callable[[str], Encoded], size: int) -> Mask:
    """Which of `size` rows the filter selects; `column` gives a column by name."""
    match node:
        case And(nodes):
            return _all([mask_of(child, column, size) for child in nodes], size)
        case Or(nodes):
            return ~_all([~mask_of(child, column, size) for child in nodes], size)
        case Not(child):
            return ~mask_of(child, column, size)
        case Compare():
            name = "superseded_by" if node.field == "superseded" else node.field
            codes, values = column(name)
            passed = np.array([matches(node, {name: value}) for value in values], dtype=bool)
            found: Mask = passed[codes] if len(values) else np.zeros(size, dtype=bool)
            return found


def _all(masks: list[Mask], size: int) -> Mask:
    found = np.ones(size, dtype=bool)
    for mask in masks:
        found &= mask
    return found
