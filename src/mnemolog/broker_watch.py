"""Says once when no broker answers, and once when one does again; the clients just go on trying."""

from __future__ import annotations

import logging
import socket
import threading
import time

from mnemolog.schemas.errors import LogUnavailableError

LOOK_SECONDS = 5.0
CONNECT_SECONDS = 2.0

logger = logging.getLogger(__name__)


def answers(kafka: str) -> bool:
    """Whether any of the brokers `HOST:PORT[,HOST:PORT…]` takes a connection."""
    return any(_connects(server.strip()) for server in kafka.split(","))


def _connects(server: str) -> bool:
    host, _, port = server.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def wait_for_broker(kafka: str, patience: float, stop: threading.Event) -> None:
    """Return once a broker answers, or once `stop` is set.

    Raises:
        LogUnavailableError: none did within `patience` seconds.
    """
    give_up = time.monotonic() + patience
    while not answers(kafka) and not stop.is_set():
        if time.monotonic() > give_up:
            raise LogUnavailableError(f"no Kafka broker answers at {kafka}: is it up, is the address right?")
        logger.info("waiting for a Kafka broker at %s", kafka)
        stop.wait(LOOK_SECONDS)


def watch_broker(kafka: str, stop: threading.Event) -> None:
    """Log when the brokers go away and come back, until `stop` is set."""
    gone: float | None = None
    while not stop.wait(LOOK_SECONDS):
        if answers(kafka) is (gone is None):
            continue
        if gone is None:
            gone = time.monotonic()
            logger.warning("no Kafka broker answers at %s; the worker goes on by itself once one does", kafka)
        else:
            logger.info("Kafka answers again, after %.0f s", time.monotonic() - gone)
            gone = None
