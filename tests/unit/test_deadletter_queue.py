"""Dead letters: one a record, however often it was delivered; retried and dropped ones are done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemolog.processors.deadletter_queue import DeadLetterQueue, fold_deadletters
from mnemolog.processors.deadletters import keep_in, to_deadletter
from mnemolog.processors.materialize import Rejected
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.errors import InvalidInputError, NotFoundError
from mnemolog.schemas.events import DeadLetterResolved, RecordDeadLettered
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record, StoredRecord
from mnemolog.schemas.topics import DEADLETTERS, FEEDBACK, MEMORIES

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def clock() -> datetime:
    return NOON


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EmbeddedLog]:
    with EmbeddedLog(tmp_path / "log.sqlite", partitions=3) as log:
        yield log


def bad(offset: int, reason: str = "not JSON", at: datetime = NOON) -> RecordDeadLettered:
    record = StoredRecord(Position(MEMORIES, 0, offset), 0, b"acme", b"{")
    return to_deadletter(Rejected(record, reason), lambda: at)


def resolved(offset: int) -> DeadLetterResolved:
    return DeadLetterResolved(
        event_id=f"r{offset}",
        namespace=("x",),
        occurred_at=NOON,
        topic=MEMORIES,
        partition=0,
        offset=offset,
        action="dropped",
    )


def test_one_letter_a_record_with_its_last_reason() -> None:
    later = NOON + timedelta(hours=1)
    letters = fold_deadletters([bad(4), bad(9), bad(4, "still not JSON", later)])
    assert [letter.position.offset for letter in letters.values()] == [4, 9]
    first = letters[Position(MEMORIES, 0, 4)]
    assert (first.deliveries, first.reason, first.last_at) == (2, "still not JSON", later)
    assert (first.key, first.value) == (b"acme", b"{")


def test_a_resolved_letter_stays_resolved_though_it_is_delivered_again() -> None:
    letters = fold_deadletters([bad(4), resolved(4), bad(4)])
    assert [letter.resolved for letter in letters.values()] == ["dropped"]


def test_resolving_what_was_never_there_is_harmless() -> None:
    assert fold_deadletters([resolved(4)]) == {}


def test_a_letter_whose_bytes_are_spoilt_hides_nothing() -> None:
    letters = fold_deadletters([bad(4).model_copy(update={"value": "=?"}), bad(5)])
    assert [letter.value for letter in letters.values()] == [None, b"{"]


def reject(log: EmbeddedLog, record: Record, reason: str = "not JSON") -> Position:
    """Append a record and dead-letter it twice, as a worker that was killed in between would."""
    at = log.append([record])[0]
    stored = log.read(at.topic, at.partition, at.offset, 1)[0]
    for _ in range(2):
        keep_in(log, clock)([Rejected(stored, reason)])
    return at


def test_a_retry_appends_the_record_as_it_was_and_is_done(log: EmbeddedLog) -> None:
    headers = (("type", b"Unheard"), ("trace", b"\x00\xff"))
    at = reject(log, Record(FEEDBACK, b"acme/bob", b"{\xff", headers))
    queue = DeadLetterQueue(log, clock)
    again = queue.retry(queue.find(at))
    assert (again.topic, again.partition) == (at.topic, at.partition)
    assert again.offset == at.offset + 1
    stored = log.read(again.topic, again.partition, again.offset, 1)[0]
    assert (stored.key, stored.value, stored.headers) == (b"acme/bob", b"{\xff", headers)
    assert queue.letters() == []
    assert [letter.resolved for letter in queue.letters(resolved=True)] == ["retried"]


def test_a_dropped_letter_waits_no_longer(log: EmbeddedLog) -> None:
    first, second = (reject(log, Record(MEMORIES, b"acme", value)) for value in (b"1", b"2"))
    queue = DeadLetterQueue(log, clock)
    queue.drop(queue.find(first))
    assert [letter.position for letter in queue.letters()] == [second]


def test_a_record_without_a_value_can_only_be_dropped(log: EmbeddedLog) -> None:
    at = reject(log, Record(MEMORIES, b"acme", None))
    queue = DeadLetterQueue(log, clock)
    with pytest.raises(InvalidInputError, match="only drop it"):
        queue.retry(queue.find(at))
    assert [letter.position for letter in queue.letters()] == [at]


def test_an_unknown_position_is_not_found(log: EmbeddedLog) -> None:
    with pytest.raises(NotFoundError, match="mnemolog deadletters list"):
        DeadLetterQueue(log, clock).find(Position(MEMORIES, 0, 7))


def test_what_is_no_event_in_the_topic_hides_nothing(log: EmbeddedLog) -> None:
    log.append([Record(DEADLETTERS, b"whatever", b"no JSON")])
    at = reject(log, Record(MEMORIES, b"acme", b"1"))
    assert [letter.position for letter in DeadLetterQueue(log, clock).letters()] == [at]
