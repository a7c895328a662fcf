"""Logging of the worker: one line an event to stderr, and libraries that repeat themselves kept quiet."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

REPEAT_SECONDS = 60.0
"""A library says the same thing once in this time."""

_LIBRARIES = ("faust", "mode", "aiokafka", "kafka", "asyncio")

_RETRYING = ("aiokafka.consumer.group_coordinator", "aiokafka.consumer.fetcher", "aiokafka.cluster")
"""These report as errors what they try again by themselves; `broker_watch` says when brokers are away."""


class Calm(logging.Filter):
    """Lets a message of a logger pass once in a while, whatever its arguments. `monotonic` is in seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._said: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether `record` is news. Records of mnemolog always are."""
        if not record.name.startswith(_LIBRARIES):
            return True
        now, key = self._monotonic(), (record.name, str(record.msg)[:40])
        if now - self._said.get(key, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return False
        self._said[key] = now
        return True


def configure_logging(level: int = logging.INFO) -> None:
    """Log to stderr, unless the program that calls has set up logging already."""
    if logging.getLogger().handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(Calm())
    logging.basicConfig(level=level, handlers=[handler])
    for library in _LIBRARIES:
        logging.getLogger(library).setLevel(logging.ERROR)
    for retrying in _RETRYING:
        logging.getLogger(retrying).setLevel(logging.CRITICAL)
