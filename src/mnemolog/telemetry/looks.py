"""Looking things up for a scrape, which must end though the log or the views do not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

PATIENCE_SECONDS = 3.0
"""So long a scrape waits for all that is looked up for it; Prometheus gives up after ten by default."""

T = TypeVar("T")


class Look(Generic[T]):
    """Calls `look` in a thread of its own, once for all scrapes that wait for it at the same time.

    What takes longer than `patience` seconds goes on, and scrapes do without it until it has ended.
    """

    def __init__(self, look: Callable[[], T], patience: float = PATIENCE_SECONDS) -> None:
        self._look = look
        self._patience = patience
        self._lock = threading.Lock()
        self._running: Running[T] | None = None

    def begin(self) -> Running[T]:
        """Start looking, unless that is going on."""
        with self._lock:
            if self._running is None or self._running.ended.is_set():
                self._running = Running(self._look, time.monotonic() + self._patience)
            return self._running


class Running(Generic[T]):
    """One call, in its thread."""

    def __init__(self, look: Callable[[], T], until: float) -> None:
        self.ended = threading.Event()
        self._look = look
        self._until = until
        self._found: list[T] = []
        self._error: Exception | None = None
        threading.Thread(target=self._run, name="mnemolog-scrape", daemon=True).start()

    def _run(self) -> None:
        try:
            self._found.append(self._look())
        except Exception as error:  # noqa: BLE001 it is raised where it is waited for
            self._error = error
        finally:
            self.ended.set()

    def take(self) -> T:
        """What was found.

        Raises:
            TimeoutError: it takes too long.
        """
        if not self.ended.wait(max(0.0, self._until - time.monotonic())):
            raise TimeoutError("the log or the views do not answer")
        if self._error is not None:
            raise self._error
        return self._found[0]
