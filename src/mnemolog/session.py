"""Appending, and waiting until the views show it: what makes a handle see its own writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING

from mnemolog.own_writes import OwnWrites
from mnemolog.producers.redaction import Redactor, redacted
from mnemolog.schemas.checks import check_seconds
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import ClosedError, ViewMissingError, WaitTimeoutError
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.positions import Position, parse_position
from mnemolog.schemas.records import GiveTrace, Headers, Record, no_trace, with_headers
from mnemolog.schemas.topics import TOPIC_NAMES, check_topic
from mnemolog.served import ServedRecalls, Tracking

if TYPE_CHECKING:
    from mnemolog.past import PastViews
    from mnemolog.schemas.ports import Log

Waiter = Callable[[Position, float], bool]
"""Waits until the views have applied a position, for so many seconds; False if they have not."""

OnWait = Callable[[float], None]
"""Is told in the thread that waited how long that took, in seconds."""

DEFAULT_WAIT_SECONDS = 30.0


class LogSession:
    """One handle's way to the log. What it wrote its reads wait for. Threads may share it.

    `wait_seconds` bounds how long `settle` waits; `on_close` releases what the handle owns. `track` says
    what is kept of recalls; see `served`.

    Raises:
        InvalidInputError: `wait_seconds` is no time to wait.
    """

    def __init__(
        self,
        log: Log,
        waiter: Waiter,
        wait_seconds: float,
        on_close: Callable[[], None],
        namespace: Namespace,
        track: Tracking = "text",
        redactor: Redactor | None = None,
        past: PastViews | None = None,
    ) -> None:
        self.log = log
        self._past = past
        self.redactor = redactor
        self._waiter = waiter
        self._wait_seconds = check_seconds("wait_seconds", wait_seconds)
        self._on_close = on_close
        self._namespace = namespace
        self._written = OwnWrites()
        self._closed = False
        self._parent: LogSession | None = None
        self.on_wait: OnWait | None = None
        self.trace: GiveTrace = no_trace
        self.served = ServedRecalls(self._append_served, track)

    def at(self, namespace: Namespace) -> LogSession:
        """A session on another namespace of the same log. It ends with this one; ending it releases nothing.

        All that come of one session know what any of them wrote: a namespace's reads wait for its writes.
        """
        other = LogSession(
            self.log,
            self._waiter,
            self._wait_seconds,
            lambda: None,
            namespace,
            redactor=self.redactor,
            past=self._past,
        )
        other._written = self._written
        other._parent = self
        other.on_wait = self.on_wait
        other.trace = self.trace
        other.served = self.served
        return other

    def close(self) -> None:
        """Release the log, once."""
        if not self._closed:
            if self._parent is None:
                self.served.close()
                if self._past is not None:
                    self._past.close()
            self._closed = True
            self._on_close()

    def past(self) -> PastViews:
        """What there was at earlier moments.

        Raises:
            ClosedError: after `close`.
        """
        self.check_open()
        if self._past is None:
            raise ViewMissingError("this handle has no views")
        return self._past

    def append(self, events: Sequence[Envelope]) -> list[Position]:
        """Append events; the position of each event's first record."""
        encoded = [encode(event) for event in redacted(events, self.redactor)]
        positions = self.append_records([record for records in encoded for record in records])
        firsts, at = [], 0
        for records in encoded:
            firsts.append(positions[at])
            at += len(records)
        return firsts

    def append_records(self, records: Sequence[Record]) -> list[Position]:
        """Append records; their positions."""
        self.check_open()
        positions = self.log.append(with_headers(records, self.trace()))
        self._written.add(positions, self._namespace)
        return positions

    def _append_served(self, served: Sequence[tuple[Envelope, Headers]]) -> None:
        said = redacted([event for event, _ in served], self.redactor)
        traced = zip(said, served, strict=True)
        self.log.append([one for event, (_, trace) in traced for one in with_headers(encode(event), trace)])

    def append_aside(self, event: Envelope) -> Position:
        """Append an event that no later read of this handle has to wait for."""
        self.check_open()
        (said,) = redacted([event], self.redactor)
        return self.log.append(with_headers(encode(said), self.trace()))[0]

    def expect(self, positions: Iterable[Position]) -> None:
        """Let the next `settle` wait for these too, whatever its namespace."""
        self._written.add(positions, None)

    def wait(self, position: Position | str, timeout: float) -> None:
        """Wait until the views have applied `position`.

        Raises:
            WaitTimeoutError: they have not within `timeout` seconds. The event itself is safe in the log.
        """
        at = parse_position(position)
        timeout = check_seconds("timeout", timeout)
        check_topic(at.topic)
        self.check_open()
        if not self._reaches(at, timeout):
            raise WaitTimeoutError(
                f"the views have not applied {at} within {timeout:g} s; the event is safe in the log. "
                "Is a worker running?"
            )

    def _reaches(self, at: Position, timeout: float) -> bool:
        if self.on_wait is None:
            return self._waiter(at, timeout)
        begun = time.perf_counter()
        try:
            return self._waiter(at, timeout)
        finally:
            self.on_wait(time.perf_counter() - begun)

    def settle(self, after: Position | str | None = None, topics: Container[str] = TOPIC_NAMES) -> None:
        """Wait for what this handle wrote to `topics`, and for `after`."""
        self.check_open()
        for position in self._written.of(self._namespace):
            if position.topic not in topics:
                continue
            self.wait(position, self._wait_seconds)
            self._written.shown(position, self._namespace)
        if after is not None:
            self.wait(after, self._wait_seconds)

    def check_open(self) -> None:
        """Refuse to go on after `close`."""
        if self._closed:
            raise ClosedError("this handle was closed")
        if self._parent is not None:
            self._parent.check_open()
