"""Workers under test, and what their views must come to."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from mnemolog.processors.embedding import RowEmbedder
from mnemolog.processors.folds.port import is_projection
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.processors.shards import FED_TOPICS, VIEWS, open_tables
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.ports import Embedder, Log
from mnemolog.schemas.rows import Row
from mnemolog.storage.layout import Views
from mnemolog.storage.memory_table import MemoryTable
from mnemolog.worker import run_worker
from support.folding import snapshot

PATIENCE = 120.0

Shards = dict[tuple[str, int], dict[str, Row]]
"""(table, partition) → its rows by key."""


def wait_until(true: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait for something to come true; fail with `what` if it does not."""
    give_up = time.monotonic() + patience
    while not true():
        assert time.monotonic() < give_up, f"waited in vain: {what}"
        time.sleep(0.05)


class WorkerProcess:
    """A worker in a process of its own, which a test may kill."""

    def __init__(
        self,
        kafka: str,
        views: Path | str,
        group: str,
        embedder: str = "none",
        *more: str,
        home: Path | None = None,
        program: Sequence[str] = ("-m", "mnemolog.worker"),
    ) -> None:
        self.log_file = (home or Path(views).parent) / f"worker-{time.monotonic_ns()}.log"
        command = [sys.executable, *program, "--kafka", kafka, "--views", str(views)]
        with self.log_file.open("w") as output:
            self.process = subprocess.Popen(
                [*command, "--group", group, "--embedder", embedder, *more], stdout=output, stderr=output
            )

    @property
    def said(self) -> str:
        """All that it logged so far."""
        return self.log_file.read_text()

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until it has logged `text`."""
        wait_until(lambda: self.said.count(text) >= times, f"{text!r} in the log:\n{self.said}")

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end, and wait: its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


class WorkerThread:
    """A worker in this process: quick to start, and with any embedder."""

    def __init__(
        self, kafka: str, views: Path, group: str, embedder: Embedder | None = None, **more: Any
    ) -> None:
        self.code: int | None = None
        self._stop = threading.Event()
        arguments = {"kafka": kafka, "views": views, "group": group, "embedder": embedder, **more}
        self._thread = threading.Thread(target=self._run, kwargs=arguments)
        self._thread.start()

    def _run(self, **arguments: Any) -> None:
        self.code = run_worker(**arguments, stop=self._stop)

    def __enter__(self) -> WorkerThread:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert self.code == 0 or error is not None


def live(views: Path | str) -> Shards:
    """The rows of the live generation."""
    root = Views(views)
    manifest = root.current()
    return {
        (fold.name, number): snapshot(table.scan())
        for number in range(manifest.partitions)
        for fold, table in open_tables(root, manifest, number)
    }


def folded(log: Log, embedder: Embedder | None = None) -> Shards:
    """What the rows must be: the whole log, folded in memory."""
    found: Shards = {}
    for number in range(log.partitions(FED_TOPICS[0])):
        tables = [(view, MemoryTable()) for view in VIEWS]
        rejected: list[Rejected] = []
        writer = ShardWriter(tables, RowEmbedder(embedder) if embedder else None, rejected.extend)
        for topic in FED_TOPICS:
            writer.apply(topic, log.read(topic, number, 0, 1_000_000))
        found |= {(view.name, number): snapshot(table.scan()) for view, table in tables}
    return found


def caught_up(log: Log, views: Path | str) -> bool:
    """Whether the views have applied all that is in the log."""
    root = Views(views)
    try:
        manifest = root.current()
        return all(
            table.applied() == log.end_offsets(fold.topic)[number]
            for number in range(manifest.partitions)
            for fold, table in open_tables(root, manifest, number)
            if not is_projection(fold)
        )
    except ViewError:
        return False


def wait_until_caught_up(log: Log, views: Path | str) -> None:
    """Wait until the views have applied all that is in the log."""
    wait_until(lambda: caught_up(log, views), "the views to catch up with the log")
