"""One writer a shard among the threads and processes of a machine; none once another generation is live."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from types import TracebackType

from mnemolog.schemas.errors import GenerationReplacedError
from mnemolog.storage.layout import Views

_LOCK_FILE = "writer.lock"


class FileLock:
    """A lock on a file, held by one thread of one process. The kernel frees it when its process dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()
        self._descriptor = -1

    def __enter__(self) -> None:
        self._threads.acquire()
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            self._threads.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        self._threads.release()


def shard_lock(views: Views, generation: str, partition: int) -> FileLock:
    """The lock of a shard below a folder, which whoever writes its tables holds."""
    return FileLock(Path(views.shard_uri(generation, partition)) / _LOCK_FILE)


class LiveShardLock:
    """The lock of a shard, which only the live generation grants.

    Whoever holds all of them while the pointer flips knows that nothing is applied to the old views later.

    Raises:
        GenerationReplacedError: on entering, if another generation is live.
    """

    def __init__(self, views: Views, generation: str, partition: int) -> None:
        self._views = views
        self._generation = generation
        self._lock = shard_lock(views, generation, partition)

    def __enter__(self) -> None:
        self._lock.__enter__()
        try:
            self._check_live()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise

    def _check_live(self) -> None:
        live = self._views.current().generation
        if live != self._generation:
            raise GenerationReplacedError(f"{live} is live by now, not {self._generation}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, error, trace)
