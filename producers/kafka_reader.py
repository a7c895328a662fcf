"""The reading side of the Kafka log: consumers that remember where they stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import OffsetOutOfRangeError

from mnemolog.producers.kafka_client import ClientSettings
from mnemolog.schemas.errors import ClosedError, LogUnavailableError
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import StoredRecord

MAX_IDLE = 8
"""Consumers kept for later; each has a thread and two connections."""


STALL_SECONDS = 5.0
"""A consumer that gets nothing for so long, where there are records, is given up for a new one."""


class _StandsStillError(LogUnavailableError):
    """There are records, and the consumer gets none."""


class KafkaReader:
    """A few consumers, each used by one thread at a time. One that failed is not used again.

    `partitions` maps the topics that can be read to their numbers of partitions.
    """

    def __init__(self, settings: ClientSettings, partitions: Mapping[str, int]) -> None:
        self._settings = settings
        self._partitions = partitions
        self._idle: list[_Cursor] = []
        self._lock = threading.Lock()
        self._closed = False

    def read(self, topic: str, partition: int, offset: int, limit: int) -> list[StoredRecord]:
        """Up to `limit` records from `offset` on; see `schemas.ports.Log`."""
        target = TopicPartition(topic, partition)
        found = self._read(target, offset, limit)
        return [
            StoredRecord(
                Position(topic, partition, one.offset), one.timestamp, one.key, one.value, tuple(one.headers)
            )
            for one in found
        ]

    def _read(self, target: TopicPartition, offset: int, limit: int) -> list[Any]:
        """What a cursor reads; one that stands still where there are records is replaced by a new one."""
        give_up, fresh = time.monotonic() + self._settings.timeout_seconds, False
        while True:
            try:
                with self._cursor(target, offset, fresh=fresh) as cursor:
                    return cursor.read(target, offset, limit)
            except _StandsStillError:
                if time.monotonic() >= give_up:
                    raise
                fresh = True

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Partition → next offset."""
        targets = [TopicPartition(topic, number) for number in range(self._partitions[topic])]
        with self._cursor() as cursor:
            ends = cursor.consumer.end_offsets(targets, timeout_ms=self._settings.timeout_ms)
        return {target.partition: ends[target] for target in targets}

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        """The first offset stamped at or after `timestamp`; the end offset if none is."""
        target = TopicPartition(topic, partition)
        timeout = self._settings.timeout_ms
        with self._cursor() as cursor:
            found = cursor.consumer.offsets_for_times({target: max(timestamp, 0)}, timeout_ms=timeout)[target]
            if found is not None and found.offset >= 0:
                return int(found.offset)
            return int(cursor.consumer.end_offsets([target], timeout_ms=timeout)[target])

    def close(self) -> None:
        """Close the consumers; one that is in use is closed when its call ends."""
        with self._lock:
            self._closed = True
            cursors, self._idle = self._idle, []
        for cursor in cursors:
            cursor.close()

    @contextmanager
    def _cursor(
        self, target: TopicPartition | None = None, offset: int = 0, *, fresh: bool = False
    ) -> Iterator[_Cursor]:
        taken = None if fresh else self._take(target, offset)
        cursor = taken or _Cursor(self._settings, self._partitions)
        try:
            with self._settings.translated():
                yield cursor
        except BaseException:
            cursor.close()
            raise
        for spare in self._keep(cursor):
            spare.close()

    def _take(self, target: TopicPartition | None, offset: int) -> _Cursor | None:
        """The idle cursor that fits best; the one not used for longest if none stands at the right place."""
        with self._lock:
            if self._closed:
                raise ClosedError(f"the log at Kafka {self._settings} is closed")
            fitting = [cursor for cursor in self._idle if cursor.covers(target)]
            best = min(fitting, key=lambda cursor: cursor.fit(target, offset), default=None)
            if best is not None:
                self._idle.remove(best)
            return best

    def _keep(self, cursor: _Cursor) -> list[_Cursor]:
        with self._lock:
            if self._closed:
                return [cursor]
            self._idle.append(cursor)
            spare, self._idle = self._idle[:-MAX_IDLE], self._idle[-MAX_IDLE:]
            return spare


class _Cursor:
    """A consumer of all partitions, all paused but the one that is read.

    So no read waits for new metadata, and each partition's place is kept while another is read.
    """

    def __init__(self, settings: ClientSettings, partitions: Mapping[str, int]) -> None:
        self._settings = settings
        self._target: TopicPartition | None = None
        self._end: dict[TopicPartition, int] = {}
        self.consumer: Any = settings.make(
            KafkaConsumer,
            allow_auto_create_topics=False,
            enable_auto_commit=False,
            metrics_enabled=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=5,  # a read asks only for what is there; more would hold up the next one
            max_partition_fetch_bytes=4 * 1024 * 1024,
            request_timeout_ms=max(settings.timeout_ms, 200),
        )
        self._next = {
            TopicPartition(topic, number): 0 for topic, count in partitions.items() for number in range(count)
        }
        self.consumer.assign(list(self._next))
        for target in self._next:
            self.consumer.seek(target, 0)
        self.consumer.pause(*self._next)

    def covers(self, target: TopicPartition | None) -> bool:
        """Whether it can read `target`; a topic that was made later needs a new consumer."""
        return target is None or target in self._next

    def fit(self, target: TopicPartition | None, offset: int) -> int:
        """0 if the next read goes on from here, 1 for another place in the same partition, else 2."""
        if target is None or self._target != target:
            return 2
        return int(self._next[target] != offset)

    def read(self, target: TopicPartition, offset: int, limit: int) -> list[Any]:
        """All records from `offset` on, up to `limit`, as kafka-python has them."""
        if offset >= self._end.get(target, 0):
            ends = self.consumer.end_offsets([target], timeout_ms=self._settings.timeout_ms)
            self._end.update(ends)
        if offset >= self._end[target] or limit <= 0:
            return []
        self._aim(target, offset)
        found: list[Any] = []
        patience = min(STALL_SECONDS, self._settings.timeout_seconds)
        deadline = time.monotonic() + patience
        wait_ms = 0  # drops what was fetched ahead of a seek; kafka-python would sleep over it
        while len(found) < limit and self._next[target] < self._end[target]:
            before = self._next[target]
            found += self._poll(target, limit - len(found), wait_ms)
            self._next[target] = self.consumer.position(target)
            wait_ms = 500
            if self._next[target] > before:
                deadline = time.monotonic() + patience
            elif time.monotonic() > deadline:
                raise _StandsStillError(f"Kafka at {self._settings} gave no records; check the broker, retry")
        return found

    def close(self) -> None:
        """Close the consumer, without waiting for brokers that are away."""
        self.consumer.close(autocommit=False, timeout_ms=1_000)

    def _aim(self, target: TopicPartition, offset: int) -> None:
        if self._target != target:
            if self._target is not None:
                self.consumer.pause(self._target)
            self.consumer.resume(target)
            self._target = target
        if self._next[target] != offset:
            self.consumer.seek(target, offset)
            self._next[target] = offset

    def _poll(self, target: TopicPartition, limit: int, wait_ms: int) -> list[Any]:
        try:
            return list(self.consumer.poll(timeout_ms=wait_ms, max_records=limit).get(target, ()))
        except OffsetOutOfRangeError:  # an admin deleted the records up to some offset
            start = self.consumer.beginning_offsets([target], timeout_ms=self._settings.timeout_ms)[target]
            self.consumer.seek(target, start)
            return []
