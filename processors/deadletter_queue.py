"""The dead letters of a log: which there are, and what a person may do about them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from mnemolog.processors.deadletters import NAMESPACE
from mnemolog.schemas.codec import decode, encode
from mnemolog.schemas.errors import CodecError, InvalidInputError, NotFoundError
from mnemolog.schemas.events import DeadLetterResolved, Event, RecordDeadLettered
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Headers, Record, StoredRecord
from mnemolog.schemas.topics import DEADLETTERS

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock, Log

_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record that could not be applied: where it stands, why, when that was last found and how often.

    `key` and `value` are the record's bytes. `resolved` is what became of it, None while it waits.
    """

    position: Position
    reason: str
    last_at: datetime
    deliveries: int
    key: bytes | None
    value: bytes | None
    resolved: Literal["retried", "dropped"] | None = None


DeadLetters = dict[Position, DeadLetter]


def fold_deadletters(events: Iterable[Event]) -> DeadLetters:
    """One dead letter a source position, in the order of their first delivery. Pure.

    A letter that was resolved stays so, though the record is delivered again: a retry has a new position.
    """
    letters: DeadLetters = {}
    for event in events:
        match event:
            case RecordDeadLettered():
                letter = _letter(event)
                letters[letter.position] = _merged(letters.get(letter.position), letter)
            case DeadLetterResolved():
                position = Position(event.topic, event.partition, event.offset)
                if position in letters:
                    letters[position] = replace(letters[position], resolved=event.action)
    return letters


def _letter(event: RecordDeadLettered) -> DeadLetter:
    position = Position(event.topic, event.partition, event.offset)
    return DeadLetter(position, event.reason, event.occurred_at, 1, _bytes(event.key), _bytes(event.value))


def _merged(known: DeadLetter | None, again: DeadLetter) -> DeadLetter:
    if known is None:
        return again
    return replace(again, deliveries=known.deliveries + 1, resolved=known.resolved)


def _bytes(text: str | None) -> bytes | None:
    """What `text` encodes; None too for what is no base64, which others may have written."""
    try:
        return None if text is None else base64.b64decode(text, validate=True)
    except ValueError:
        return None


class DeadLetterQueue:
    """The dead letters of `log`. `clock` stamps what is decided about them."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock

    def letters(self, *, resolved: bool = False) -> list[DeadLetter]:
        """The dead letters that wait, oldest first; the `resolved` ones too if asked for."""
        every = fold_deadletters(self._events()).values()
        return [letter for letter in every if resolved or letter.resolved is None]

    def find(self, position: Position) -> DeadLetter:
        """The dead letter of the record at `position`.

        Raises:
            NotFoundError: there is none.
        """
        letter = fold_deadletters(self._events()).get(position)
        if letter is None:
            raise NotFoundError(f"there is no dead letter {position}; see: mnemolog deadletters list --all")
        return letter

    def retry(self, letter: DeadLetter) -> Position:
        """Append the record again, then mark the letter as retried; the record's new position.

        It comes after all that was appended meanwhile. If it can't be applied again, that is a new letter.

        Raises:
            InvalidInputError: the record has no key or no value, so it never can be applied.
        """
        at = self._log.append([self._original(letter)])[0]
        self._resolve(letter, "retried")
        return at

    def drop(self, letter: DeadLetter) -> None:
        """Mark the letter as given up. The record stays in the log, and in no view."""
        self._resolve(letter, "dropped")

    def _original(self, letter: DeadLetter) -> Record:
        if letter.key is None or letter.value is None:
            raise InvalidInputError(f"the record at {letter.position} has no key or no value: only drop it")
        return Record(letter.position.topic, letter.key, letter.value, self._headers(letter))

    def _headers(self, letter: DeadLetter) -> Headers:
        """The record's own headers; what a reactor could not do is another record than that in its place."""
        at = letter.position
        found = self._log.read(at.topic, at.partition, at.offset, 1)
        same = bool(found) and (found[0].position, found[0].value) == (at, letter.value)
        return found[0].headers if same else ()

    def _resolve(self, letter: DeadLetter, action: Literal["retried", "dropped"]) -> None:
        at = letter.position
        event = DeadLetterResolved(
            event_id=f"{action}:{at}",
            namespace=NAMESPACE,
            occurred_at=self._clock(),
            topic=at.topic,
            partition=at.partition,
            offset=at.offset,
            action=action,
        )
        self._log.append(encode(event))

    def _events(self) -> Iterator[Event]:
        for record in self._records():
            try:
                yield decode(record)
            except CodecError:  # not ours: the queue must show the others
                continue

    def _records(self) -> Iterator[StoredRecord]:
        for partition, end in self._log.end_offsets(DEADLETTERS).items():
            offset = 0
            while offset < end and (records := self._log.read(DEADLETTERS, partition, offset, _BATCH)):
                yield from records
                offset = records[-1].position.offset + 1
