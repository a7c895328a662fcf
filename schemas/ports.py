"""The ports: what the core asks of the outside. Each has one contract suite that every adapter passes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record, StoredRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mnemolog.schemas.filters import Node
    from mnemolog.schemas.rows import Row

Clock: TypeAlias = Callable[[], datetime]
"""Gives the present as an aware datetime in UTC."""

NewId: TypeAlias = Callable[[], str]
"""Gives a fresh unique id."""


class Log(Protocol):
    """An append-only log of topics with partitions: Kafka, or a SQLite file. Safe to share by threads."""

    def partitions(self, topic: str) -> int:
        """How many partitions `topic` has.

        Raises:
            LogUnavailableError: the log can't be reached, or the topic was not created.
        """

    def append(self, records: Sequence[Record]) -> list[Position]:
        """Append `records` and return their positions, in the same order; on return they are durable.

        Records of one key keep their order, whoever else appends.

        Raises:
            DeliveryError: a record was not acknowledged; `record` names the first.
            LogUnavailableError: the log can't be reached, or has no room.
        """

    def read(self, topic: str, partition: int, offset: int, limit: int) -> list[StoredRecord]:
        """Up to `limit` records from `offset` on, in offset order; empty at the end of the partition."""

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Partition → the offset that the next record will get."""

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        """The first offset whose record has a stamp of at least `timestamp` (ms); the end offset if none."""

    def close(self) -> None:
        """Release what the log holds. Appended records stay."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors, deterministically: the same text and name give the same vector."""

    @property
    def name(self) -> str:
        """Names the model; a view is bound to it."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text: float32 of shape [len(texts), dim], finite, of length 1.

        Raises:
            EmbeddingError: the model failed; nothing is cached of the batch.
        """


class ViewTable(Protocol):
    """The table of one view in one shard. It has one writer at a time."""

    def applied(self) -> int:
        """The next offset to apply: all before it are in the rows; 0 for an empty view."""

    def revision(self) -> int:
        """Counts the commits, whoever makes them: while it stays, so do the rows."""

    def lookup(self, column: str, values: Collection[str]) -> list[Row]:
        """The rows whose `column` is, or if it is a list holds, one of `values`, tombstones included."""

    def select(self, namespace: str, node: Node = ...) -> list[Row]:
        """The live rows of a namespace (encoded) that the filter selects."""

    def scan(self) -> Iterator[Row]:
        """Every row of the view, tombstones included, in no order."""

    def pending(self, limit: int, skip: int = 0) -> list[Row]:
        """Up to `limit` live rows that still lack their vector, after the first `skip` of them."""

    def commit(self, rows: Sequence[Row], offset: int) -> None:
        """Write `rows`, and that all up to `offset` is applied, in one commit.

        A row that is there at the same or a later offset stays: a stale writer changes nothing.
        """

    def fill(self, rows: Sequence[Row]) -> None:
        """Write rows whose vectors came late; a row that changed meanwhile stays."""

    def due(self, now: float) -> bool:
        """Whether `tend` has anything to do at `now`: cheap, so that nobody waits for nothing."""

    def tend(self, now: float, alone: bool) -> bool:
        """One short step of the upkeep that is due at `now`, in seconds of a clock; whether more is left.

        `alone` says that nobody else can be writing the table.
        """
