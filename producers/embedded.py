"""The embedded log: topics, partitions and offsets as in Kafka, in one SQLite file."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from mnemolog.producers import sqlite_file as files
from mnemolog.producers.clock import to_millis, utc_now
from mnemolog.producers.deliveries import Delivery
from mnemolog.producers.header_bytes import dump_headers, load_headers
from mnemolog.schemas.errors import DeliveryError, LogError, LogUnavailableError, MnemologError
from mnemolog.schemas.ports import Clock
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record, StoredRecord
from mnemolog.schemas.topics import TOPIC_NAMES, TOPICS, partition_of

_INSERT = "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_LAST = (
    'SELECT "offset", timestamp, latest FROM records'
    ' WHERE topic = ? AND "partition" = ? ORDER BY "offset" DESC LIMIT 1'
)
_READ = (
    'SELECT "offset", timestamp, key, value, headers FROM records'
    ' WHERE topic = ? AND "partition" = ? AND "offset" >= ? ORDER BY "offset" LIMIT ?'
)
_ENDS = (
    "WITH RECURSIVE every(number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM every WHERE number + 1 < ?2)"
    ' SELECT number, coalesce((SELECT "offset" + 1 FROM records WHERE topic = ?1 AND "partition" = number'
    ' ORDER BY "offset" DESC LIMIT 1), 0) FROM every'
)
_LATEST = (
    'SELECT "offset", latest FROM records'
    ' WHERE topic = ? AND "partition" = ? AND "offset" >= ? ORDER BY "offset" LIMIT 1'
)
_COMPACT = (
    'DELETE FROM records WHERE topic = ?1 AND "partition" = ?2 AND "offset" NOT IN'
    ' (SELECT max("offset") FROM records WHERE topic = ?1 AND "partition" = ?2 GROUP BY key)'
)

_CHUNK = 500
_COMPACTED = frozenset(spec.name for spec in TOPICS if spec.compacted)
COMPACT_EVERY = 10_000
"""Appends to compacted topics after which a log compacts them by itself."""

Row = tuple[str, int, int, int, int, bytes, bytes | None, bytes | None]
Draft = tuple[str, int, int | None, bytes, bytes | None, bytes | None]
"""A row without its offset and stamps: topic, partition, given timestamp, key, value, headers."""


class _Request:
    """One caller's records on their way into a shared transaction."""

    __slots__ = ("drafts", "error", "positions", "process")

    def __init__(self, drafts: list[Draft]) -> None:
        self.drafts = drafts
        self.positions: list[Position] | None = None
        self.error: Exception | None = None
        self.process = os.getpid()

    @property
    def waits(self) -> bool:
        """Not done yet, and not a copy that a fork made of the parent's request."""
        return self.positions is None and self.error is None and self.process == os.getpid()


class _Tail:
    """Where a partition ends within a transaction: the next offset, the last and the latest timestamp."""

    __slots__ = ("latest", "offset", "timestamp")

    def __init__(self, last: tuple[int, int, int] | None) -> None:
        self.offset, self.timestamp, self.latest = (0, 0, 0) if last is None else (last[0] + 1, *last[1:])

    def advance(self, given: int | None, now: int) -> int:
        """The offset for a record stamped `given`, or `now`, or the last stamp if the clock stepped back."""
        self.timestamp = max(now, self.timestamp) if given is None else given
        self.latest = max(self.latest, self.timestamp)
        self.offset += 1
        return self.offset - 1


class EmbeddedLog:
    """A log in the SQLite file `path`, made if missing. Any number of threads and processes may share it.

    `partitions` is fixed when the file is made (1 by default). An append is on disk when it returns: WAL with
    `synchronous=FULL`; what threads append at the same time shares one transaction. A record without a
    timestamp is stamped by `clock`; such stamps never step back within a partition.

    Raises:
        LogUnavailableError: the file can't be opened or made.
        LogError: the file is damaged, or no log.
        InvalidInputError: the file has another number of partitions than `partitions`.
    """

    def __init__(self, path: Path | str, *, partitions: int | None = None, clock: Clock = utc_now) -> None:
        self._file = files.SqliteFile(Path(path))
        self._clock = clock
        self._pending: deque[_Request] = deque()
        self._partitions = files.prepare(self._file, partitions)
        self._since_compaction = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def partitions(self, topic: str) -> int:
        """How many partitions `topic` has; every topic has the same number."""
        self._file.check_open()
        if topic not in TOPIC_NAMES:
            raise LogUnavailableError(
                f"there is no topic {topic!r}; there are {', '.join(sorted(TOPIC_NAMES))}"
            )
        return self._partitions

    def append(self, records: Sequence[Record]) -> list[Position]:
        """Append `records`, all or none, and return their positions; see `schemas.ports.Log`.

        Callers queue up; whoever gets the lock writes everything that waits, so a single caller hands off to
        no other thread, and many share the cost of reaching the disk.
        """
        if not records:
            return []
        request = _Request([self._draft(record) for record in records])
        self._pending.append(request)
        with self._file.write_lock:
            if request.waits:
                self._commit_pending()
        if request.positions is None:
            raise request.error or DeliveryError("interrupted: the append may have failed", records[0])
        self._note_appended(records)
        return request.positions

    def append_each(self, records: Iterable[Record]) -> Iterator[Delivery]:
        """Append a stream, in transactions of a few hundred; see `producers.deliveries.BulkLog`."""
        stream = iter(records)
        while chunk := list(islice(stream, _CHUNK)):
            try:
                yield from [Delivery(position, None) for position in self.append(chunk)]
            except LogError as error:
                yield from [Delivery(None, error) for _ in chunk]

    def compact(self) -> int:
        """Keep the last record of each key in the compacted topics; how many others went.

        Offsets stay as they are, with gaps. The space is used again by what is appended later.
        """
        gone = 0
        with self._file.write_lock, self._file.writing() as connection:
            for topic in sorted(_COMPACTED):
                for partition in range(self._partitions):
                    gone += connection.execute(_COMPACT, (topic, partition)).rowcount
        return gone

    def _note_appended(self, records: Sequence[Record]) -> None:
        self._since_compaction += sum(record.topic in _COMPACTED for record in records)
        if self._since_compaction >= COMPACT_EVERY:
            self._since_compaction = 0
            with suppress(LogError):  # there will be another time
                self.compact()

    def read(self, topic: str, partition: int, offset: int, limit: int) -> list[StoredRecord]:
        """Up to `limit` records from `offset` on; see `schemas.ports.Log`."""
        self._check(topic, partition)
        with self._file.reading() as connection:
            rows = connection.execute(_READ, (topic, partition, offset, limit)).fetchall()
        return [
            StoredRecord(Position(topic, partition, at), stamp, key, value, load_headers(headers))
            for at, stamp, key, value, headers in rows
        ]

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Partition → next offset; cheap enough to poll."""
        arguments = topic, self.partitions(topic)
        with self._file.reading() as connection:
            return dict(connection.execute(_ENDS, arguments).fetchall())

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        """The first offset stamped at or after `timestamp` (ms); the end offset if none is.

        Binary search: the latest stamp so far never falls, also where given timestamps do.
        """
        self._check(topic, partition)
        with self._file.reading() as connection:
            low, high = 0, _tail(connection, topic, partition).offset
            while low < high:
                middle = (low + high) // 2
                at, latest = connection.execute(_LATEST, (topic, partition, middle)).fetchone()
                low, high = (low, middle) if latest >= timestamp else (at + 1, high)
        return low

    def close(self) -> None:
        """Close the file, after the appends that are under way. Closing twice is harmless."""
        with self._file.write_lock:
            self._file.close()

    def __enter__(self) -> EmbeddedLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, topic: str, partition: int) -> None:
        if not 0 <= partition < self.partitions(topic):
            raise LogUnavailableError(f"{topic} has {self._partitions} partitions, no number {partition}")

    def _draft(self, record: Record) -> Draft:
        partition = partition_of(record.key, self.partitions(record.topic))
        headers = dump_headers(record.headers)
        return record.topic, partition, record.timestamp, record.key, record.value, headers

    def _commit_pending(self) -> None:
        group: list[_Request] = []
        with suppress(IndexError):
            while True:
                group.append(self._pending.popleft())
        group = [request for request in group if request.waits]
        try:
            self._commit(group)
        except MnemologError as error:
            self._commit_apart(group, error)

    def _commit_apart(self, group: list[_Request], error: MnemologError) -> None:
        """One caller's failure, say a batch that no longer fits on the disk, is not the others'."""
        if len(group) == 1:
            group[0].error = error
            return
        for request in group:
            try:
                self._commit([request])
            except MnemologError as own:
                request.error = own

    def _commit(self, group: list[_Request]) -> None:
        now = to_millis(self._clock())
        with self._file.writing() as connection:
            tails: dict[tuple[str, int], _Tail] = {}
            rows = [_row(connection, tails, draft, now) for request in group for draft in request.drafts]
            connection.executemany(_INSERT, rows)
        positions = iter([Position(row[0], row[1], row[2]) for row in rows])
        for request in group:
            request.positions = list(islice(positions, len(request.drafts)))


def _row(connection: files.Connection, tails: dict[tuple[str, int], _Tail], draft: Draft, now: int) -> Row:
    topic, partition, given, key, value, headers = draft
    tail = tails.get((topic, partition))
    if tail is None:
        tail = tails[topic, partition] = _tail(connection, topic, partition)
    offset = tail.advance(given, now)
    return topic, partition, offset, tail.timestamp, tail.latest, key, value, headers


def _tail(connection: files.Connection, topic: str, partition: int) -> _Tail:
    return _Tail(connection.execute(_LAST, (topic, partition)).fetchone())
