"""What telemetry costs a verb that is observed. Run: python -m benchmarks.telemetry

Processor time of this thread, in microseconds a call of a verb that does nothing; the median of rounds that
take every way in turn. `a bare span of the SDK` is what OpenTelemetry takes for a span of as many attributes,
without anything of this library.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, datetime
from statistics import median
from typing import Any

from opentelemetry.context import attach
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from opentelemetry.trace import NoOpTracerProvider, SpanKind, set_span_in_context
from opentelemetry.trace import TracerProvider as AnyProvider
from prometheus_client import CollectorRegistry

from mnemolog.query.models import Hits
from mnemolog.telemetry.calls import Calls, Whose
from mnemolog.telemetry.instruments import instruments_of
from mnemolog.telemetry.trace_context import trace_headers

CALLS = 2_000
ROUNDS = 15
FOUND = Hits((), "id", "what does Alice eat?", datetime.now(UTC), 3)
ATTRIBUTES: dict[str, Any] = {f"mnemolog.attribute.{number}": number for number in range(15)}


def observed(provider: AnyProvider) -> Callable[[], object]:
    """A recall that does nothing, observed."""
    instruments = instruments_of(CollectorRegistry(), "mnemolog")
    calls = Calls(
        instruments, provider.get_tracer("benchmark"), ("acme", "alice"), Whose("a", "t"), texts=False
    )

    def nothing(*_: Any, **__: Any) -> Hits:
        return FOUND

    return lambda: calls.call("recall", nothing, (FOUND.query,), {"k": 5})


def bare_span() -> Callable[[], object]:
    """A span of the SDK alone."""
    tracer = TracerProvider().get_tracer("benchmark")

    def span() -> None:
        made = tracer.start_span("recall", kind=SpanKind.CLIENT)
        made.set_attributes(ATTRIBUTES)
        made.end()

    return span


def headers(sampler: Sampler) -> Callable[[], object]:
    """What an append asks for, in a span."""
    span = TracerProvider(sampler=sampler).get_tracer("benchmark").start_span("remember")
    context = copy_context()
    context.run(attach, set_span_in_context(span))
    return lambda: context.run(trace_headers)


def microseconds(call: Callable[[], object]) -> float:
    """Processor time of this thread a call."""
    begun = time.thread_time()
    for _ in range(CALLS):
        call()
    return (time.thread_time() - begun) / CALLS * 1e6


def main() -> None:
    """Measure all and print."""
    ways = {
        "metrics, no tracing": observed(NoOpTracerProvider()),
        "metrics, spans that are not sampled": observed(TracerProvider(sampler=ALWAYS_OFF)),
        "metrics, spans that are recorded": observed(TracerProvider()),
        "a bare span of the SDK": bare_span(),
        "headers of an append, not sampled": headers(ALWAYS_OFF),
        "headers of an append": headers(ALWAYS_ON),
    }
    rounds = [{name: microseconds(call) for name, call in ways.items()} for _ in range(ROUNDS)]
    for name in ways:
        print(f"{name:36s} {median(one[name] for one in rounds):6.1f} µs")
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
