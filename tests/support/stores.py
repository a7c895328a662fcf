"""What the facade is opened on: a folder, or brokers with a worker's views."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

from mnemolog import Memory
from mnemolog.embedders import EmbedderSpec
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.kafka import KafkaLog
from mnemolog.schemas.topics import CONTEXT, FEEDBACK, MEMORIES

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
Result = TypeVar("Result")


class OpenMemory(Protocol):
    """Opens one more handle on the test's store; the namespace is one that only this test has."""

    def __call__(
        self, namespace: str | Iterable[str] = ..., embedder: EmbedderSpec = ..., **options: Any
    ) -> Memory: ...


@dataclass
class Store:
    """A log with its views. `opening` makes a handle on it; `prefix` begins the namespaces of one test."""

    opening: Callable[..., Memory]
    log: Callable[[], EmbeddedLog | KafkaLog]
    prefix: str
    held: ExitStack = field(default_factory=ExitStack)

    def open(
        self,
        namespace: str | Iterable[str] = "alice",
        embedder: EmbedderSpec = "hashing",
        **options: Any,
    ) -> Memory:
        """See `OpenMemory`."""
        parts = (namespace,) if isinstance(namespace, str) else tuple(namespace)
        memory = self.opening(namespace=(self.prefix, *parts), embedder=embedder, **options)
        return self.held.enter_context(memory)

    def ends(self) -> dict[str, dict[int, int]]:
        """Topic → partition → the next offset: what tells whether anything was appended."""
        log = self.log()
        try:
            return {topic: log.end_offsets(topic) for topic in (MEMORIES, FEEDBACK, CONTEXT)}
        finally:
            log.close()


class MovingClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **span: float) -> None:
        """Move on by a `timedelta`'s arguments."""
        self.now += timedelta(**span)


def texts(items: Iterable[Any]) -> list[str]:
    """The texts of hits or memories, in order."""
    return [getattr(item, "memory", item).text for item in items]


def at_once(calls: Iterable[Callable[[], Result]], threads: int = 16) -> list[Result]:
    """Call all from many threads that start together; their results. Raises the first of their errors."""
    waiting, results, errors = list(calls), [], []
    lock = threading.Lock()
    start = threading.Barrier(min(threads, len(waiting)))

    def work() -> None:
        start.wait()
        while True:
            with lock:
                if not waiting:
                    return
                call = waiting.pop(0)
            try:
                results.append(call())
            except Exception as error:
                errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(start.parties)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return results
