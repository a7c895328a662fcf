"""The inline runner: the embedded log's worker, a thread of the program that opened it.

Any number of programs may run one on the same folder: a lock lets one at a time write a shard, and what
another has applied is skipped.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from mnemolog.processors.deadletters import keep_in
from mnemolog.processors.embedding import Backoff
from mnemolog.processors.locks import LiveShardLock
from mnemolog.processors.materialize import ShardWriter
from mnemolog.processors.reactors.reactor import LOOK_SECONDS, AllReactors
from mnemolog.processors.shards import FED_TOPICS, ensure_live, open_shard
from mnemolog.schemas.errors import GenerationReplacedError
from mnemolog.storage.layout import Manifest, Views

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock, Embedder, Log

BATCH = 1_000
POLL_SECONDS = 0.1
_logger = logging.getLogger(__name__)


class InlineRunner:
    """Keeps the views below `views` up with `log` until it is stopped.

    `wake` after an append makes it run at once; it also looks every 0.1 s for what other programs appended.
    `monotonic` is a clock in seconds.
    """

    def __init__(
        self,
        log: Log,
        views: Views,
        embedder: Embedder | None,
        clock: Clock,
        monotonic: Callable[[], float],
    ) -> None:
        self._log = log
        self._views = views
        self._embedder = embedder
        self._clock = clock
        self._monotonic = monotonic
        self._partitions = log.partitions(FED_TOPICS[0])
        self._manifest = ensure_live(views, self._partitions, embedder)
        self._writers: dict[int, ShardWriter] = {}
        self._applied: dict[tuple[str, int], int] = {}
        self._changed = threading.Condition()
        self._awake = threading.Event()
        self._stopping = threading.Event()
        self._apply_backoff = Backoff(monotonic)
        self._fill_backoff = Backoff(monotonic)
        self._react_backoff = Backoff(monotonic)
        self._reactors = AllReactors(views, log, clock)
        self._threads = [
            threading.Thread(target=self._run_applying, name="mnemolog-inline", daemon=True),
            threading.Thread(target=self._run_filling, name="mnemolog-vectors", daemon=True),
            threading.Thread(target=self._run_reacting, name="mnemolog-reactors", daemon=True),
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Finish the batch in hand and end the threads. What is not applied yet stays safe in the log."""
        self._stopping.set()
        self._awake.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def wake(self) -> None:
        """Say that something was appended."""
        self._awake.set()

    def wait_for_progress(self, topic: str, partition: int, offset: int, timeout: float) -> bool:
        """Wait until this runner has applied `offset`; False if it has not within `timeout` seconds."""
        self.wake()
        with self._changed:
            return self._changed.wait_for(lambda: self._applied.get((topic, partition), 0) > offset, timeout)

    def catch_up(self) -> int:
        """Apply all that the log has and the views lack; how many records that was.

        Raises:
            MnemologError: the log or a view failed; what was applied before stays.
        """
        while True:
            try:
                return self._catch_up()
            except GenerationReplacedError:
                continue

    def _catch_up(self) -> int:
        self._follow_flip()
        return sum(
            self._catch_up_partition(topic, partition, end)
            for topic in FED_TOPICS
            for partition, end in self._log.end_offsets(topic).items()
        )

    def _follow_flip(self) -> None:
        manifest = self._views.current()
        if manifest.generation != self._manifest.generation:
            self._manifest = ensure_live(self._views, self._partitions, self._embedder)
            self._writers.clear()
            self._applied.clear()

    def _catch_up_partition(self, topic: str, partition: int, end: int) -> int:
        count = 0
        while self._next(topic, partition) < end and not self._stopping.is_set():
            start = self._next(topic, partition)
            records = self._log.read(topic, partition, start, BATCH)
            if not records:
                break
            self._writer(partition).apply(topic, records, since=start)
            self._note(topic, partition, records[-1].position.offset + 1)
            count += len(records)
        return count

    def _next(self, topic: str, partition: int) -> int:
        if (topic, partition) not in self._applied:
            self._note(topic, partition, self._writer(partition).next_offset(topic))
        return self._applied[topic, partition]

    def _note(self, topic: str, partition: int, offset: int) -> None:
        with self._changed:
            self._applied[topic, partition] = offset
            self._changed.notify_all()

    def _writer(self, partition: int) -> ShardWriter:
        if partition not in self._writers:
            self._writers[partition] = open_owned_shard(
                self._log, self._views, self._manifest, partition, self._embedder, self._clock
            )
        return self._writers[partition]

    def _run_applying(self) -> None:
        while not self._stopping.is_set():
            self._awake.wait(POLL_SECONDS)
            self._awake.clear()
            if not self._apply_backoff.due:
                continue
            try:
                self.catch_up()
                self._apply_backoff.succeeded()
            except Exception:
                self._apply_backoff.failed()
                pause = self._apply_backoff.pause
                _logger.warning("applying failed; next try in %.1f s", pause, exc_info=True)

    def _run_filling(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            if self._fill_backoff.due:
                self._fill()
            self._tend()

    def _tend(self) -> None:
        try:
            for writer in list(self._writers.values()):
                writer.tend(self._monotonic())
        except GenerationReplacedError:
            return
        except Exception as error:  # noqa: BLE001 upkeep that has to wait is no reason to stop
            _logger.warning("upkeep has to wait: %s", error)

    def _run_reacting(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            if not self._react_backoff.due:
                continue
            try:
                if self._reactors.look():
                    self.wake()
                self._react_backoff.succeeded()
            except Exception as error:  # noqa: BLE001 what bounds a memory must not stop it
                self._react_backoff.failed()
                _logger.warning("decisions have to wait: %s", error)

    def _fill(self) -> None:
        done = failed = 0
        try:
            for writer in [writer for writer in list(self._writers.values()) if writer.lacks_vectors]:
                filled, left = writer.fill_pending()
                done, failed = done + filled, failed + left
        except GenerationReplacedError:
            return
        except Exception:
            failed += 1
            _logger.warning("writing late vectors failed", exc_info=True)
        if failed:
            self._fill_backoff.failed()
        elif done:
            self._fill_backoff.succeeded()


def open_owned_shard(
    log: Log, views: Views, manifest: Manifest, partition: int, embedder: Embedder | None, clock: Clock
) -> ShardWriter:
    """A shard's writer that shares the shard with other programs of this machine, one at a time."""
    lock = LiveShardLock(views, manifest.generation, partition)
    return open_shard(views, manifest, partition, embedder, keep_in(log, clock), lock)
