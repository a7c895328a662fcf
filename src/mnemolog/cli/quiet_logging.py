"""The library's warnings as lines that a person on a terminal can read."""

from __future__ import annotations

import logging

from mnemolog.cli.output import note


class OneLineHandler(logging.Handler):
    """Puts the message and its cause on stderr, without a traceback."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        cause = record.exc_info[1] if record.exc_info else None
        text = record.getMessage() + (f": {cause}" if cause else "")
        note(f"Warning: {' '.join(text.split())}")


def log_in_one_line() -> None:
    """Print the library's warnings a line each. Calling it twice is harmless."""
    logger = logging.getLogger("mnemolog")
    if not logger.handlers:
        logger.addHandler(OneLineHandler(logging.WARNING))
        logger.propagate = False
