"""Positions in the log, printable as tokens."""

from __future__ import annotations

from typing import NamedTuple

from mnemolog.schemas.errors import InvalidInputError


class Position(NamedTuple):
    """Where one event stands: its topic, partition and offset. `str(position)` is its token."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def parse_position(token: str | Position) -> Position:
    """The position that `token` names.

    Raises:
        InvalidInputError: `token` is not `topic/partition/offset`.
    """
    if isinstance(token, Position):
        return token
    topic, _, rest = token.partition("/") if isinstance(token, str) else ("", "", "")
    partition, _, offset = rest.partition("/")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise InvalidInputError(
            f"a position token looks like 'mnemolog.memories/0/42', not {token!r}", field="position"
        )
    return Position(topic, int(partition), int(offset))
