"""What embedders are asked: metrics, and a span a call."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
from prometheus_client import Counter, Histogram

from mnemolog.telemetry.harmless import harmless

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from mnemolog.schemas.ports import Embedder

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class EmbeddingMetrics:
    """Calls of embedders: how many, of how many texts, how long they took and how many failed."""

    def __init__(self, prefix: str) -> None:
        name = f"{prefix}_embedding"
        self._calls = Counter(f"{name}_calls", "Calls of the embedding model.", registry=None)
        self._texts = Counter(f"{name}_texts", "Texts that the model was asked for.", registry=None)
        self._errors = Counter(f"{name}_errors", "Calls that failed.", registry=None)
        self._seconds = Histogram(
            f"{name}_seconds", "How long a call took, in seconds.", buckets=SECONDS, registry=None
        )

    @property
    def all(self) -> list[Collector]:
        """To be registered."""
        return [self._calls, self._texts, self._errors, self._seconds]

    def count(self, texts: int, seconds: float, error: BaseException | None) -> None:
        """Count a call."""
        self._calls.inc()
        self._texts.inc(texts)
        self._seconds.observe(seconds)
        if error is not None:
            self._errors.inc()


@dataclass(frozen=True, eq=False)
class EmbeddingListener:
    """Counts what an embedder is asked, and gives each call its span, within that of the verb if one runs.

    Two with the same metrics are equal, so that a call counts once though several handles share the embedder.
    """

    metrics: EmbeddingMetrics
    tracer: Tracer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EmbeddingListener) and other.metrics is self.metrics

    def __hash__(self) -> int:
        return hash(self.metrics)

    def __call__(self, embedder: Embedder, texts: int, seconds: float, error: BaseException | None) -> None:
        """See `Listener`."""
        with harmless():
            self.metrics.count(texts, seconds, error)
            self._add_span(embedder, texts, seconds, error)

    def _add_span(self, embedder: Embedder, texts: int, seconds: float, error: BaseException | None) -> None:
        now = time.time_ns()
        span = self.tracer.start_span(
            f"embeddings {embedder.name}", kind=SpanKind.INTERNAL, start_time=now - int(seconds * 1e9)
        )
        if span.is_recording():
            span.set_attributes(
                {
                    "gen_ai.operation.name": "embeddings",
                    "gen_ai.provider.name": "mnemolog",
                    "gen_ai.request.model": embedder.name,
                    "gen_ai.embeddings.dimension.count": embedder.dim,
                    "mnemolog.embedding.texts": texts,
                }
            )
            if error is not None:
                span.set_attribute("error.type", type(error).__qualname__)
                span.set_status(Status(StatusCode.ERROR, type(error).__qualname__))
        span.end(now)
