"""Telemetry never breaks the program that it watches."""

from __future__ import annotations

import logging
from types import TracebackType

_logger = logging.getLogger(__name__)


class _Harmless:
    """Lets no error out, but says so in the log, once for each class of error."""

    def __init__(self) -> None:
        self._said: set[type[BaseException]] = set()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        level = logging.DEBUG if type(error) in self._said else logging.WARNING
        self._said.add(type(error))
        _logger.log(level, "telemetry failed, the call did not: %s: %s", type(error).__name__, error)
        return True


_HARMLESS = _Harmless()


def harmless() -> _Harmless:
    """A context in which telemetry may fail; what else happens there goes on after it."""
    return _HARMLESS
