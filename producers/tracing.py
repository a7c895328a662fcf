"""Which trace a write belongs to, as whoever traces says it."""

from __future__ import annotations

from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.records import GiveTrace, Headers

NAMES = frozenset({"traceparent", "tracestate"})
MOST_BYTES = 512
"""What the W3C asks to be passed on of a `tracestate`; a `traceparent` has 55."""


def checked_trace(trace: GiveTrace) -> GiveTrace:
    """`trace`, with a check of all that it gives: nothing but a trace may get into headers.

    What it gives raises InvalidInputError, before anything is appended, where it is something else.

    Raises:
        InvalidInputError: it is no function.
    """
    if not callable(trace):
        raise InvalidInputError(f"trace is a function that gives headers, not {trace!r:.80}", field="trace")

    def give() -> Headers:
        try:
            headers = tuple(trace())
            sound = all(_is_sound(*header) for header in headers)
        except Exception as error:
            message = f"trace failed, nothing was appended: {error!r:.200}"
            raise InvalidInputError(message, field="trace") from error
        if not sound or len(dict(headers)) < len(headers):
            raise InvalidInputError(
                f"trace gives pairs of {' or '.join(sorted(NAMES))} and up to {MOST_BYTES} bytes of ASCII,"
                f" each once, not {headers!r:.200}",
                field="trace",
            )
        return headers

    return give


def _is_sound(name: object, value: object) -> bool:
    return name in NAMES and isinstance(value, bytes) and value.isascii() and len(value) <= MOST_BYTES
