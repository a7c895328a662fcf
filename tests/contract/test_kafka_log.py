"""What can go wrong with a broker, done to a real one."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from mnemolog.broker import LocalBroker
from mnemolog.producers.kafka import KafkaLog, create_topics
from mnemolog.schemas.errors import (
    BackpressureError,
    ClosedError,
    DeliveryError,
    InvalidInputError,
    LogError,
    LogUnavailableError,
)
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record
from mnemolog.schemas.topics import DEADLETTERS, MEMORIES, TOPIC_NAMES

pytestmark = pytest.mark.kafka


@pytest.fixture
def key() -> bytes:
    return uuid.uuid4().hex.encode()


@pytest.fixture
def broker(own_broker: LocalBroker) -> Iterator[LocalBroker]:
    """The broker, running again after the test whatever it did."""
    yield own_broker
    own_broker.start()


@contextmanager
def frozen(broker: LocalBroker) -> Iterator[None]:
    """The broker holds still: connections stay open, nothing is answered."""
    pid = broker.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        time.sleep(0.01)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def from_position(log: KafkaLog, first: Position, key: bytes) -> list[bytes | None]:
    """The values of `key` from `first` on."""
    offset, found = first.offset, list[bytes | None]()
    while batch := log.read(first.topic, first.partition, offset, 1_000):
        found += [stored.value for stored in batch if stored.key == key]
        offset = batch[-1].position.offset + 1
    return found


def test_no_broker_is_a_clear_error_in_bounded_time() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    started = time.monotonic()
    with KafkaLog(address, timeout_seconds=1) as log:
        with pytest.raises(LogUnavailableError, match=f"{address} did not answer"):
            log.append([Record(MEMORIES, b"key", b"x")])
        with pytest.raises(LogUnavailableError, match="did not answer"):
            log.read(MEMORIES, 0, 0, 1)
        with pytest.raises(LogUnavailableError, match="did not answer"):
            create_topics(address, timeout_seconds=1)
    assert time.monotonic() - started < 15


def test_addresses_and_options_that_make_no_sense(broker: LocalBroker) -> None:
    with pytest.raises(InvalidInputError):
        KafkaLog(" , ")
    with (
        KafkaLog("host:nonsense", timeout_seconds=1) as log,
        pytest.raises(InvalidInputError, match="nonsense"),
    ):
        log.partitions(MEMORIES)
    options = {"no_such_option": 1}
    with (
        KafkaLog(broker.bootstrap, options=options) as log,
        pytest.raises(InvalidInputError, match="no_such"),
    ):
        log.partitions(MEMORIES)


def test_a_killed_broker_loses_nothing_acknowledged_and_appends_work_again(
    broker: LocalBroker, key: bytes
) -> None:
    with KafkaLog(broker.bootstrap, timeout_seconds=3) as log:
        positions = [log.append([Record(MEMORIES, key, b"%d" % i)])[0] for i in range(20)]
        assert len(from_position(log, positions[0], key)) == 20
        broker.kill()
        with pytest.raises(LogError) as caught:
            log.append([Record(MEMORIES, key, b"lost")])
        assert isinstance(caught.value, DeliveryError | LogUnavailableError)
        if isinstance(caught.value, DeliveryError):
            assert caught.value.record == Record(MEMORIES, key, b"lost")
        with pytest.raises(LogUnavailableError):
            log.end_offsets(MEMORIES)
        broker.start()
        (after,) = log.append([Record(MEMORIES, key, b"after")])
        found = from_position(log, positions[0], key)
        assert [value for value in found if value != b"lost"] == [b"%d" % i for i in range(20)] + [b"after"]
        assert log.end_offsets(MEMORIES)[after.partition] > after.offset


def test_a_restart_of_all_brokers_goes_unnoticed(broker: LocalBroker, key: bytes) -> None:
    """K2: a writer and a reader at work while the broker is killed and started; order kept, nothing twice."""
    positions: list[Position] = []
    done = threading.Event()

    def write(log: KafkaLog) -> None:
        for i in range(200):
            positions.extend(log.append([Record(MEMORIES, key, b"%d" % i)]))
            time.sleep(0.01)
        done.set()

    with KafkaLog(broker.bootstrap, timeout_seconds=90) as log:
        writer = threading.Thread(target=write, args=(log,))
        writer.start()
        time.sleep(0.5)
        broker.kill()
        broker.start()
        seen: list[bytes | None] = []
        while not done.is_set():
            seen = from_position(log, positions[0], key)
        writer.join()
        assert len(seen) <= 200
        assert from_position(log, positions[0], key) == [b"%d" % i for i in range(200)]


def test_a_stream_tells_of_each_record(broker: LocalBroker, key: bytes) -> None:
    too_big = b"x" * 2_000_000
    values = [b"%d" % i if i != 500 else too_big for i in range(1_000)]
    with KafkaLog(broker.bootstrap, buffer_bytes=100_000) as log:
        deliveries = list(log.append_each(Record(MEMORIES, key, value) for value in values))
        failed = [i for i, delivery in enumerate(deliveries) if delivery.error is not None]
        positions = [delivery.position for delivery in deliveries if delivery.position is not None]
        assert failed == [500]
        assert isinstance(deliveries[500].error, DeliveryError)
        assert positions == sorted(positions)
        assert from_position(log, positions[0], key) == values[:500] + values[501:]


def test_a_stream_holds_only_so_many_under_way(broker: LocalBroker, key: bytes) -> None:
    taken = 0

    def records() -> Iterator[Record]:
        nonlocal taken
        for _ in range(2_000):
            taken += 1
            yield Record(MEMORIES, key, b"x" * 1_000)

    with KafkaLog(broker.bootstrap, buffer_bytes=50_000, linger_ms=0) as log:
        for given, _ in enumerate(log.append_each(records())):
            assert taken - given < 50
    assert taken == 2_000


def test_a_log_closed_under_a_stream_ends_it_and_leaves_no_thread(broker: LocalBroker, key: bytes) -> None:
    log = KafkaLog(broker.bootstrap)

    def records() -> Iterator[Record]:
        for number in range(100):
            if number == 50:
                log.close()
            yield Record(MEMORIES, key, b"%d" % number)

    before = threading.active_count()
    deliveries = list(log.append_each(records()))
    assert [delivery.error is None for delivery in deliveries] == [True] * 50 + [False] * 50
    assert all(isinstance(delivery.error, ClosedError) for delivery in deliveries[50:])
    assert threading.active_count() <= before


def test_a_buffer_that_stays_full_is_said(broker: LocalBroker, key: bytes) -> None:
    with KafkaLog(broker.bootstrap, buffer_bytes=10_000, block_seconds=0.2, timeout_seconds=30) as log:
        log.append([Record(MEMORIES, key, b"x")])
        with frozen(broker):
            big = Record(MEMORIES, key, b"x" * 9_000)
            other = threading.Thread(target=log.append, args=([big],))
            other.start()
            time.sleep(0.3)
            with pytest.raises(BackpressureError, match="stayed full"):
                log.append([Record(MEMORIES, key, b"y" * 9_000)])
        other.join()
        assert log.append([big])


def test_topics_are_made_once_and_kept_for_ever(broker: LocalBroker) -> None:
    again = create_topics(broker.bootstrap, partitions=3)
    assert (again.created, again.sound) == ((), True)
    assert set(again.found) == TOPIC_NAMES
    other = create_topics(broker.bootstrap, partitions=5)
    assert not other.sound
    assert dict(other.other_partitions) == dict.fromkeys(TOPIC_NAMES, 3)


def test_a_topic_that_would_time_out_is_reported(broker: LocalBroker) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    for value, expected in (("1000", {DEADLETTERS: {"retention.ms": "1000"}}), ("-1", {})):
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, DEADLETTERS, {"retention.ms": value})])
        assert create_topics(broker.bootstrap, partitions=3).other_settings == expected
    admin.close()


def test_a_replication_that_no_broker_can_give_is_said(tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = LocalBroker(tmp_path_factory.mktemp("empty"), heap_mb=256).start()
    try:
        with (
            KafkaLog(empty.bootstrap) as log,
            pytest.raises(LogUnavailableError, match="run `mnemolog init`"),
        ):
            log.append([Record(MEMORIES, b"key", b"x")])
        with pytest.raises(LogError, match=r"mnemolog\..*replication"):
            create_topics(empty.bootstrap, replication=3)
    finally:
        empty.kill()
