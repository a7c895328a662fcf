"""The write-only handle: remembers without views, embedder or anything heavy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self, Unpack

from mnemolog.producers.arguments import RememberFields, UpdateFields
from mnemolog.producers.clock import utc_now
from mnemolog.producers.commands import Commands, Ids
from mnemolog.producers.deliveries import BulkLog, Delivery
from mnemolog.producers.jsonl import LineParser, Source, opened, read_lines
from mnemolog.producers.receipts import Receipt
from mnemolog.producers.reports import DeliveryReport, IngestReport, LineError
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import ClosedError, InvalidInputError
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.namespaces import Namespace, make_namespace
from mnemolog.schemas.ports import Clock
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record

LOG_FILE = "log.sqlite"
MAX_ERRORS_KEPT = 10_000
_PROGRESS_LINES = 1_000

OnProgress = Callable[[int], None]
"""Is told how many lines are done, from time to time."""


class MemoryProducer:
    """Writes the events of one namespace to a log; threads may share it.

    Made by `open`, for the embedded log of a folder, or by `connect`, for Kafka. A write returns once it is
    durable. InvalidInputError means that nothing was appended, LogError that the log did not take it.
    """

    def __init__(self, log: BulkLog, commands: Commands) -> None:
        self._log = log
        self._commands = commands
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        namespace: str | Iterable[str] = "default",
        *,
        agent_id: str | None = None,
        thread_id: str | None = None,
        clock: Clock = utc_now,
    ) -> Self:
        """A producer for the embedded log in the folder `path`, which is made if it is not there."""
        from mnemolog.producers.embedded import EmbeddedLog

        commands = Commands(make_namespace(namespace), agent_id, thread_id, clock)
        home = Path(path)
        home.mkdir(parents=True, exist_ok=True)
        return cls(EmbeddedLog(home / LOG_FILE, clock=clock), commands)

    @classmethod
    def connect(
        cls,
        kafka: str,
        namespace: str | Iterable[str] = "default",
        *,
        agent_id: str | None = None,
        thread_id: str | None = None,
        clock: Clock = utc_now,
        linger_ms: int = 20,
    ) -> Self:
        """A producer for the brokers `kafka` (`HOST:PORT[,…]`). Needs the extra `mnemolog[kafka]`.

        `linger_ms` is how long a bulk write waits for more records to fill a batch.
        """
        from mnemolog.producers.kafka import KafkaLog

        commands = Commands(make_namespace(namespace), agent_id, thread_id, clock)
        return cls(KafkaLog(kafka, linger_ms=linger_ms), commands)

    @property
    def namespace(self) -> Namespace:
        """The namespace that this handle writes."""
        return self._commands.namespace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the log. What was acknowledged stays."""
        if not self._closed:
            self._closed = True
            self._log.close()

    def remember(self, text: str, **fields: Unpack[RememberFields]) -> Receipt:
        """Remember `text`; see `Commands.remember`."""
        event = self._commands.remember(text, **fields)
        return Receipt(event.memory_id, self.write(event))

    def update(self, id: str, **changes: Unpack[UpdateFields]) -> Receipt:  # noqa: A002 the public name
        """Change fields of a memory; an unknown id is harmless. See `Commands.update`."""
        return Receipt(id, self.write(self._commands.update(id, **changes)))

    def supersede(self, id: str, by: str, *, reason: str | None = None) -> Receipt:  # noqa: A002
        """Let the memory `by` replace the memory `id`."""
        return Receipt(id, self.write(self._commands.supersede(id, by, reason=reason)))

    def forget(self, ids: Ids, *, reason: str | None = None) -> Receipt:
        """Forget memories; unknown ids are harmless."""
        event = self._commands.forget(ids, reason=reason)
        return Receipt(event.memory_ids[0], self.write(event))

    def feedback(self, recall_id: str | None = None, *, used: Ids = (), ignored: Ids = ()) -> Receipt:
        """Say which of the memories that a recall showed were used and which were ignored."""
        event = self._commands.feedback(recall_id, used=used, ignored=ignored)
        return Receipt(event.event_id, self.write(event))

    def write(self, event: Envelope) -> Position:
        """Append one event, whatever its namespace; its position.

        Raises:
            DeliveryError: it was not acknowledged.
            LogUnavailableError: the log can't be reached.
        """
        self._check_open()
        return self._log.append(encode(event))[0]

    def write_batch(self, events: Iterable[Envelope]) -> list[DeliveryReport]:
        """Append many events, a bounded number under way at a time; one report for each, in their order.

        Events of one namespace keep their order. Nothing is raised for an event that was not delivered: its
        report has the error.
        """
        self._check_open()
        return list(self._deliver(events))

    def write_jsonl(
        self, source: Source, *, strict: bool = False, on_progress: OnProgress | None = None
    ) -> IngestReport:
        """Load a file of JSON lines: whole events, or memories as the fields of `remember`.

        A file loaded twice gives the same memories. A bad line is reported and the others are loaded; with
        `strict` the first bad line ends the loading. Memory does not grow with the file, but for about 100
        bytes for each line without id and key.

        Raises:
            InvalidInputError: the file can't be opened; or, if `strict`, a line is bad.
        """
        self._check_open()
        tally = _Tally(strict, on_progress)
        with opened(source) as file:
            for report in self._deliver(tally.events(LineParser(self._commands), file)):
                tally.delivered(report)
        return tally.report()

    def _deliver(self, events: Iterable[Envelope]) -> Iterator[DeliveryReport]:
        """One report an event, in their order, while later events are under way."""
        under_way: deque[tuple[Envelope, int]] = deque()

        def records() -> Iterator[Record]:
            for event in events:
                encoded = encode(event)
                under_way.append((event, len(encoded)))
                yield from encoded

        settled: list[Delivery] = []
        for delivery in self._log.append_each(records()):
            settled.append(delivery)
            if len(settled) == under_way[0][1]:
                yield _report(under_way.popleft()[0], settled)
                settled = []

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("this producer was closed")


def _report(event: Envelope, deliveries: Sequence[Delivery]) -> DeliveryReport:
    first = next((one for one in deliveries if one.error is not None), deliveries[0])
    return DeliveryReport(event.event_id, first.position if first.error is None else None, first.error)


class _Tally:
    """Counts what becomes of the lines of a file, as they pass."""

    def __init__(self, strict: bool, on_progress: OnProgress | None) -> None:
        self._strict = strict
        self._on_progress = on_progress
        self._written = self._failed = 0
        self._errors: list[LineError] = []
        self._under_way: deque[int] = deque()
        self._last: dict[tuple[str, int], Position] = {}

    def events(self, parser: LineParser, file: IO[bytes]) -> Iterator[Envelope]:
        """The events of the good lines; the bad ones are counted."""
        for done, line in enumerate(read_lines(file), 1):
            parsed = parser.parse(line)
            if isinstance(parsed, LineError):
                self._fail(parsed)
            else:
                self._under_way.append(line[0])
                yield parsed
            if self._on_progress is not None and done % _PROGRESS_LINES == 0:
                self._on_progress(done)

    def delivered(self, report: DeliveryReport) -> None:
        """Count one delivery."""
        line = self._under_way.popleft()
        if report.position is not None:
            self._written += 1
            self._last[report.position.topic, report.position.partition] = report.position
        elif self._strict and report.error is not None:
            raise report.error
        else:
            self._fail(LineError(line, None, f"it was not delivered: {report.error}"))

    def _fail(self, error: LineError) -> None:
        if self._strict:
            raise InvalidInputError(str(error), field=error.field)
        self._failed += 1
        if len(self._errors) < MAX_ERRORS_KEPT:
            self._errors.append(error)

    def report(self) -> IngestReport:
        """What became of all."""
        if self._on_progress is not None:
            self._on_progress(self._written + self._failed)
        return IngestReport(self._written, self._failed, tuple(self._errors), tuple(self._last.values()))
