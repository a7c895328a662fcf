"""kafka-python's producer with the guarantees that the log needs, and an end that is one."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from mnemolog.producers.kafka_client import ClientSettings
from mnemolog.schemas.records import Headers, Record

_END_SECONDS = 1.0
_BATCH_BYTES = 61
_LENGTHS_BYTES = 36
"""The most that a record's attributes, deltas, counts and lengths take: a varint has up to five bytes."""


def most_bytes(
    key: bytes | None, value: bytes | None, headers: Headers | list[tuple[str, bytes]] = ()
) -> int:
    """An upper bound of a record's size in a batch of its own, format 2, not compressed.

    Source: https://kafka.apache.org/documentation/#recordbatch
    """
    fields = sum([10 + 4 * len(name) + len(content) for name, content in headers])
    return _BATCH_BYTES + _LENGTHS_BYTES + len(key or b"") + len(value or b"") + fields


class _Producer(KafkaProducer):  # type: ignore[misc]
    """`KafkaProducer.send` asks for both of these for each record; its own answers cost a tenth of the rate.

    Were they no longer asked for, kafka-python's own would do.
    """

    def __str__(self) -> str:
        return "<mnemolog's KafkaProducer>"

    def _estimate_size_in_bytes(
        self, key: bytes | None, value: bytes | None, headers: Headers | list[tuple[str, bytes]] = ()
    ) -> int:
        return most_bytes(key, value, headers)


class IdempotentProducer:
    """Waits for all replicas, sends nothing twice, never makes a topic, keeps the order in a partition.

    Raises:
        LogUnavailableError: no broker answers.
    """

    def __init__(self, settings: ClientSettings, linger_ms: int, compression: str | None) -> None:
        timeout = settings.timeout_ms
        linger = min(linger_ms, timeout // 4)
        self._kafka: Any = settings.make(
            _Producer,
            enable_idempotence=True,
            acks="all",
            metrics_enabled=False,
            allow_auto_create_topics=False,
            compression_type=compression,
            linger_ms=linger,
            batch_size=128 * 1024,
            max_block_ms=timeout,
            delivery_timeout_ms=timeout,
            request_timeout_ms=max(1, timeout // 2 - linger),
        )
        self._send = self._kafka.send

    def send(self, record: Record, partition: int) -> Any:
        """A future of the record's metadata."""
        return self._send(
            record.topic, record.value, record.key, list(record.headers), partition, record.timestamp
        )

    def flush(self, timeout_seconds: float) -> None:
        """Send without lingering, and wait for what was sent; each future tells what became of it."""
        with suppress(KafkaError):
            self._kafka.flush(timeout=timeout_seconds)

    def end(self) -> None:
        """Stop at once; what is under way fails.

        `KafkaProducer.close` alone gives up, with its thread still running, when something can't be sent.
        """
        self._kafka._sender.force_close()
        self._kafka._sender.join(_END_SECONDS)
        with suppress(KafkaError):
            self._kafka.close(timeout=0)
