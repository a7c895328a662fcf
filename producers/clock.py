"""The real clock, and the log's unit of time. Everything else gets a clock injected."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def utc_now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def to_millis(moment: datetime) -> int:
    """`moment` in whole milliseconds since 1970 UTC, exactly (no float on the way)."""
    return (moment - _EPOCH) // _MILLISECOND
