"""Streams of events into a log, with a report for each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from mnemolog.producers.deliveries import BulkLog
from mnemolog.producers.reports import DeliveryReport
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.records import Headers, Record, with_headers

Mark = TypeVar("Mark")


def deliver(
    log: BulkLog, events: Iterable[tuple[Mark, Envelope]], trace: Headers = ()
) -> Iterator[tuple[Mark, DeliveryReport]]:
    """Append marked events as they come; each mark comes back, in order, with the report of its event.

    An event of several records is delivered if all of them are; its position is its first record's. All
    records carry the headers `trace`.
    """
    under_way: deque[tuple[Mark, str, int]] = deque()

    def records() -> Iterator[Record]:
        for mark, event in events:
            encoded = with_headers(encode_checked(event), trace)
            under_way.append((mark, event.event_id, len(encoded)))
            yield from encoded

    deliveries = log.append_each(records())
    for position, error in deliveries:
        mark, event_id, count = under_way.popleft()
        if count > 1:
            others = [one.error for one in islice(deliveries, count - 1)]
            error = error or next(filter(None, others), None)
        yield mark, DeliveryReport(event_id, None if error else position, error)


def encode_checked(event: Envelope) -> list[Record]:
    """The records of `event`.

    Raises:
        InvalidInputError: it is not an event.
    """
    if not isinstance(event, Envelope):
        raise InvalidInputError(
            f"an event of mnemolog.schemas.events is needed, not {type(event).__name__}", field="event"
        )
    return encode(event)
