"""How much memory a namespace will take, before it is read."""

from __future__ import annotations

from mnemolog.storage.searches import Snapshot
from mnemolog.storage.table import LanceTable

_SAMPLED = 256
_TEXTS = ("text", "terms", "metadata", "detail", "tags", "repeats")

_FIXED_BYTES = 250
"""Of a memory that says nothing: its entries in arrays and dicts, and the columns with times and ids."""

_LONG_BYTES = 16_000
"""A memory is taken to say no more than this, unless it is looked at."""


def bytes_a_row(table: LanceTable, condition: str, dim: int | None) -> float:
    """About how much memory each of the rows takes in a `NamespaceCache`, by the first few hundred of them.

    Two bytes a number of the vector and one and a half of what the row says.
    """
    said = Snapshot(table).some(condition, _TEXTS, _SAMPLED)
    each = int(said.nbytes) / max(said.num_rows, 1)
    return float(2 * (dim or 0) + _FIXED_BYTES + 1.5 * each)


def may_exceed(rows: int, dim: int | None, bound: int) -> bool:
    """Whether so many rows could take more than `bound` bytes, so that it is worth to look at some."""
    return rows * (2 * (dim or 0) + _LONG_BYTES) > bound
