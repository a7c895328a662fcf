"""A span's context in the headers of records, and back: https://www.w3.org/TR/trace-context/"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opentelemetry.context import Context
from opentelemetry.trace import Link, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mnemolog.producers.tracing import MOST_BYTES, NAMES
from mnemolog.schemas.records import Headers, StoredRecord
from mnemolog.telemetry.harmless import harmless

MOST_LINKS = 32
"""Links that a span has at most, as one is made for each trace whose records are in a batch."""

_PROPAGATOR = TraceContextTextMapPropagator()


def trace_headers() -> Headers:
    """`traceparent` and, if there is one, `tracestate` of the span that is current; for `MemoryProducer`.

    Nothing where no span is recorded. A `tracestate` of more than 512 bytes is left out.
    """
    carrier: dict[str, str] = {}
    with harmless():
        if get_current_span().is_recording():
            _PROPAGATOR.inject(carrier)
    headers = ((name, value.encode()) for name, value in carrier.items() if value.isascii())
    return tuple(header for header in headers if len(header[1]) <= MOST_BYTES)


def links_of(records: Iterable[StoredRecord]) -> list[Link]:
    """Links to the spans that wrote `records`: each span once, the first `MOST_LINKS`.

    A record without a sound `traceparent` has none.
    """
    links: dict[tuple[int, int], Link] = {}
    seen: set[Headers] = set()
    for record in records:
        headers = tuple(header for header in record.headers if header[0] in NAMES)
        if not headers or headers in seen:
            continue
        seen.add(headers)
        context = get_current_span(_context_of(headers)).get_span_context()
        if context.is_valid:
            links.setdefault((context.trace_id, context.span_id), Link(context))
        if len(links) == MOST_LINKS:
            break
    return list(links.values())


def _context_of(headers: Sequence[tuple[str, bytes | None]]) -> Context:
    carrier: dict[str, list[str]] = {}
    for name, value in headers:  # Kafka knows headers without a value
        carrier.setdefault(name, []).append((value or b"").decode("latin-1"))
    return _PROPAGATOR.extract(carrier, Context())
