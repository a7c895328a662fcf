"""What a log stores: opaque records with routing fields that stay readable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from mnemolog.schemas.positions import Position

Headers = tuple[tuple[str, bytes], ...]

GiveTrace: TypeAlias = Callable[[], Headers]
"""Gives the headers `traceparent` and `tracestate` of what is being done, or none; asked at each append.

Format: https://www.w3.org/TR/trace-context/
"""


class Record(NamedTuple):
    """A record to append. `key` is the encoded namespace, which alone chooses the partition; in a compacted
    topic also `|` and what compaction keeps one record of.

    `timestamp` is in milliseconds since 1970 UTC; None lets the log stamp it. `headers` carry what routing
    needs (event type, event id, schema version), so that `value` may be encrypted.
    """

    topic: str
    key: bytes
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None


class StoredRecord(NamedTuple):
    """A record as it stands in the log, with the position it got and its timestamp in milliseconds."""

    position: Position
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def no_trace() -> Headers:
    """A `GiveTrace` where nothing is traced."""
    return ()


def with_headers(records: Sequence[Record], more: Headers) -> Sequence[Record]:
    """The records, each with `more` behind its own headers."""
    if not more:
        return records
    return [record._replace(headers=record.headers + more) for record in records]
