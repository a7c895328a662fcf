"""Filters over many rows at once: each distinct value of a column is tested once."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic_core import from_json

from mnemolog.schemas.filters import And, Compare, Node, Not, Or, Span, lookup_metadata
from mnemolog.schemas.matching import compare, matches

Encoded: TypeAlias = tuple[NDArray[np.int64], list[Any]]
"""A column as codes, one a row, and the distinct values that they number."""

Mask: TypeAlias = NDArray[np.bool_]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode_column(column: pa.ChunkedArray) -> Encoded:
    """The distinct values of a column, None among them, and which of them each row has.

    Times are given as microseconds since 1970.
    """
    if pa.types.is_list(column.type):
        return _encode_lists(column.to_pylist())
    codes, distinct = _encode(column)
    return codes, (distinct.cast(pa.int64()) if pa.types.is_timestamp(column.type) else distinct).to_pylist()


def _encode(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def encode_path(metadata: pa.ChunkedArray, path: str) -> Encoded:
    """The distinct values at a path of a column of metadata, and which of them each row has.

    Values of different types are distinct, also where Python has them equal, such as 1 and true.
    """
    codes, distinct = _encode(metadata)
    documents = from_json(
        f"[{','.join(text or 'null' for text in distinct.to_pylist())}]", cache_strings="keys"
    )
    numbers: dict[tuple[type, Any], int] = {}
    values: list[Any] = []
    places = []
    for document in documents:
        value = lookup_metadata(document, path)
        key = (type(value), json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value)
        place = numbers.setdefault(key, len(values))
        if place == len(values):
            values.append(value)
        places.append(place)
    return np.array(places, dtype=np.int64)[codes], values


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
            codes, values = column(_column_name(node))
            found: Mask = _passed(node, values)[codes] if len(values) else np.zeros(size, dtype=bool)
            return found


def mask_in(part: pa.Table, node: Node) -> Mask:
    """Which rows of `part`, a piece of the memories view with the `columns_of` the filter, it selects."""

    def column(name: str) -> Encoded:
        field, _, path = name.partition(".")
        return encode_path(part.column(field), path) if path else encode_column(part.column(field))

    return mask_of(node, column, part.num_rows)


def columns_of(node: Node) -> set[str]:
    """The columns of the memories view that a filter asks about."""
    match node:
        case And(nodes) | Or(nodes):
            return {name for child in nodes for name in columns_of(child)}
        case Not(child):
            return columns_of(child)
        case Compare():
            return {_column_name(node).partition(".")[0]}


def _column_name(node: Compare) -> str:
    if node.field == "superseded":
        return "superseded_by"
    return f"{node.field}.{node.path}" if node.type == "json" else node.field


def _passed(node: Compare, values: list[Any]) -> Mask:
    """Which of the distinct values of a column the comparison lets pass."""
    if node.type == "time":
        return _times_passed(node, values)
    if node.type == "json":
        return np.array([compare(node, value) for value in values], dtype=bool)
    if node.type == "string" and node.op in ("eq", "ne"):  # of keys and ids each row has another
        same = np.array([value == node.value for value in values], dtype=bool)
        return same if node.op == "eq" else ~same
    name = _column_name(node)
    return np.array([matches(node, {name: value}) for value in values], dtype=bool)


def _times_passed(node: Compare, values: list[int | None]) -> Mask:
    """All at once: of times there are nearly as many distinct ones as rows."""
    there = np.array([value is not None for value in values], dtype=bool)
    if node.op == "exists":
        return there if node.value else ~there
    moments = np.array([value or 0 for value in values], dtype=np.int64)
    positive = {"ne": "eq", "nin": "in"}.get(node.op, node.op)
    spans = node.value if positive == "in" else () if node.value is None else (node.value,)
    found = np.zeros(len(values), dtype=bool)
    for span in spans:
        found |= _ordered("eq" if positive == "in" else positive, moments, span)
    passed = np.where(there, found, node.value is None)
    return passed if positive == node.op else ~passed


def _ordered(op: str, moments: NDArray[np.int64], span: Span) -> Mask:
    start, end = _micros(span.start), _micros(span.end)
    last = max(start, end - 1)
    match op:
        case "gte":
            return moments >= start
        case "lt":
            return moments < start
        case "gt":
            return moments > last
        case "lte":
            return moments <= last
    return (moments >= start) & (moments <= last)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _all(masks: list[Mask], size: int) -> Mask:
    found = np.ones(size, dtype=bool)
    for mask in masks:
        found &= mask
    return found
