"""OpenTelemetry spans and Prometheus metrics of a memory, and metrics of a worker (extra `telemetry`).

    mem = mnemolog.telemetry.observe(mnemolog.open("./memory"))

Nothing else of this library imports this package, so without it nothing is slower or heavier.
`trace_headers` gives the trace context to what a `MemoryProducer` writes.
"""

from __future__ import annotations

from mnemolog.schemas.errors import MissingExtraError

try:
    import opentelemetry.trace  # noqa: F401 only whether it is there
    import prometheus_client  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtraError(
        'telemetry needs more packages: pip install "mnemolog[telemetry]"', name=error.name
    ) from error

from mnemolog.telemetry.observed import observe
from mnemolog.telemetry.trace_context import trace_headers

__all__ = ["observe", "trace_headers"]
