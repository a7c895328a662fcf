"""What became of a record that was sent with many others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from mnemolog.schemas.errors import MnemologError
from mnemolog.schemas.ports import Log
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record


class Delivery(NamedTuple):
    """The position of a record, or the error that kept it out of the log."""

    position: Position | None
    error: MnemologError | None


class BulkLog(Log, Protocol):
    """A log that takes a stream of records faster than one append at a time."""

    def append_each(self, records: Iterable[Record]) -> Iterator[Delivery]:
        """Append `records` as they come and give one delivery for each, in their order.

        At any time a bounded number of them is under way; a slow log slows down the taking of records.
        """
