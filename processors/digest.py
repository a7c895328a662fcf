"""A digest of a view's rows: equal for equal content, in whatever order the rows come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from mnemolog.schemas.rows import Row

_BOOKKEEPING = frozenset({"_fill", "embed_error", "vector"})
"""`_fill` and `embed_error` tell how a vector came, not what it is; vectors have a digest of their own."""

_HIGH_BITS = np.uint32(0xFFFF0000)
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True)
class Digest:
    """What is in a view.

    `live` and `tombstones` count its rows. `content` covers every column but the vectors, and is equal on all
    machines. `vectors` covers the upper half of each number in them (about two decimal digits): equal on one
    machine, and on others as long as the model's noise does not carry a number over a step.
    """

    live: int
    tombstones: int
    content: str
    vectors: str


def digest_rows(rows: Iterable[Row]) -> Digest:
    """The digest of a view's rows, tombstones included.

    A column that is null counts like one that is not there. The rows' SHA-256 hashes are added modulo 2²⁵⁶,
    so that order does not matter and duplicates count.
    """
    counts = {False: 0, True: 0}
    content = vectors = 0
    for row in rows:
        counts[bool(row["deleted"])] += 1
        content += _hash(_canonical(row))
        vectors += _hash(str(row["pk"]).encode() + b"\0" + _high_bits(row.get("vector")))
    return Digest(counts[False], counts[True], _hex(content), _hex(vectors))


def _hash(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest())


def _hex(total: int) -> str:
    return f"{total % _MODULUS:064x}"


def _canonical(row: Mapping[str, Any]) -> bytes:
    kept = {name: value for name, value in row.items() if value is not None and name not in _BOOKKEEPING}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), default=_plain).encode()


def _plain(value: object) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case np.generic() | np.ndarray():
            return value.tolist()
    raise TypeError(f"no digest for a {type(value).__name__}")


def _high_bits(vector: Any) -> bytes:
    if vector is None:
        return b""
    numbers = np.asarray(vector, dtype="<f4") + np.float32(0)  # −0 becomes 0
    return (numbers.view("<u4") & _HIGH_BITS).tobytes()
