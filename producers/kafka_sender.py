"""The writing side of the Kafka log: an idempotent producer behind a bounded buffer."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kafka.errors import (
    IllegalStateError,
    InvalidProducerEpochError,
    KafkaError,
    OutOfOrderSequenceNumberError,
    RetriableError,
    UnknownProducerIdError,
)

from mnemolog.producers.budget import Budget
from mnemolog.producers.deliveries import Delivery
from mnemolog.producers.kafka_client import ClientSettings
from mnemolog.producers.kafka_producer import IdempotentProducer
from mnemolog.schemas.errors import (
    ClosedError,
    DeliveryError,
    LogError,
    LogUnavailableError,
    MnemologError,
    RecordRefusedError,
)
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record

RoutedRecord = tuple[Record, int]
"""A record and its partition."""

_STUCK = (RetriableError, InvalidProducerEpochError, OutOfOrderSequenceNumberError, UnknownProducerIdError)
_AWAY = (LogUnavailableError, ClosedError)
_GRACE_SECONDS = 1.0
_OVERHEAD_BYTES = 512
"""About what kafka-python keeps for a record besides its bytes."""


_Sent = tuple[Record, int, int, float, IdempotentProducer | None, Any]
"""A record under way: its partition, its bytes of the budget, its deadline, its producer; last its future, or
the error that came at once. A plain tuple, since one is made for each record."""


class KafkaSender:
    """A producer and the budget of what is under way in it.

    kafka-python 3.0.12 stays stuck for ever once a batch of an idempotent producer has expired. So a producer
    that gave up on a record is given up itself, and the next record gets a new one.
    """

    def __init__(
        self, settings: ClientSettings, budget: Budget, linger_ms: int, compression: str | None
    ) -> None:
        self._settings = settings
        self._budget = budget
        self._linger_ms = linger_ms
        self._compression = compression
        self._lock = threading.Lock()
        self._producer: IdempotentProducer | None = None
        self._closed = False

    def append(self, records: Sequence[RoutedRecord]) -> list[Position]:
        """Send `records` and wait until all are acknowledged."""
        sizes = [_size(record) for record, _ in records]
        self._budget.wait_for(sum(sizes))
        sent = [self._send(*record, size) for record, size in zip(records, sizes, strict=True)]
        deliveries = [self._settle(one) for one in sent]
        for delivery in deliveries:
            if delivery.error is not None:
                raise delivery.error
        return [delivery.position for delivery in deliveries if delivery.position is not None]

    def append_each(self, records: Iterable[RoutedRecord]) -> Iterator[Delivery]:
        """Send a stream of records; what was settled comes out as the next ones go in."""
        under_way: deque[_Sent] = deque()
        take, send, settle = self._budget.take, self._send, self._settle
        away: MnemologError | None = None
        try:
            for record, partition in records:
                size = _size(record)
                if not take(size):
                    yield from self._make_room(under_way, size)
                sent = send(record, partition, size, away)
                under_way.append(sent)
                if isinstance(sent[-1], _AWAY):
                    away = sent[-1]  # the rest fails at once, not after one timeout each
                while under_way and _is_settled(under_way[0]):
                    yield settle(under_way.popleft())
            self._flush()
            while under_way:
                yield settle(under_way.popleft())
        finally:
            self._budget.give(sum(size for _, _, size, *_ in under_way))

    def close(self) -> None:
        """Send what is under way, for a bounded time, then close the connections."""
        with self._lock:
            self._closed = True
            producer, self._producer = self._producer, None
        if producer is not None:
            producer.flush(self._settings.timeout_seconds)
            producer.end()

    def _flush(self) -> None:
        if self._producer is not None:
            self._producer.flush(self._settings.timeout_seconds)

    def _make_room(self, under_way: deque[_Sent], size: int) -> Iterator[Delivery]:
        """Take `size` of the budget, settling what is under way until there is room."""
        while under_way:
            yield self._settle(under_way.popleft())
            if self._budget.take(size):
                return
        self._budget.wait_for(size)

    def _send(self, record: Record, partition: int, size: int, away: MnemologError | None = None) -> _Sent:
        deadline = time.monotonic() + self._settings.timeout_seconds + _GRACE_SECONDS
        producer: IdempotentProducer | None = None
        outcome: Any = away
        if outcome is None:
            try:
                producer = self._producer or self._make_producer()
                outcome = producer.send(record, partition)
            except MnemologError as error:
                outcome = error
            except (KafkaError, ValueError, TypeError) as error:
                outcome = self._explain(record, error)
        return record, partition, size, deadline, producer, outcome

    def _settle(self, sent: _Sent) -> Delivery:
        record, partition, size, deadline, producer, outcome = sent
        try:
            if isinstance(outcome, MnemologError):
                return Delivery(None, outcome)
            done = outcome.succeeded()
            metadata = outcome.value if done else outcome.get(max(0.0, deadline - time.monotonic()))
        except KafkaError as error:
            if isinstance(error, _STUCK):
                self._give_up(producer)
            return Delivery(None, self._explain(record, error))
        finally:
            self._budget.give(size)
        offset: int = metadata.offset
        if offset < 0:  # a repeat whose first copy is older than what the broker remembers
            return Delivery(None, DeliveryError("the record is in the log, but not known where", record))
        return Delivery(Position(record.topic, partition, offset), None)

    def _make_producer(self) -> IdempotentProducer:
        with self._lock:
            if self._closed:
                raise ClosedError(f"the log at Kafka {self._settings} is closed")
            if self._producer is None:
                self._producer = IdempotentProducer(self._settings, self._linger_ms, self._compression)
            return self._producer

    def _give_up(self, producer: IdempotentProducer | None) -> None:
        """Leave a stuck producer; what else waits in it fails now, so that nothing is written much later."""
        with self._lock:
            if producer is None or self._producer is not producer:
                return
            self._producer = None
        producer.end()

    def _explain(self, record: Record, error: Exception) -> LogError:
        if isinstance(error, (*_STUCK, IllegalStateError)):
            return DeliveryError(
                f"Kafka at {self._settings} did not acknowledge within {self._settings.timeout_seconds:g} s"
                f" ({error}): the event may or may not be in the log; send it again with the same event id",
                record,
            )
        return RecordRefusedError(f"Kafka at {self._settings} did not take the record: {error}", record)


def _size(record: Record) -> int:
    return len(record.value or b"") + len(record.key) + _OVERHEAD_BYTES


def _is_settled(sent: _Sent) -> bool:
    outcome = sent[-1]
    return isinstance(outcome, MnemologError) or outcome.is_done
