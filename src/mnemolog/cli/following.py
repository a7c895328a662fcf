"""Waiting for views that have much to catch up on: as long as they move."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mnemolog.cli.progress import Advance, progress
from mnemolog.schemas.errors import WaitTimeoutError

if TYPE_CHECKING:
    from mnemolog.memory import Memory
    from mnemolog.schemas.positions import Position

_STEP_SECONDS = 0.5
_WORTH_SHOWING = 500


def follow(memory: Memory, positions: Iterable[Position], patience: float, *, shown: bool) -> None:
    """Wait until the views have applied `positions`, with a bar if there is much to apply.

    Raises:
        WaitTimeoutError: the views stood still for `patience` seconds.
    """
    behind = _behind(memory)
    with progress("bringing the views up to date", shown=shown and behind > _WORTH_SHOWING) as advance:
        for position in positions:
            _follow(memory, position, patience, behind, advance)


def _follow(memory: Memory, position: Position, patience: float, behind: int, advance: Advance) -> None:
    left, moved_at = _behind(memory), time.monotonic()
    while True:
        try:
            return memory.wait(position, min(_STEP_SECONDS, patience))
        except WaitTimeoutError:
            now = _behind(memory)
            if now < left:
                left, moved_at = now, time.monotonic()
                advance(behind - now, behind)
            elif time.monotonic() - moved_at >= patience:
                raise


def _behind(memory: Memory) -> int:
    """How many events of the memory's partition are not applied yet."""
    return sum(memory.lag().values())
