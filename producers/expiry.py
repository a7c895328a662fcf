"""From a time to live to the moment when it ends."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from mnemolog.schemas.errors import InvalidInputError


def expiry_after(now: datetime, ttl_seconds: float, field: str = "ttl_seconds") -> datetime:
    """The moment `ttl_seconds` after `now`.

    Raises:
        InvalidInputError: it is no finite number over 0, or the year would be over 9999.
    """
    number = isinstance(ttl_seconds, int | float) and not isinstance(ttl_seconds, bool)
    if not (number and 0 < ttl_seconds < math.inf):
        message = f"{field}: it must be a finite number of seconds over 0, not {ttl_seconds!r}"
        raise InvalidInputError(message, field=field)
    try:
        return now + timedelta(seconds=ttl_seconds)
    except OverflowError:
        raise InvalidInputError(f"{field}: the year would be over 9999", field=field) from None
