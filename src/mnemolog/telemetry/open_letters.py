"""How many dead letters wait, kept up with the log: each of its records is read once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mnemolog.schemas.codec import decode
from mnemolog.schemas.errors import CodecError
from mnemolog.schemas.events import DeadLetterResolved, RecordDeadLettered
from mnemolog.schemas.positions import Position
from mnemolog.schemas.topics import DEADLETTERS

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Log
    from mnemolog.schemas.records import StoredRecord

_BATCH = 1_000


class OpenLetters:
    """Counts the dead letters of `log` that nobody has retried or dropped. Safe for threads."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._next: dict[int, int] = {}
        self._known: set[Position] = set()
        self._resolved: set[Position] = set()

    def count(self) -> int:
        """How many there are now.

        Raises:
            LogError: the log could not be read.
        """
        with self._lock:
            for partition, end in self._log.end_offsets(DEADLETTERS).items():
                self._follow(partition, end)
            return len(self._known - self._resolved)

    def _follow(self, partition: int, end: int) -> None:
        while (start := self._next.get(partition, 0)) < end:
            records = self._log.read(DEADLETTERS, partition, start, _BATCH)
            if not records:
                return
            for record in records:
                self._take(record)
            self._next[partition] = records[-1].position.offset + 1

    def _take(self, record: StoredRecord) -> None:
        try:
            event = decode(record)
        except CodecError:
            return
        match event:
            case RecordDeadLettered():
                self._known.add(Position(event.topic, event.partition, event.offset))
            case DeadLetterResolved():
                self._resolved.add(Position(event.topic, event.partition, event.offset))
