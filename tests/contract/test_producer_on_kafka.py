"""MemoryProducer on a real broker: files in a stream, a broker that dies under one, and none at all."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider

from mnemolog.broker import LocalBroker
from mnemolog.producers import MemoryProducer
from mnemolog.producers.commands import Commands
from mnemolog.producers.kafka import KafkaLog
from mnemolog.schemas.codec import decode
from mnemolog.schemas.errors import ClosedError, LogUnavailableError, MnemologError
from mnemolog.schemas.events import Event, MemoryRemembered
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.topics import MEMORIES, partition_of
from mnemolog.telemetry import trace_headers

pytestmark = pytest.mark.kafka


@pytest.fixture
def broker(own_broker: LocalBroker) -> Iterator[LocalBroker]:
    """The broker, running again after the test whatever it did."""
    yield own_broker
    own_broker.start()


@pytest.fixture
def namespace() -> tuple[str, ...]:
    return ("producer", uuid.uuid4().hex)


def file_of(count: int) -> io.BytesIO:
    return io.BytesIO(b"\n".join(json.dumps({"text": f"line {i}"}).encode() for i in range(count)))


def stored_of(broker: LocalBroker, namespace: tuple[str, ...]) -> list[StoredRecord]:
    key = encode_namespace(namespace).encode()
    with KafkaLog(broker.bootstrap) as log:
        partition, offset = partition_of(key, log.partitions(MEMORIES)), 0
        found: list[StoredRecord] = []
        while batch := log.read(MEMORIES, partition, offset, 5_000):
            found += [stored for stored in batch if stored.key == key]
            offset = batch[-1].position.offset + 1
        return found


def events_of(broker: LocalBroker, namespace: tuple[str, ...]) -> list[Event]:
    return [decode(stored) for stored in stored_of(broker, namespace)]


def test_single_writes_batches_and_files(broker: LocalBroker, namespace: tuple[str, ...]) -> None:
    commands = Commands(namespace)
    with MemoryProducer.connect(broker.bootstrap, namespace) as producer:
        first = producer.remember("first", id="m0")
        reports = producer.write_batch(
            [commands.remember("x"), commands.forget("m0"), commands.remember("y")]
        )
        report = producer.write_jsonl(file_of(3_000))
    events = events_of(broker, namespace)
    assert [event.event_id for event in events[1:4]] == [one.event_id for one in reports]
    offsets = [first.position.offset, *(one.position.offset for one in reports if one.position)]
    assert len(offsets) == 4
    assert offsets == sorted(offsets)
    assert (report.written, report.failed, len(report.positions)) == (3_000, 0, 1)
    texts = [event.text for event in events[4:] if isinstance(event, MemoryRemembered)]
    assert texts == [f"line {i}" for i in range(3_000)]


def test_what_is_written_in_a_span_carries_its_trace(broker: LocalBroker, namespace: tuple[str, ...]) -> None:
    commands, tracer = Commands(namespace), TracerProvider().get_tracer("a program")
    with MemoryProducer.connect(broker.bootstrap, namespace, trace=trace_headers) as producer:
        producer.remember("before")
        with tracer.start_as_current_span("work"):
            expected = trace_headers()
            producer.remember("one")
            producer.write_batch([commands.remember("two")])
            producer.write_jsonl(file_of(1))
        producer.remember("after")
    assert [name for name, _ in expected] == ["traceparent"]
    headers = [tuple(stored.headers[3:]) for stored in stored_of(broker, namespace)]
    assert headers == [(), *[expected] * 3, ()]


def test_a_broker_that_dies_under_a_file(broker: LocalBroker, namespace: tuple[str, ...]) -> None:
    """What was acknowledged stays; the file loaded again makes the same memories, each once (M25)."""
    killed = False

    def kill_in_the_middle(written: int, failed: int) -> None:
        nonlocal killed
        if written >= 2_000 and not killed:
            killed = broker.kill()

    with MemoryProducer.connect(broker.bootstrap, namespace, timeout_seconds=5) as producer:
        with pytest.raises(LogUnavailableError, match=r"line \d+: .*Load the file again"):
            producer.write_jsonl(file_of(300_000), kill_in_the_middle)
        assert killed
        failed = producer.write_batch([Commands(namespace).remember("lost") for _ in range(500)])
        assert all(isinstance(report.error, MnemologError) for report in failed)
        broker.start()
        assert producer.write_jsonl(file_of(5_000)).written == 5_000
    texts = {
        event.memory_id: event.text
        for event in events_of(broker, namespace)
        if isinstance(event, MemoryRemembered) and event.text != "lost"
    }
    assert {f"line {i}" for i in range(5_000)} <= set(texts.values())
    assert len(set(texts.values())) == len(texts)


def test_no_broker_is_said_when_connecting() -> None:
    with pytest.raises(LogUnavailableError, match=r"did not answer within 0\.5 s"):
        MemoryProducer.connect("127.0.0.1:1", timeout_seconds=0.5)


def test_a_closed_producer_says_so(broker: LocalBroker, namespace: tuple[str, ...]) -> None:
    producer = MemoryProducer.connect(broker.bootstrap, namespace)
    producer.close()
    for call in (
        lambda: producer.remember("x"),
        lambda: producer.write_batch([Commands(namespace).remember("x")]),
        lambda: producer.write_jsonl(file_of(1)),
    ):
        with pytest.raises(ClosedError):
            call()
