"""The writing side of the Kafka log: an idempotent producer behind a bounded buffer."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from kafka import KafkaProducer
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
from mnemolog.schemas.errors import DeliveryError, LogError, LogUnavailableError, RecordRefusedError
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record

RoutedRecord = tuple[Record, int]
"""A record and its partition."""

_STUCK = (RetriableError, InvalidProducerEpochError, OutOfOrderSequenceNumberError, UnknownProducerIdError)
_GRACE_SECONDS = 1.0
_OVERHEAD_BYTES = 512
"""About what kafka-python keeps for a record besides its bytes."""


class _Sent(NamedTuple):
    """A record under way, or already refused, and what it takes of the budget."""

    record: Record
    partition: int
    size: int
    deadline: float
    producer: Any = None
    future: Any = None
    error: LogError | None = None


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
        self._producer: Any = None

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
        away: LogUnavailableError | None = None
        try:
            for record, partition in records:
                size = _size(record)
                yield from self._make_room(under_way, size)
                under_way.append(self._send(record, partition, size, away))
                if isinstance(under_way[-1].error, LogUnavailableError):
                    away = under_way[-1].error  # the rest fails at once, not after one timeout each
                while under_way and _is_settled(under_way[0]):
                    yield self._settle(under_way.popleft())
            while under_way:
                yield self._settle(under_way.popleft())
        finally:
            self._budget.give(sum(one.size for one in under_way))

    def close(self) -> None:
        """Send what is under way, for a bounded time, then close the connections."""
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError):
                producer.flush(timeout=self._settings.timeout_seconds)
            _end(producer)

    def _make_room(self, under_way: deque[_Sent], size: int) -> Iterator[Delivery]:
        while not self._budget.take(size):
            if not under_way:
                self._budget.wait_for(size)
                return
            yield self._settle(under_way.popleft())

    def _send(self, record: Record, partition: int, size: int, error: LogError | None = None) -> _Sent:
        deadline = time.monotonic() + self._settings.timeout_seconds + _GRACE_SECONDS
        if error is not None:
            return _Sent(record, partition, size, deadline, error=error)
        headers = list(record.headers)
        try:
            producer = self._producer or self._make_producer()
            future = producer.send(
                record.topic, record.value, record.key, headers, partition, record.timestamp
            )
        except LogError as away:
            return _Sent(record, partition, size, deadline, error=away)
        except (KafkaError, ValueError, TypeError) as refusal:
            return _Sent(record, partition, size, deadline, error=self._explain(record, refusal))
        return _Sent(record, partition, size, deadline, producer, future)

    def _settle(self, one: _Sent) -> Delivery:
        try:
            return self._wait(one)
        finally:
            self._budget.give(one.size)

    def _wait(self, one: _Sent) -> Delivery:
        if one.error is not None:
            return Delivery(None, one.error)
        try:
            offset = one.future.get(max(0.0, one.deadline - time.monotonic())).offset
        except KafkaError as error:
            if isinstance(error, _STUCK):
                self._give_up(one.producer)
            return Delivery(None, self._explain(one.record, error))
        if offset < 0:  # a repeat whose first copy is older than what the broker remembers
            return Delivery(None, DeliveryError("the record is in the log, but not known where", one.record))
        return Delivery(Position(one.record.topic, one.partition, offset), None)

    def _make_producer(self) -> Any:
        timeout = self._settings.timeout_ms
        with self._lock:
            if self._producer is None:
                self._producer = self._settings.make(
                    KafkaProducer,
                    enable_idempotence=True,
                    acks="all",
                    metrics_enabled=False,
                    allow_auto_create_topics=False,
                    compression_type=self._compression,
                    linger_ms=self._linger_ms,
                    batch_size=128 * 1024,
                    max_block_ms=timeout,
                    delivery_timeout_ms=timeout,
                    request_timeout_ms=max(1, timeout // 2 - self._linger_ms),
                )
            return self._producer

    def _give_up(self, producer: Any) -> None:
        """Leave a stuck producer; what else waits in it fails now, so that nothing is written much later."""
        with self._lock:
            if self._producer is not producer:
                return
            self._producer = None
        _end(producer)

    def _explain(self, record: Record, error: Exception) -> LogError:
        if isinstance(error, (*_STUCK, IllegalStateError)):
            return DeliveryError(
                f"Kafka at {self._settings} did not acknowledge within {self._settings.timeout_seconds:g} s"
                f" ({error}): the event may or may not be in the log; send it again with the same event id",
                record,
            )
        return RecordRefusedError(f"Kafka at {self._settings} did not take the record: {error}", record)


def _end(producer: Any) -> None:
    """Close a producer; its own `close` gives up, with its thread running, when something can't be sent."""
    producer._sender.force_close()
    producer._sender.join(_GRACE_SECONDS)
    with suppress(KafkaError):
        producer.close(timeout=0)


def _size(record: Record) -> int:
    return len(record.value or b"") + len(record.key) + _OVERHEAD_BYTES


def _is_settled(one: _Sent) -> bool:
    return one.future is None or one.future.is_done
