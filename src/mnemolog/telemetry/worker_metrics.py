"""The Prometheus metrics of a worker, and the server that shows them."""

from __future__ import annotations

import errno
import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry.trace import get_tracer
from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    start_http_server,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

import mnemolog
from mnemolog.embedders.listening import HeardEmbedder
from mnemolog.processors.shards import FOLDS
from mnemolog.schemas.errors import InvalidInputError, MnemologError
from mnemolog.telemetry.embedding import EmbeddingListener, EmbeddingMetrics
from mnemolog.telemetry.gauges import Values
from mnemolog.telemetry.harmless import harmless
from mnemolog.telemetry.looks import Look, Running
from mnemolog.telemetry.open_letters import OpenLetters

if TYPE_CHECKING:
    from mnemolog.processors.applied import Applied, OnApplied
    from mnemolog.processors.materialize import OnRejected, Rejected, ShardWriter
    from mnemolog.processors.partition_pump import Source
    from mnemolog.schemas.ports import Embedder, Log

PREFIX = "mnemolog"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

_logger = logging.getLogger("mnemolog.worker")


class MetricsAddressError(MnemologError):
    """The metrics can't be served: something else has the port, or the address is not of this machine."""


class WorkerMetrics:
    """Counts what a worker does, and asks at each scrape how far its views are. Safe for threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._log: Log | None = None
        self._letters: OpenLetters | None = None
        self._owned: frozenset[Source] = frozenset()
        self._next: dict[tuple[str, int], int] = {}
        self._scrape_errors = 0
        self._lag_look, self._letters_look = Look(self._find_lag), Look(self._find_letters)
        name = f"{PREFIX}_worker"
        home = self.registry
        self._records = Counter(f"{name}_records", "Records that were folded.", ("view",), registry=home)
        self._rows = Counter(f"{name}_rows", "Rows that were written.", ("view",), registry=home)
        self._batches = Histogram(
            f"{name}_batch_seconds",
            "A batch: folds, vectors and commit.",
            ("view",),
            buckets=SECONDS,
            registry=home,
        )
        self._commits = Histogram(
            f"{name}_commit_seconds", "A commit of a batch.", ("view",), buckets=SECONDS, registry=home
        )
        self._rejected = Counter(f"{name}_dead_letters", "Records that could not be applied.", registry=home)
        self._rebalances = Counter(f"{name}_rebalances", "Changes of the partitions owned.", registry=home)
        self._restarts = Counter(
            f"{name}_restarts", "Starts anew after a crash of the consumer.", registry=home
        )
        self._embedding = EmbeddingMetrics(PREFIX)
        for collector in (*self._embedding.all, self):
            self.registry.register(collector)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def follow(self, log: Log) -> None:
        """Let gauges compare the views with `log` from now on."""
        self._log, self._letters = log, OpenLetters(log)

    def heard(self, embedder: Embedder | None) -> Embedder | None:
        """`embedder`, its calls counted."""
        if embedder is None:
            return None
        tracer = get_tracer("mnemolog", mnemolog.__version__)
        return HeardEmbedder(embedder, EmbeddingListener(self._embedding, tracer))

    def applying(self, partition: int) -> OnApplied:
        """To be told of what a partition's views apply."""

        def told(done: Applied) -> None:
            with harmless():
                self._records.labels(done.view).inc(done.records)
                self._rows.labels(done.view).inc(done.rows)
                self._batches.labels(done.view).observe(done.seconds)
                self._commits.labels(done.view).observe(done.commit_seconds)
                self._next[done.view, partition] = done.next_offset

        return told

    def rejecting(self, keep: OnRejected) -> OnRejected:
        """`keep`, what it has kept counted."""

        def kept(rejected: Sequence[Rejected]) -> None:
            keep(rejected)
            self._rejected.inc(len(rejected))

        return kept

    def opened(self, partition: int, writer: ShardWriter) -> None:
        """Note how far the views of a partition are."""
        for view, offset in writer.applied().items():
            self._next[view, partition] = offset

    def owns(self, sources: Collection[Source]) -> None:
        """Note which sources are this worker's from now on."""
        self._owned = frozenset(sources)
        self._rebalances.inc()

    def crashed(self) -> None:
        """Count a crash."""
        self._restarts.inc()

    def describe(self) -> Iterator[Metric]:
        """The gauges without values."""
        yield from (self._partitions(), self._lag(), self._waiting(), self._errors())

    def collect(self) -> Iterator[Metric]:
        """The gauges, as they are now. Never raises, and never takes long."""
        partitions = self._partitions()
        partitions.add_metric((), len({number for _, number in self._owned}))
        yield partitions
        looks = [(self._lag(), self._lag_look.begin()), (self._waiting(), self._letters_look.begin())]
        for family, running in looks:
            yield self._looked(family, running)
        errors = self._errors()
        errors.add_metric((), self._scrape_errors)
        yield errors

    def _looked(self, family: GaugeMetricFamily, running: Running[Values]) -> GaugeMetricFamily:
        try:
            for place, value in running.take().items():
                family.add_metric(place, value)
        except Exception as error:  # noqa: BLE001 whatever it is, the other metrics are to be had
            self._scrape_errors += 1
            _logger.warning("%s could not be read: %s: %s", family.name, type(error).__name__, error)
        return family

    def _find_lag(self) -> Values:
        log, owned = self._log, self._owned
        if log is None:
            return {}
        ends = {topic: log.end_offsets(topic) for topic in {topic for topic, _ in owned}}
        return {
            (fold.name, str(number)): max(
                ends[topic].get(number, 0) - self._next.get((fold.name, number), 0), 0
            )
            for fold in FOLDS
            for topic, number in sorted(owned)
            if topic == fold.topic
        }

    def _find_letters(self) -> Values:
        return {} if self._letters is None else {(): self._letters.count()}

    @staticmethod
    def _partitions() -> GaugeMetricFamily:
        return GaugeMetricFamily(
            f"{PREFIX}_worker_partitions", "Partitions that this worker owns.", labels=()
        )

    @staticmethod
    def _lag() -> GaugeMetricFamily:
        said = "Events in the log that a view has not applied, in partitions that this worker owns."
        return GaugeMetricFamily(f"{PREFIX}_worker_lag_events", said, labels=("view", "partition"))

    @staticmethod
    def _waiting() -> GaugeMetricFamily:
        said = "Records in the whole log that could not be applied and wait for a person."
        return GaugeMetricFamily(f"{PREFIX}_dead_letters", said, labels=())

    @staticmethod
    def _errors() -> CounterMetricFamily:
        return CounterMetricFamily(f"{PREFIX}_scrape_errors", "Looks at gauges that failed.", labels=())


@contextmanager
def serve_metrics(host: str, port: int) -> Iterator[WorkerMetrics]:
    """The metrics of a worker, to be had on `host` and `port` meanwhile; see `MetricsServer`."""
    metrics = WorkerMetrics()
    server = MetricsServer(metrics.registry, host, port)
    try:
        yield metrics
    finally:
        server.close()


class MetricsServer:
    """Serves a registry over HTTP on `host` and `port`, 0 for a free one, until it is closed.

    Raises:
        InvalidInputError: no such port.
        MetricsAddressError: it can't be had.
    """

    def __init__(self, registry: CollectorRegistry, host: str, port: int) -> None:
        if not 0 <= port <= 65_535:
            raise InvalidInputError(f"metrics_port is from 0 to 65535, not {port!r}", field="metrics_port")
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except (OSError, UnicodeError) as error:  # the latter is of a name that none can have
            raise MetricsAddressError(_why(host, port, error)) from error
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self._server.server_port}/metrics"
        _logger.info("metrics on %s", self.address)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _why(host: str, port: int, error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return f"metrics can't be served on {host!r:.80}: that is no name of a host"
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken; choose another with --metrics-port, 0 for any that is free"
    return f"metrics can't be served on {host} port {port}: {error.strerror or error}"
