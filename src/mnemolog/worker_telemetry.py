"""What a worker tells of itself, if that is asked for or OpenTelemetry is set up; else nothing is loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from mnemolog.schemas.errors import MissingExtraError

if TYPE_CHECKING:
    from mnemolog.processors.partition_pump import Source, Writer
    from mnemolog.telemetry.worker_metrics import WorkerMetrics


def served_metrics(port: int | None, host: str) -> AbstractContextManager[WorkerMetrics | None]:
    """Metrics, served meanwhile; None without a `port`."""
    if port is None:
        return nullcontext()
    from mnemolog.telemetry.worker_metrics import serve_metrics

    return serve_metrics(host, port)


def tracing(group: str) -> Callable[[Source, Writer], Writer] | None:
    """Makes writers tell of their batches, if this program has set up OpenTelemetry and has the extra."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    try:
        from mnemolog.telemetry.batches import traced_writers
    except MissingExtraError:
        return None
    return traced_writers(group)
