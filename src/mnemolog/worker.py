"""The worker: keeps views up with a Kafka log until it is told to stop. The write side's composition root."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mnemolog.allocator import hold_little
from mnemolog.broker_watch import wait_for_broker, watch_broker
from mnemolog.embedders import MiniLMEmbedder, resolve
from mnemolog.processors.app import WorkerApp, build_app
from mnemolog.processors.assignment import PATIENCE_SECONDS, Assignment
from mnemolog.processors.deadletters import keep_in
from mnemolog.processors.embedding import Backoff
from mnemolog.processors.partition_pump import BATCH, EMBEDDED_BATCH
from mnemolog.processors.reactors.reactor import Reactor, open_reactors
from mnemolog.processors.shards import FED_TOPICS, ensure_live, open_shard
from mnemolog.processors.threads import await_threads, in_thread
from mnemolog.producers.clock import utc_now
from mnemolog.producers.kafka import KafkaLog
from mnemolog.schemas.errors import EmbeddingError, LogError, LogUnavailableError, MnemologError, ViewError
from mnemolog.storage.engine import read_little_at_once
from mnemolog.storage.layout import Manifest, Views
from mnemolog.worker_logging import configure_logging
from mnemolog.worker_telemetry import served_metrics, tracing

if TYPE_CHECKING:
    from mnemolog.consolidating import Consolidating
    from mnemolog.processors.materialize import ShardWriter
    from mnemolog.schemas.ports import Embedder, Log
    from mnemolog.telemetry.worker_metrics import WorkerMetrics

GROUP = "mnemolog"
METRICS_HOST = "127.0.0.1"
START_PATIENCE_SECONDS = 60.0
STOP_PATIENCE_SECONDS = 5.0
THREAD_PATIENCE_SECONDS = 3.0
LONGEST_PAUSE_SECONDS = 10.0
_POLL_SECONDS = 0.1
_FLIP_SECONDS = 1.0

logger = logging.getLogger("mnemolog.worker")


def run_worker(
    *,
    kafka: str,
    views: str | Path,
    embedder: Embedder | None = None,
    group: str = GROUP,
    stop: threading.Event | None = None,
    consolidate: Consolidating | None = None,
    metrics_port: int | None = None,
    metrics_host: str = METRICS_HOST,
) -> int:
    """Apply what is appended to the brokers `kafka` (`HOST:PORT[,…]`) to the views below `views`.

    Runs until SIGTERM or SIGINT, or until `stop` is set. Workers of one `group` share the partitions. Returns
    the exit code: 0 after a clean stop, 1 if it can't go on; the log on stderr says why and what to do.
    `consolidate` says how new memories become facts, if they are to. With a `metrics_port`, 0 for any that is
    free, Prometheus finds metrics there, on the address `metrics_host`; this needs `mnemolog[telemetry]`.
    Where a program has set up OpenTelemetry before, each batch is a span.
    """
    configure_logging()
    hold_little()
    read_little_at_once(views)
    ending = stop or threading.Event()
    _stop_on_signals(ending)
    _load(embedder)
    try:
        with served_metrics(metrics_port, metrics_host) as metrics:
            wait_for_broker(kafka, START_PATIENCE_SECONDS, ending)
            threading.Thread(target=watch_broker, args=(kafka, ending), daemon=True).start()
            log = KafkaLog(kafka)
            try:
                _Worker(kafka, log, Views(views), embedder, group, ending, consolidate, metrics).run()
            finally:
                log.close()
    except MnemologError as error:
        logger.error("%s", error)  # noqa: TRY400 the message says it all
        return 1
    finally:
        ending.set()
        await_threads(THREAD_PATIENCE_SECONDS)
    logger.info("stopped")
    return 0


def _load(embedder: Embedder | None) -> None:
    """Load the default model before tables are open: loading takes twice the memory that is kept."""
    if isinstance(embedder, MiniLMEmbedder):
        with suppress(EmbeddingError):  # as at any other time: the rows don't wait for their vectors
            embedder.load()


def _stop_on_signals(stop: threading.Event) -> None:
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())


class _Worker:
    """Runs one Faust app after the other: a new one when the live generation flips, or when one crashed.

    As the views know how far they are, starting anew is always safe.
    """

    def __init__(
        self,
        kafka: str,
        log: Log,
        views: Views,
        embedder: Embedder | None,
        group: str,
        stop: threading.Event,
        consolidate: Consolidating | None = None,
        metrics: WorkerMetrics | None = None,
    ) -> None:
        self._kafka = kafka
        self._log = log
        self._views = views
        self._embedder = embedder if metrics is None else metrics.heard(embedder)
        self._group = group
        self._stop = stop
        self._consolidate = consolidate
        self._metrics = metrics
        if metrics is not None:
            metrics.follow(log)

    def run(self) -> None:
        """Work until told to stop.

        Raises:
            MnemologError: what only a person can put right.
        """
        partitions = shared_partitions(self._log, self._kafka)
        backoff = Backoff(time.monotonic, LONGEST_PAUSE_SECONDS)
        with tempfile.TemporaryDirectory(prefix="mnemolog-worker-") as state:
            while not self._stop.is_set():
                manifest = ensure_live(self._views, partitions, self._embedder)
                self._announce(manifest)
                crash = asyncio.run(self._serve(manifest, Path(state)))
                if crash is None:
                    backoff.succeeded()
                else:
                    backoff.failed()
                    if self._metrics is not None:
                        self._metrics.crashed()
                    _report(crash, backoff.pause)
                    self._stop.wait(backoff.pause)

    def _announce(self, manifest: Manifest) -> None:
        logger.info(
            "kafka=%s group=%s views=%s generation=%s embedder=%s",
            self._kafka,
            self._group,
            self._views.root,
            manifest.generation,
            manifest.embedder or "none",
        )

    async def _serve(self, manifest: Manifest, state: Path) -> BaseException | None:
        """Run an app until it has to end: what it crashed with, if it did."""
        assignment = Assignment(
            partial(self._open, manifest),
            self._log,
            EMBEDDED_BATCH if self._embedder else BATCH,
            partial(self._reactors, manifest),
            None if self._metrics is None else self._metrics.owns,
            tracing(self._group),
        )
        app = build_app(self._kafka, self._group, state, assignment)
        starting = asyncio.create_task(app.start())
        flip = asyncio.create_task(self._wait_for_flip(manifest))
        try:
            while not (self._stop.is_set() or flip.done() or _crash_of(app, starting)):
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            flip.cancel()
            await _shut_down(app, starting, assignment)
        return _crash_of(app, starting)

    async def _wait_for_flip(self, manifest: Manifest) -> None:
        current = manifest
        while current.generation == manifest.generation:
            await asyncio.sleep(_FLIP_SECONDS)
            with suppress(ViewError):
                current = await in_thread(self._views.current)
        logger.info("the live generation is now %s", current.generation)

    def _reactors(self, manifest: Manifest, partition: int) -> list[Reactor]:
        reactors = open_reactors(self._views, manifest, partition, self._log, utc_now)
        if self._consolidate is not None:
            reactors.append(self._consolidate.reactor(self._views, manifest, partition, self._log))
        return reactors

    def _open(self, manifest: Manifest, partition: int) -> ShardWriter:
        keep, metrics = keep_in(self._log, utc_now), self._metrics
        if metrics is None:
            return open_shard(self._views, manifest, partition, self._embedder, keep)
        keep, told = metrics.rejecting(keep), metrics.applying(partition)
        writer = open_shard(self._views, manifest, partition, self._embedder, keep, on_applied=told)
        metrics.opened(partition, writer)
        return writer


def shared_partitions(log: Log, kafka: str) -> int:
    """How many partitions the topics have.

    Raises:
        LogError: they are not there, or differ.
    """
    try:
        counts = {topic: log.partitions(topic) for topic in FED_TOPICS}
    except LogUnavailableError as error:
        raise LogError(f"{error}. To make the topics: mnemolog init --kafka {kafka}") from error
    if len(set(counts.values())) != 1:
        raise LogError(f"the topics must have the same number of partitions, and have {counts}")
    return next(iter(counts.values()))


def _crash_of(app: WorkerApp, starting: asyncio.Task[None]) -> BaseException | None:
    if starting.done() and not starting.cancelled() and starting.exception():
        return starting.exception()
    reason: BaseException | None = app.crash_reason
    return reason


def _report(crash: BaseException, pause: float) -> None:
    if isinstance(crash, ViewError):
        raise crash
    logger.warning("starting anew in %.1f s after %s: %s", pause, type(crash).__name__, crash)


async def _shut_down(app: WorkerApp, starting: asyncio.Task[None], assignment: Assignment) -> None:
    """Finish what is in hand, commit, leave the group; bounded, as Faust waits for brokers that are away."""
    await asyncio.wait({asyncio.create_task(assignment.close())}, timeout=PATIENCE_SECONDS + 1)
    _, late = await asyncio.wait({asyncio.create_task(app.stop())}, timeout=STOP_PATIENCE_SECONDS)
    if late:
        logger.warning("Kafka does not answer; leaving without saying goodbye")
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    starting.cancel()


def main(arguments: Sequence[str] | None = None) -> int:
    """The worker as a program of its own, for tests and containers."""
    parser = argparse.ArgumentParser(prog="python -m mnemolog.worker", description=run_worker.__doc__)
    parser.add_argument("--kafka", required=True)
    parser.add_argument("--views", required=True)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--group", default=GROUP)
    parser.add_argument("--consolidate", metavar="EXTRACTOR")
    parser.add_argument("--every", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--metrics-port", type=int)
    parser.add_argument("--metrics-host", default=METRICS_HOST)
    given = parser.parse_args(arguments)
    consolidate = None
    if given.consolidate:
        from mnemolog.consolidating import consolidating

        pace = {"every": given.every, "seconds": given.seconds, "batch": given.batch}
        consolidate = consolidating(given.consolidate, **pace)
    return run_worker(
        kafka=given.kafka,
        views=given.views,
        embedder=resolve(given.embedder),
        group=given.group,
        consolidate=consolidate,
        metrics_port=given.metrics_port,
        metrics_host=given.metrics_host,
    )


if __name__ == "__main__":
    sys.exit(main())
