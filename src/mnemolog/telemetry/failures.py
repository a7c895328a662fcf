"""What a span says of a call that failed."""

from __future__ import annotations

from opentelemetry.trace import Span, Status, StatusCode

from mnemolog.schemas.errors import ClosedError, LogError, MnemologError, ViewError, WaitTimeoutError

_TEXTLESS = (LogError, ViewError, WaitTimeoutError, ClosedError)
"""Errors whose messages hold nothing of what a caller passed."""


def tell_failure(span: Span, error: BaseException, texts: bool = False) -> None:
    """Let `span` say that `error` ended it, with its message if it quotes nobody or `texts` are wanted."""
    name = type(error).__qualname__
    span.set_attribute("error.type", name)
    field = getattr(error, "field", None)
    if isinstance(error, MnemologError) and isinstance(field, str):
        span.set_attribute("mnemolog.error.field", field)
    if texts or isinstance(error, _TEXTLESS):
        span.record_exception(error)
        span.set_status(Status(StatusCode.ERROR, f"{name}: {error}"))
    else:
        span.add_event("exception", {"exception.type": name})
        span.set_status(Status(StatusCode.ERROR, name))
