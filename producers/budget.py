"""A bound on what is under way at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from mnemolog.schemas.errors import BackpressureError


class Budget:
    """`limit` units shared by threads. What alone is over the limit may go when nothing else is under way."""

    def __init__(self, limit: int, block_seconds: float) -> None:
        self._limit = limit
        self._block_seconds = block_seconds
        self._used = 0
        self._waiting = 0
        self._lock = threading.Lock()  # entered by itself where nobody waits: a Condition costs twice as much
        self._change = threading.Condition(self._lock)

    def take(self, size: int) -> bool:
        """Take `size` units if they are free."""
        with self._lock:
            return self._take(size)

    def wait_for(self, size: int) -> None:
        """Take `size` units as soon as they are free.

        Raises:
            BackpressureError: they were not within the time that a caller may be blocked.
        """
        with self._change:
            self._waiting += 1
            try:
                taken = self._change.wait_for(lambda: self._take(size), self._block_seconds)
            finally:
                self._waiting -= 1
            if not taken:
                raise BackpressureError(
                    f"the send buffer of {self._limit} bytes stayed full for {self._block_seconds:g} s:"
                    " the brokers take records slower than you send them; send less, or enlarge the buffer"
                )

    def give(self, size: int) -> None:
        """Give `size` units back."""
        with self._lock:
            self._used -= size
            if self._waiting:
                self._change.notify_all()

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Wait for `size` units and give them back in the end."""
        self.wait_for(size)
        try:
            yield
        finally:
            self.give(size)

    def _take(self, size: int) -> bool:
        if self._used and self._used + size > self._limit:
            return False
        self._used += size
        return True
