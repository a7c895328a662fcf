"""Checks of plain arguments, each an InvalidInputError that names the argument."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.fields import as_utc

MAX_SECONDS = 1e9
"""About 30 years; what threads and sockets can wait for is not much more."""


def check_count(field: str, value: object, low: int, high: int) -> None:
    """Refuse what is no whole number from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidInputError(f"{field} is a whole number from {low} to {high}, not {value!r}", field=field)


def check_finite(field: str, value: object) -> None:
    """Refuse what is no finite number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidInputError(f"{field} is a finite number, not {value!r}", field=field)


def check_seconds(field: str, value: object) -> float:
    """`value`, if it is a time to wait: from 0 to `MAX_SECONDS`."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and 0 <= value <= MAX_SECONDS):  # type: ignore[operator]
        raise InvalidInputError(
            f"{field} is a number of seconds from 0 to {MAX_SECONDS:g}, not {value!r}", field=field
        )
    return float(value)  # type: ignore[arg-type]


def check_string(field: str, value: object) -> str:
    """`value`, if it is a string."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{field} is a string, not {value!r:.80}", field=field)
    return value


def check_bool(field: str, value: object) -> bool:
    """`value`, if it is true or false."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{field} is true or false, not {value!r:.80}", field=field)
    return value


def check_moment(field: str, value: object) -> datetime:
    """`value` in UTC, if it is a time; a naive one is UTC."""
    try:
        if isinstance(value, datetime):
            return as_utc(value)
    except ValueError as error:
        raise InvalidInputError(f"{field}: {error}", field=field) from error
    raise InvalidInputError(f"{field} is a datetime, not {value!r:.80}", field=field)


def check_path(field: str, value: object) -> Path:
    """`value` as a path, if it can be one. An empty text is more likely a setting that is missing than the
    folder that a program happens to run in."""
    if not isinstance(value, (str, Path)) or "\0" in str(value) or value == "":
        raise InvalidInputError(f"{field} is a path, not {value!r:.80}", field=field)
    return Path(value)
