"""What a write returns."""

from __future__ import annotations

from dataclasses import dataclass

from mnemolog.schemas.positions import Position


@dataclass(frozen=True, slots=True)
class Receipt:
    """A durable write: the id of what was written and its place in the log.

    `str(receipt.position)` is a token that any process can pass to `wait` or `recall(after=…)`.
    """

    id: str
    position: Position
