"""Columns of the memories that were selected, as Arrow: fields, metadata paths, and usage counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.schemas.filters import FIELDS, FieldType
from mnemolog.schemas.rows import TIME

USAGE: Mapping[str, FieldType] = {"use_count": "number", "ignore_count": "number", "last_used_at": "time"}
"""What is known of a memory from feedback; no filter knows these."""

METADATA = "metadata."


def type_of(name: object) -> FieldType | None:
    """The type of a field or a metadata path; None for a name that there is not."""
    if not isinstance(name, str):
        return None
    if name.startswith(METADATA) and len(name) > len(METADATA):
        return "json"
    return FIELDS.get(name) or USAGE.get(name)


def column_of(cache: NamespaceCache, name: str, slots: NDArray[np.int64]) -> pa.Array:
    """One column, an entry a slot. Metadata values are given as JSON texts, null where there is none."""
    if name.startswith(METADATA):
        codes, values = cache.values(name, slots)
        return pa.array([_text(value) for value in values], type=pa.string()).take(pa.array(codes))
    if name in USAGE:
        return _usage(cache, name, slots)
    if name == "superseded":
        return pa.array(cache.superseded[slots])
    return cache.column(name, slots)


def numbers_of(cache: NamespaceCache, name: str, slots: NDArray[np.int64]) -> pa.Array:
    """The numbers at a metadata path, null for all else: whole numbers where all are, else floats."""
    codes, values = cache.values(name, slots)
    numbers = [value if type(value) in (int, float) else None for value in values]
    whole = all(number is None or (isinstance(number, int) and abs(number) < 2**53) for number in numbers)
    return pa.array(numbers, type=pa.int64() if whole else pa.float64()).take(pa.array(codes))


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _usage(cache: NamespaceCache, name: str, slots: NDArray[np.int64]) -> pa.Array:
    used = [(slot, row[name]) for slot, row in cache.used_slots() if row[name] is not None]
    at, given = [slot for slot, _ in used], [value for _, value in used]
    values = np.zeros(cache.size, dtype=np.int64)
    if name != "last_used_at":
        values[at] = given
        return pa.array(values[slots])
    values[at] = pa.array(given, type=TIME).cast(pa.int64())
    missing = np.ones(cache.size, dtype=bool)
    missing[at] = False
    return pa.array(values[slots], mask=missing[slots]).cast(TIME)
