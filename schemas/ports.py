"""The ports: what the core asks of the outside. Each has one contract suite that every adapter passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record, StoredRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        """The first offset whose record is stamped at or after `timestamp` (ms); the end offset if none is."""

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
