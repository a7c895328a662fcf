"""What every log keeps. One suite, run on the embedded log and on a real Kafka broker."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest

from mnemolog.schemas.errors import ClosedError, LogUnavailableError
from mnemolog.schemas.ports import Log
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Headers, Record, StoredRecord
from mnemolog.schemas.topics import FEEDBACK, MEMORIES, partition_of

OpenLog = Callable[[], Log]


@pytest.fixture
def log(open_log: OpenLog) -> Iterator[Log]:
    opened = open_log()
    yield opened
    opened.close()


@pytest.fixture
def key() -> bytes:
    """A key that no other test uses; its partition may hold other tests' records."""
    return uuid.uuid4().hex.encode()


def values(log: Log, positions: list[Position]) -> list[bytes | None]:
    return [read_one(log, position).value for position in positions]


def read_one(log: Log, position: Position) -> StoredRecord:
    (stored,) = log.read(position.topic, position.partition, position.offset, 1)
    assert stored.position == position
    return stored


def of_key(log: Log, topic: str, key: bytes) -> list[StoredRecord]:
    partition = partition_of(key, log.partitions(topic))
    offset, found = 0, list[StoredRecord]()
    while batch := log.read(topic, partition, offset, 1_000):
        found += [stored for stored in batch if stored.key == key]
        offset = batch[-1].position.offset + 1
    return found


def test_one_key_has_one_partition_and_rising_offsets(log: Log, key: bytes) -> None:
    positions = [log.append([Record(MEMORIES, key, b"%d" % i)])[0] for i in range(10)]
    assert {position.partition for position in positions} == {partition_of(key, log.partitions(MEMORIES))}
    assert [position.offset for position in positions] == list(
        range(positions[0].offset, positions[0].offset + 10)
    )
    assert values(log, positions) == [b"%d" % i for i in range(10)]


def test_a_batch_keeps_its_order_over_topics_and_partitions(log: Log) -> None:
    batch = [
        Record(topic, b"key %d" % (i % 17), b"%s %d" % (topic.encode(), i))
        for i in range(200)
        for topic in (MEMORIES, FEEDBACK)
    ]
    positions = log.append(batch)
    assert [position.topic for position in positions] == [record.topic for record in batch]
    assert values(log, positions) == [record.value for record in batch]
    last: dict[tuple[str, int], int] = {}
    for position in positions:
        assert position.offset > last.get((position.topic, position.partition), -1)
        last[position.topic, position.partition] = position.offset


def test_an_empty_batch_is_harmless(log: Log) -> None:
    assert log.append([]) == []


def test_partitions_follow_the_shared_rule(log: Log) -> None:
    count = log.partitions(MEMORIES)
    for i in range(20):
        name = b"namespace %d" % i
        assert log.append([Record(MEMORIES, name, b"x")])[0].partition == partition_of(name, count)
        assert log.append([Record(FEEDBACK, name, b"x")])[0].partition == partition_of(name, count)


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (b"plain", ()),
        (None, ()),
        (b"", (("type", b"MemoryRemembered"),)),
        (None, (("empty", b""), ("binary", bytes(range(256))), ("empty", b"again"))),
        (b"\x00\xff" * 100_000, (("näme \n", "wört\n".encode()),)),
    ],
)
def test_what_goes_in_comes_out(log: Log, key: bytes, value: bytes | None, headers: Headers) -> None:
    (position,) = log.append([Record(MEMORIES, key, value, headers)])
    stored = read_one(log, position)
    assert (stored.key, stored.value, stored.headers) == (key, value, headers)


def test_an_empty_key_is_a_key(log: Log) -> None:
    (position,) = log.append([Record(MEMORIES, b"", b"x")])
    assert read_one(log, position).key == b""


def test_a_given_timestamp_is_kept_and_another_is_set(log: Log, key: bytes) -> None:
    given, stamped = log.append(
        [Record(MEMORIES, key, b"x", (), 1_700_000_000_123), Record(MEMORIES, key, b"y")]
    )
    assert read_one(log, given).timestamp == 1_700_000_000_123
    assert read_one(log, stamped).timestamp > 1_700_000_000_123


def test_read_takes_from_an_offset_up_to_a_limit(log: Log, key: bytes) -> None:
    positions = log.append([Record(MEMORIES, key, b"%d" % i) for i in range(50)])
    partition, first = positions[0].partition, positions[0].offset
    some = log.read(MEMORIES, partition, first + 10, 7)
    assert [stored.value for stored in some] == [b"%d" % i for i in range(10, 17)]
    rest = log.read(MEMORIES, partition, first + 40, 1_000)
    assert [stored.value for stored in rest] == [b"%d" % i for i in range(40, 50)]
    again = log.read(MEMORIES, partition, first, 1)
    assert [stored.value for stored in again] == [b"0"]


def test_reading_on_gives_every_record_once(log: Log, key: bytes) -> None:
    positions = log.append([Record(MEMORIES, key, b"%d" % i) for i in range(2_500)])
    offset, seen = positions[0].offset, list[bytes | None]()
    while batch := log.read(MEMORIES, positions[0].partition, offset, 999):
        assert len(batch) <= 999
        seen += [stored.value for stored in batch]
        offset = batch[-1].position.offset + 1
    assert seen == [b"%d" % i for i in range(2_500)]


def test_a_read_at_the_end_is_empty_and_sees_what_comes(log: Log, key: bytes) -> None:
    (first,) = log.append([Record(MEMORIES, key, b"first")])
    assert log.read(MEMORIES, first.partition, first.offset + 1, 10) == []
    assert log.read(MEMORIES, first.partition, first.offset + 1_000, 10) == []
    (second,) = log.append([Record(MEMORIES, key, b"second")])
    assert [r.position for r in log.read(MEMORIES, first.partition, first.offset + 1, 10)] == [second]


def test_end_offsets_name_the_next_record(log: Log, key: bytes) -> None:
    ends = log.end_offsets(MEMORIES)
    assert sorted(ends) == list(range(log.partitions(MEMORIES)))
    (position,) = log.append([Record(MEMORIES, key, b"x")])
    assert position.offset == ends[position.partition]
    assert log.end_offsets(MEMORIES) == {**ends, position.partition: position.offset + 1}


def test_offsets_by_time(log: Log, key: bytes) -> None:
    """Stamps may step back; the answer is the first record at or after the time, as Kafka has it."""
    (base,) = log.append([Record(MEMORIES, key, b"now")])
    start = read_one(log, base).timestamp + 60_000
    stamps = [start, start + 1_000, start + 1_000, start + 500, start + 3_000]
    positions = log.append([Record(MEMORIES, key, b"x", (), stamp) for stamp in stamps])
    partition, first = base.partition, positions[0].offset
    asked = [start, start + 1, start + 1_000, start + 1_001, start + 3_000]
    found = [log.offset_at(MEMORIES, partition, time) - first for time in asked]
    assert found == [0, 1, 1, 4, 4]
    assert log.offset_at(MEMORIES, partition, start + 3_001) == log.end_offsets(MEMORIES)[partition]
    assert log.offset_at(MEMORIES, partition, 0) == 0


def test_another_handle_sees_what_one_appended(open_log: OpenLog, log: Log, key: bytes) -> None:
    other = open_log()
    (position,) = log.append([Record(MEMORIES, key, b"x")])
    assert read_one(other, position).value == b"x"
    assert other.end_offsets(MEMORIES)[position.partition] == position.offset + 1
    other.close()


def test_what_was_appended_is_there_after_reopening(open_log: OpenLog, key: bytes) -> None:
    first = open_log()
    (position,) = first.append([Record(MEMORIES, key, b"x")])
    first.close()
    second = open_log()
    assert read_one(second, position).value == b"x"
    assert second.append([Record(MEMORIES, key, b"y")])[0].offset > position.offset
    second.close()


def test_many_threads_write_and_read_one_handle(log: Log, key: bytes) -> None:
    """M11: every call succeeds, nothing is lost or doubled, and each thread's own order is kept."""
    positions: dict[int, list[Position]] = {}

    def work(number: int) -> None:
        mine = positions[number] = []
        for i in range(25):
            mine += log.append([Record(MEMORIES, key, b"%d/%d" % (number, i))])
            assert read_one(log, mine[-1]).value == b"%d/%d" % (number, i)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({position for mine in positions.values() for position in mine}) == 200
    for number, mine in positions.items():
        assert mine == sorted(mine)
        assert values(log, mine) == [b"%d/%d" % (number, i) for i in range(25)]


def test_a_topic_that_was_not_created_is_a_clear_error(log: Log, key: bytes) -> None:
    with pytest.raises(LogUnavailableError, match=r"mnemolog\.nonsense"):
        log.partitions("mnemolog.nonsense")
    with pytest.raises(LogUnavailableError, match=r"mnemolog\.nonsense"):
        log.append([Record("mnemolog.nonsense", key, b"x")])
    with pytest.raises(LogUnavailableError, match=r"mnemolog\.nonsense"):
        log.read("mnemolog.nonsense", 0, 0, 1)


def test_a_partition_that_is_not_there_is_a_clear_error(log: Log) -> None:
    with pytest.raises(LogUnavailableError, match="9999"):
        log.read(MEMORIES, 9_999, 0, 1)
    with pytest.raises(LogUnavailableError, match="9999"):
        log.offset_at(MEMORIES, 9_999, 0)


def test_a_closed_log_says_so(open_log: OpenLog, key: bytes) -> None:
    closed = open_log()
    closed.append([Record(MEMORIES, key, b"x")])
    closed.close()
    closed.close()
    for call in (
        lambda: closed.append([Record(MEMORIES, key, b"x")]),
        lambda: closed.read(MEMORIES, 0, 0, 1),
        lambda: closed.end_offsets(MEMORIES),
        lambda: closed.offset_at(MEMORIES, 0, 0),
        lambda: closed.partitions(MEMORIES),
    ):
        with pytest.raises(ClosedError):
            call()
