"""Headers as one BLOB that is quick to take apart: a line of JSON with names and lengths, then the values."""

from __future__ import annotations

import json
from functools import lru_cache

from mnemolog.schemas.records import Headers


def dump_headers(headers: Headers) -> bytes | None:
    """The BLOB of `headers`; None stands for none."""
    if not headers:
        return None
    layout = tuple((name, len(value)) for name, value in headers)
    return _dump_layout(layout) + b"".join([value for _, value in headers])


def load_headers(blob: bytes | None) -> Headers:
    """The inverse of `dump_headers`."""
    if blob is None:
        return ()
    line, _, values = blob.partition(b"\n")
    return tuple([(name, values[start:end]) for name, start, end in _load_layout(line)])


@lru_cache(maxsize=4096)
def _dump_layout(layout: tuple[tuple[str, int], ...]) -> bytes:
    return json.dumps(layout).encode() + b"\n"


@lru_cache(maxsize=4096)
def _load_layout(line: bytes) -> list[tuple[str, int, int]]:
    spans: list[tuple[str, int, int]] = []
    end = 0
    for name, length in json.loads(line):
        spans.append((name, end, end + length))
        end += length
    return spans
