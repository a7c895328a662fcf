"""Moments of the log: a time, or a position, up to which one may ask what was known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from mnemolog.schemas.checks import check_moment
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.positions import Position, parse_position

Moment: TypeAlias = datetime | Position | str
"""A time (a naive one is UTC), a position, or a text of either: a position's token, or a time in ISO form."""

Source: TypeAlias = Literal["live", "replay"]


@dataclass(frozen=True, slots=True)
class AsOf:
    """What a question about the past was answered from: all that the log took up to `time`, with `position`
    the last of it in the namespace's partition.

    `source` is "replay" where the namespace's events up to there were folded anew, and "live" where nothing
    came after them, so that the live views say the same.
    """

    time: datetime
    position: Position | None
    source: Source


def check_as_of(field: str, value: object) -> datetime | Position:
    """The moment that `value` names.

    Raises:
        InvalidInputError: it is neither a time nor a position, nor a text of one.
    """
    if isinstance(value, Position):
        return value
    if not isinstance(value, str):
        return check_moment(field, value)
    try:
        return parse_position(value) if "/" in value else check_moment(field, datetime.fromisoformat(value))
    except ValueError:
        raise InvalidInputError(
            f"{field} is a time like 2026-01-31T09:30:00Z or a position like mnemolog.memories/0/42, "
            f"not {value!r:.80}",
            field=field,
        ) from None
