"""A span for each batch of records that a worker applies, with links to the spans that wrote them.

Names: https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.trace import (
    INVALID_SPAN,
    NoOpTracerProvider,
    ProxyTracerProvider,
    Span,
    SpanKind,
    Tracer,
    get_tracer,
    get_tracer_provider,
    use_span,
)

import mnemolog
from mnemolog.telemetry.failures import tell_failure
from mnemolog.telemetry.harmless import harmless
from mnemolog.telemetry.outcomes import Attributes
from mnemolog.telemetry.trace_context import links_of

if TYPE_CHECKING:
    from mnemolog.processors.partition_pump import Source, Writer
    from mnemolog.schemas.records import StoredRecord


def traced_writers(group: str) -> Callable[[Source, Writer], Writer] | None:
    """Makes writers of a worker of `group` tell of their batches; None if OpenTelemetry is not set up."""
    if isinstance(get_tracer_provider(), ProxyTracerProvider | NoOpTracerProvider):
        return None
    tracer = get_tracer("mnemolog", mnemolog.__version__)
    return lambda source, writer: TracedWriter(writer, source, group, tracer)


class TracedWriter:
    """A `Writer` of one source whose batches are spans, each the first of a trace of its own."""

    def __init__(self, writer: Writer, source: Source, group: str, tracer: Tracer) -> None:
        topic, partition = source
        self._writer = writer
        self._tracer = tracer
        self._name = f"process {topic}"
        self._about = {
            "messaging.system": "kafka",
            "messaging.operation.name": "process",
            "messaging.operation.type": "process",
            "messaging.destination.name": topic,
            "messaging.destination.partition.id": str(partition),
            "messaging.consumer.group.name": group,
        }

    def apply(self, topic: str, records: Sequence[StoredRecord], since: int | None = None) -> None:
        """See `partition_pump.Writer`."""
        span: Span = INVALID_SPAN
        with harmless():
            span = self._start(records)
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                self._writer.apply(topic, records, since)
        except BaseException as error:
            with harmless():
                tell_failure(span, error)
            raise
        finally:
            with harmless():
                span.end()

    def _start(self, records: Sequence[StoredRecord]) -> Span:
        about: Attributes = {**self._about, "messaging.batch.message_count": len(records)}
        return self._tracer.start_span(self._name, Context(), SpanKind.CONSUMER, about, links_of(records))
