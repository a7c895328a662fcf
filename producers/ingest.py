"""A file of JSON lines into a log: what is good goes in, what is not is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

from mnemolog.producers.bulk import deliver
from mnemolog.producers.commands import Commands
from mnemolog.producers.deliveries import BulkLog
from mnemolog.producers.jsonl import Line, LineParser, Source, opened, read_lines
from mnemolog.producers.redaction import Redactor
from mnemolog.producers.reports import DeliveryReport, IngestReport, LineError
from mnemolog.schemas.errors import InvalidInputError, LogUnavailableError, MnemologError, RecordRefusedError
from mnemolog.schemas.events import Event
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Headers

MAX_ERRORS = 10_000
PROGRESS_LINES = 1_000

OnProgress = Callable[[int, int], None]
"""Called now and then with how many lines were written and how many failed so far."""


class _Tally:
    """What was done so far, and the problem that ends it."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress
        self._errors: list[LineError] = []
        self._positions: dict[tuple[str, int], Position] = {}
        self._written = 0
        self._failed = 0
        self.end: MnemologError | None = None

    def fail(self, error: LineError, strict: bool) -> None:
        self._failed += 1
        if len(self._errors) < MAX_ERRORS:
            self._errors.append(error)
        if strict:
            self.end = InvalidInputError(
                f"{error}; the lines before it are in the log, those after it are not", field=error.field
            )
        self._tell()

    def settle(self, number: int, report: DeliveryReport, strict: bool) -> None:
        if report.position is not None:
            self._written += 1
            self._positions[report.position.topic, report.position.partition] = report.position
            self._tell()
        elif isinstance(report.error, RecordRefusedError):
            self.fail(LineError(number, None, str(report.error)), strict)
        elif self.end is None:
            self.end = LogUnavailableError(
                f"line {number}: {report.error}. Load the file again: what is in the log stays as it is"
            )

    def report(self) -> IngestReport:
        """The report; tells of the progress once more.

        Raises:
            MnemologError: what ended it.
        """
        if self.end is not None:
            raise self.end
        if self._on_progress is not None:
            self._on_progress(self._written, self._failed)
        positions = tuple(sorted(self._positions.values()))
        return IngestReport(self._written, self._failed, tuple(self._errors), positions)

    def _tell(self) -> None:
        if self._on_progress is not None and (self._written + self._failed) % PROGRESS_LINES == 0:
            self._on_progress(self._written, self._failed)


def ingest(
    log: BulkLog,
    commands: Commands,
    source: Source,
    on_progress: OnProgress | None,
    strict: bool,
    redactor: Redactor | None = None,
    trace: Headers = (),
) -> IngestReport:
    """Load the lines of `source`; see `MemoryProducer.write_jsonl`."""
    tally = _Tally(on_progress)
    with opened(source) as file:
        events = _events(file, LineParser(commands), tally, strict, redactor)
        for number, report in deliver(log, events, trace):
            tally.settle(number, report, strict)
    return tally.report()


def _events(
    file: IO[bytes], parser: LineParser, tally: _Tally, strict: bool, redactor: Redactor | None
) -> Iterator[tuple[int, Event]]:
    for line in read_lines(file):
        parsed = _parse(line, parser, redactor)
        if isinstance(parsed, LineError):
            tally.fail(parsed, strict)
        if tally.end is not None:
            return
        if not isinstance(parsed, LineError):
            yield line[0], parsed


def _parse(line: Line, parser: LineParser, redactor: Redactor | None) -> Event | LineError:
    parsed = parser.parse(line)
    if redactor is None or isinstance(parsed, LineError):
        return parsed
    try:
        return redactor.event(parsed)
    except InvalidInputError as error:
        return LineError(line[0], error.field, str(error))
