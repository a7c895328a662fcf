"""What bulk writes report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mnemolog.schemas.errors import MnemologError
from mnemolog.schemas.positions import Position


class DeliveryReport(NamedTuple):
    """What became of one event: its place in the log, or why it may not be there."""

    event_id: str
    position: Position | None
    error: MnemologError | None = None


@dataclass(frozen=True, slots=True)
class LineError:
    """A line that was not loaded, counted from 1; `field` is to blame, where one is."""

    line: int
    field: str | None
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of a file.

    `written` lines are in the log, `failed` were not loaded; `errors` tells why, of the first 10,000.
    `positions` are the last ones that were written, one a partition: wait for them to see all in the views.
    """

    written: int
    failed: int
    errors: tuple[LineError, ...]
    positions: tuple[Position, ...]
