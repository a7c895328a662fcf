"""The SQLite file under the embedded log: connections, transactions, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from mnemolog.schemas.errors import ClosedError, InvalidInputError, LogError, LogUnavailableError

Connection: TypeAlias = sqlite3.Connection

FORMAT = 1
PAGE_BYTES = 8192
BUSY_SECONDS = 30.0
"""How long a transaction waits for another process's. One holds the file for milliseconds."""

_SCHEMA = """
CREATE TABLE records (
    topic TEXT NOT NULL,
    "partition" INTEGER NOT NULL,
    "offset" INTEGER NOT NULL,
    timestamp INTEGER NOT NULL, -- milliseconds since 1970 UTC
    latest INTEGER NOT NULL, -- the latest timestamp of the partition up to here
    key BLOB NOT NULL,
    value BLOB,
    headers BLOB, -- see producers/header_bytes.py
    PRIMARY KEY (topic, "partition", "offset")
) WITHOUT ROWID;
CREATE TABLE log (format INTEGER NOT NULL, partitions INTEGER NOT NULL);
"""

_RECOVER = "Keep a copy, then save what can be read with `sqlite3 {path} .recover | sqlite3 recovered.sqlite`"
_UNAVAILABLE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
     sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM}
)  # fmt: skip
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class SqliteFile:
    """A pool of connections to one file: as many as threads use at once, none of them across a fork.

    SQLite keeps a process's file locks in memory that a fork copies; a child would believe it holds locks
    that it does not. So every connection is closed before a fork, and each side opens its own afterwards.

    `write_lock` is the caller's, to queue its threads; it is held here only while the process forks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[Connection] = []
        self._busy = 0
        self._closed = False
        self._change = threading.Condition()
        self.write_lock = threading.Lock()
        _open_files.add(self)

    def check_open(self) -> None:
        """Raise ClosedError after `close`."""
        if self._closed:
            raise ClosedError(f"the log {self.path} is closed")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read by; each statement sees what is committed when it starts."""
        connection = self._take()
        try:
            yield connection
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        finally:
            self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection that alone may write; on leaving, what it wrote is on disk, or none of it is."""
        connection = self._take()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close all connections, once they are idle."""
        with self._change:
            self._closed = True
            self._drain()
        _open_files.discard(self)

    def before_fork(self) -> None:
        """Wait until no connection is in use, close them, and let nobody open one until after the fork."""
        self.write_lock.acquire()
        self._change.acquire()
        self._drain()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._change.release()
        self.write_lock.release()

    def after_fork_in_child(self) -> None:
        """Go on with locks that no thread of the parent waits for."""
        self._change = threading.Condition()
        self.write_lock = threading.Lock()
        self._busy = 0

    def _take(self) -> Connection:
        with self._change:
            self.check_open()
            self._busy += 1
            if self._idle:
                return self._idle.pop()
        try:
            return connect(self.path)
        except BaseException:
            self._leave(None)
            raise

    def _give_back(self, connection: Connection) -> None:
        """End the transaction, if it was not committed; a connection that can't do that is not used again."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            connection.close()
            self._leave(None)
        else:
            self._leave(connection)

    def _leave(self, connection: Connection | None) -> None:
        with self._change:
            self._busy -= 1
            if connection is not None and self._closed:
                connection.close()
            elif connection is not None:
                self._idle.append(connection)
            self._change.notify_all()

    def _drain(self) -> None:
        self._change.wait_for(lambda: not self._busy, timeout=BUSY_SECONDS)
        while self._idle:
            with suppress(sqlite3.Error):
                self._idle.pop().close()


def connect(path: Path) -> Connection:
    """A connection in autocommit mode, whose commits survive a power cut.

    Raises:
        LogUnavailableError: the file can't be opened.
        LogError: it is damaged, or no database.
    """
    try:
        connection = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise explain(error, path) from error
    try:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    return connection


def _use_wal(connection: Connection) -> None:
    """Switch a new file to WAL; SQLite does not wait by itself for another process that is at the same."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


def prepare(file: SqliteFile, partitions: int | None) -> int:
    """Make the tables if the file is new, and return how many partitions a topic has.

    Raises:
        InvalidInputError: the file has another number than `partitions`, or the number makes no sense.
        LogError: the file is no log, or one of a later release.
    """
    if partitions is not None and (isinstance(partitions, bool) or not 1 <= partitions <= 4096):
        raise InvalidInputError(
            f"partitions is a number from 1 to 4096, not {partitions!r}", field="partitions"
        )
    _make_directory(file.path)
    with file.writing() as connection:
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute("INSERT INTO log VALUES (?, ?)", (FORMAT, partitions or 1))
        found = _read_partitions(connection, file.path)
        _check_whole(file.path)
    if partitions not in (None, found):
        raise InvalidInputError(
            f"the log {file.path} has {found} partitions, which can't become {partitions}: leave `partitions`"
            " out, or export the log and import it into a new one",
            field="partitions",
        )
    return found


def _make_directory(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogUnavailableError(f"can't make the directory {path.parent}: {error.strerror}") from error


def _check_whole(path: Path) -> None:
    """SQLite pads a last page that was cut with zeros, in silence; unless a WAL is there to mend it."""
    wal = path.with_name(f"{path.name}-wal")
    for _ in range(2):
        if path.stat().st_size % PAGE_BYTES == 0 or (wal.exists() and wal.stat().st_size):
            return
        time.sleep(0.05)  # perhaps another process is just growing it
    raise LogError(f"the log {path} is damaged (its last page is cut). {_RECOVER.format(path=path)}")


def _read_partitions(connection: Connection, path: Path) -> int:
    try:
        version, partitions = connection.execute("SELECT format, partitions FROM log").fetchone()
    except (sqlite3.OperationalError, TypeError) as error:
        raise LogError(f"{path} is an SQLite file, but no mnemolog log") from error
    if version != FORMAT:
        raise LogError(f"the log {path} has format {version}; this release reads {FORMAT}: update mnemolog")
    return int(partitions)


def explain(error: sqlite3.Error, path: Path) -> LogError:
    """What an SQLite error means for the log, and what to do about it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        return LogError(f"the log {path} is damaged ({error}). {_RECOVER.format(path=path)}")
    if code == sqlite3.SQLITE_FULL:
        return LogUnavailableError(f"no room for the log {path}; nothing was appended. Free some, then retry")
    if code == sqlite3.SQLITE_BUSY:
        return LogUnavailableError(
            f"the log {path} was locked by another process for {BUSY_SECONDS:.0f} s; retry"
        )
    if code in _UNAVAILABLE:
        return LogUnavailableError(f"the log {path} can't be read or written ({error})")
    return LogError(f"the log {path} failed: {error}")


_open_files: weakref.WeakSet[SqliteFile] = weakref.WeakSet()
_at_fork: list[SqliteFile] = []
"""The files that are held while a fork is under way, so that the same ones are let go after it."""


def _before_fork() -> None:
    _at_fork[:] = list(_open_files)
    for file in _at_fork:
        file.before_fork()


def _after_fork_in_parent() -> None:
    while _at_fork:
        _at_fork.pop().after_fork_in_parent()


def _after_fork_in_child() -> None:
    while _at_fork:
        _at_fork.pop().after_fork_in_child()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)
