"""What a log stores: opaque records with routing fields that stay readable."""

from __future__ import annotations

from typing import NamedTuple

from mnemolog.schemas.positions import Position

Headers = tuple[tuple[str, bytes], ...]


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
