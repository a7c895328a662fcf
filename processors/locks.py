"""One writer a shard among the threads and processes of a machine."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from types import TracebackType


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
