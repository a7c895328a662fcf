"""What recalls showed, told to the log in the background: a recall waits for nothing."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

from mnemolog.schemas.errors import InvalidInputError, MnemologError
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.records import Headers

Tracking: TypeAlias = Literal["text", "features", "off"]
"""What is kept of a recall: its query and what is learned from, only the latter, or nothing."""

MAX_WAITING = 1_000
PAUSE_SECONDS = 1.0
"""So long recalls are collected, so that a busy reader costs the views one commit a second."""

_logger = logging.getLogger(__name__)

MakeEvent = Callable[[], Envelope]


def check_tracking(track: object) -> None:
    """Refuse what is no `Tracking`.

    Raises:
        InvalidInputError: it is none.
    """
    known = get_args(Tracking)
    if track not in known:
        raise InvalidInputError(f"track is one of {', '.join(known)}, not {track!r:.80}", field="track")


class ServedRecalls:
    """Collects what recalls showed and appends it about once a second. Safe for threads.

    Of more than `MAX_WAITING` the oldest are dropped: they teach nothing then, and nothing else is lost.
    `append` makes events durable, each with the headers that it was noted with.
    """

    def __init__(
        self, append: Callable[[Sequence[tuple[Envelope, Headers]]], object], keep: Tracking
    ) -> None:
        self.keep = keep
        self._append = append
        self._waiting: deque[tuple[MakeEvent, Headers]] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._appending = threading.Lock()
        self._closing = threading.Event()
        self._due = threading.Event()
        self._thread: threading.Thread | None = None
        self._warned = False

    def note(self, make: MakeEvent, trace: Headers = ()) -> None:
        """Let the event that `make` makes be appended soon, with the headers `trace`."""
        if self.keep == "off" or self._closing.is_set():
            return
        with self._lock:
            self._waiting.append((make, trace))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mnemolog-served", daemon=True)
                self._thread.start()
        self._due.set()

    def flush(self) -> None:
        """Append all that was noted, now: what comes next may speak of it."""
        with self._appending:
            with self._lock:
                taken = list(self._waiting)
                self._waiting.clear()
            if taken:
                self._append_all(taken)

    def close(self) -> None:
        """Append what waits, and end."""
        self._closing.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    def _append_all(self, taken: Sequence[tuple[MakeEvent, Headers]]) -> None:
        try:
            self._append([(make(), trace) for make, trace in taken])
        except MnemologError as error:
            if not self._warned:
                _logger.warning("recalls can't be logged, so feedback on them teaches nothing: %s", error)
            self._warned = True

    def _run(self) -> None:
        while not self._closing.is_set():
            self._due.wait()
            self._due.clear()
            self._closing.wait(PAUSE_SECONDS)
            self.flush()
