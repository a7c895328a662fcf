"""The Kafka log, on kafka-python. Needs the extra `mnemolog[kafka]`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mnemolog.producers.budget import Budget
from mnemolog.producers.deliveries import Delivery
from mnemolog.producers.kafka_client import ClientSettings
from mnemolog.producers.kafka_reader import KafkaReader
from mnemolog.producers.kafka_sender import KafkaSender
from mnemolog.producers.kafka_topics import TopicsReport, create_topics, describe_topics, recreate_topics
from mnemolog.schemas.errors import ClosedError, LogUnavailableError
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record, StoredRecord
from mnemolog.schemas.topics import TOPIC_NAMES, partition_of

__all__ = ["KafkaLog", "TopicsReport", "create_topics", "recreate_topics"]


class KafkaLog:
    """A log on the brokers at `bootstrap` (`host:port`, several by comma or as a list). Threads may share it.

    The producer is idempotent and waits for all replicas; topics are never made by accident. Nothing is
    connected before the first call. `timeout_seconds` bounds every call while brokers are away; a restart of
    all brokers within it goes unnoticed, and a longer one passes. At most `buffer_bytes` are under way at
    once; a call that finds the buffer full waits up to `block_seconds`. A single append is sent at once; a
    stream waits up to `linger_ms` for more records, to fill bigger batches. `options` go to
    every kafka-python client (security, client id, …).
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str],
        *,
        linger_ms: int = 20,
        compression: str | None = "lz4",
        timeout_seconds: float = 30.0,
        buffer_bytes: int = 32 * 1024 * 1024,
        block_seconds: float = 30.0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._settings = ClientSettings(bootstrap, timeout_seconds, options or {})
        self._linger_ms = linger_ms
        self._compression = compression
        self._buffer = buffer_bytes, block_seconds
        self._closed = False
        self._start()

    def partitions(self, topic: str) -> int:
        """How many partitions `topic` has. Asked once: a number that changes would break the routing."""
        self._check_open()
        if topic not in self._partitions:
            self._partitions.update(describe_topics(self._settings, {topic, *TOPIC_NAMES}))
        if topic not in self._partitions:
            raise LogUnavailableError(f"Kafka at {self._settings} has no topic {topic}: run `mnemolog init`")
        return self._partitions[topic]

    def append(self, records: Sequence[Record]) -> list[Position]:
        """Append `records` and wait until all are acknowledged; see `schemas.ports.Log`.

        After a DeliveryError some of them may be in the log; the same event ids make a retry harmless.

        Raises:
            BackpressureError: the buffer stayed full.
        """
        self._check_open()
        return self._single.append(list(self._routed(records)))

    def append_each(self, records: Iterable[Record]) -> Iterator[Delivery]:
        """Append a stream of records; see `producers.deliveries.BulkLog`."""
        self._check_open()
        return self._stream.append_each(self._routed(records))

    def read(self, topic: str, partition: int, offset: int, limit: int) -> list[StoredRecord]:
        """The next `limit` records from `offset` on, or all there are; quickest where the last read ended."""
        self._check(topic, partition)
        return self._reader.read(topic, partition, offset, limit)

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Partition → next offset, asked of the brokers (a millisecond or two)."""
        self.partitions(topic)
        return self._reader.end_offsets(topic)

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        """The first offset stamped at or after `timestamp` (ms); the end offset if none is."""
        self._check(topic, partition)
        return self._reader.offset_at(topic, partition, timestamp)

    def close(self) -> None:
        """Close all connections, after what is under way was sent. Closing twice is harmless."""
        self._closed = True
        self._single.close()
        self._stream.close()
        self._reader.close()

    def __enter__(self) -> KafkaLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self._process = os.getpid()
        self._partitions: dict[str, int] = {}
        self._reader = KafkaReader(self._settings, self._partitions)
        budget = Budget(*self._buffer)
        self._single = KafkaSender(self._settings, budget, 0, self._compression)
        self._stream = KafkaSender(self._settings, budget, self._linger_ms, self._compression)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the log at Kafka {self._settings} is closed")
        if self._process != os.getpid():  # the network threads did not come along with the fork
            self._start()

    def _check(self, topic: str, partition: int) -> None:
        count = self.partitions(topic)
        if not 0 <= partition < count:
            raise LogUnavailableError(f"{topic} has {count} partitions, no number {partition}")

    def _routed(self, records: Iterable[Record]) -> Iterator[tuple[Record, int]]:
        counts = self._partitions
        for record in records:
            count = counts.get(record.topic) or self.partitions(record.topic)
            yield record, partition_of(record.key, count)
