"""Waiting until the views have applied a position, by looking at them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mnemolog.schemas.positions import Position

POLL_SECONDS = 0.01

Applied = Callable[[str, int], int]
"""Topic, partition → the next offset that the views will apply."""


@dataclass(slots=True)
class _Seen:
    """How far a partition had come when it was last looked at."""

    offset: int = 0
    at: float = float("-inf")
    lock: threading.Lock = field(default_factory=threading.Lock)


class Watch:
    """Waits for positions. However many threads wait, a partition is looked at a hundred times a second."""

    def __init__(self, applied: Applied) -> None:
        self._applied = applied
        self._seen: dict[tuple[str, int], _Seen] = {}

    def wait(self, at: Position, timeout: float) -> bool:
        """Whether the views have applied `at` within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        seen = self._seen.setdefault((at.topic, at.partition), _Seen())
        while (left := deadline - time.monotonic()) > 0:
            if self._look(seen, at, left) > at.offset:
                return True
            time.sleep(min(POLL_SECONDS, left))
        return self._applied(at.topic, at.partition) > at.offset

    def _look(self, seen: _Seen, at: Position, patience: float) -> int:
        """What was seen just now, by whoever looked. A look that fails fails for who looks."""
        if not seen.lock.acquire(timeout=patience):
            return -1
        try:
            if time.monotonic() - seen.at >= POLL_SECONDS:
                seen.offset = self._applied(at.topic, at.partition)
                seen.at = time.monotonic()
            return seen.offset
        finally:
            seen.lock.release()
