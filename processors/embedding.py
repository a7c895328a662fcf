"""Vectors for new texts: in batches, never in the way of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from mnemolog.schemas.rows import Row, embed_text

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Embedder

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
_PROBE = "mnemolog"

RowsOf: TypeAlias = Callable[[Sequence[str]], Iterable[Row]]
"""The rows that have these primary keys, as far as there are any."""


@dataclass(slots=True)
class Backoff:
    """Pauses between attempts that double while they fail, up to `longest` seconds.

    `monotonic` is a clock in seconds.
    """

    monotonic: Callable[[], float]
    longest: float = LONGEST_PAUSE_SECONDS
    pause: float = 0.0
    until: float = 0.0

    @property
    def due(self) -> bool:
        """Whether the pause is over."""
        return self.monotonic() >= self.until

    def failed(self) -> None:
        """Pause, twice as long as before."""
        self.pause = min(max(self.pause * 2, FIRST_PAUSE_SECONDS), self.longest)
        self.until = self.monotonic() + self.pause

    def succeeded(self) -> None:
        """Start anew with the shortest pause."""
        self.pause = self.until = 0.0


class GivesVectors(Protocol):
    """Gives rows their vectors."""

    def embed(self, rows: Sequence[Row]) -> list[Row]:
        """`rows`, in order, with `vector`, or with `embed_error` where none could be had."""

    def retry(self, rows: Sequence[Row]) -> list[Row]:
        """Like `embed`, but looks first whether an embedder that was down is back."""


class ReusedVectors:
    """Takes vectors of unchanged texts from `old`, rows of the same embedder, the others from `fresh`."""

    def __init__(self, old: RowsOf, fresh: GivesVectors) -> None:
        self._old = old
        self._fresh = fresh

    def embed(self, rows: Sequence[Row]) -> list[Row]:
        """See `GivesVectors.embed`."""
        known = {row["pk"]: row for row in self._old([row["pk"] for row in rows])}
        reused = {row["pk"]: _with_old_vector(row, known.get(row["pk"])) for row in rows}
        lacking = [row for row in rows if reused[row["pk"]] is None]
        fresh = {row["pk"]: row for row in self._fresh.embed(lacking)}
        return [reused[row["pk"]] or fresh[row["pk"]] for row in rows]

    def retry(self, rows: Sequence[Row]) -> list[Row]:
        """See `GivesVectors.retry`."""
        return self._fresh.retry(rows)


def _with_old_vector(row: Row, old: Row | None) -> Row | None:
    if old is None or old["deleted"] or old["vector"] is None or embed_text(old) != embed_text(row):
        return None
    return {**row, "vector": old["vector"], "embed_error": None}


class RowEmbedder:
    """Gives rows their vectors with an embedder that may fail.

    After a failure a probe tells the two causes apart. If the probe fails too, the embedder is down: `embed`
    asks it no more, so that rows never wait for it, until a `retry` finds it back. Otherwise some text is to
    blame: halving the batch finds it, and every other row gets its vector.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.down = False

    def embed(self, rows: Sequence[Row]) -> list[Row]:
        """See `GivesVectors.embed`."""
        if self.down:
            return [_failed(row, "the embedder is down") for row in rows]
        return self._embed(list(rows)) if rows else []

    def retry(self, rows: Sequence[Row]) -> list[Row]:
        """See `GivesVectors.retry`."""
        if self.down and self._answers():
            self.down = False
        return self.embed(rows)

    def _embed(self, rows: list[Row]) -> list[Row]:
        try:
            return self._vectors(rows)
        except Exception as error:  # noqa: BLE001 an embedder may raise anything; the rows must go on
            reason = f"{type(error).__name__}: {error}"[:500]
        self.down = self.down or not self._answers()
        if self.down or len(rows) == 1:
            return [_failed(row, reason) for row in rows]
        middle = len(rows) // 2
        return self._embed(rows[:middle]) + self.embed(rows[middle:])

    def _vectors(self, rows: list[Row]) -> list[Row]:
        vectors = self._embedder.embed([embed_text(row) for row in rows])
        if vectors.shape != (len(rows), self._embedder.dim):
            raise ValueError(f"{self._embedder.name} gave vectors of shape {vectors.shape}")
        return [
            {**row, "vector": vector, "embed_error": None} for row, vector in zip(rows, vectors, strict=True)
        ]

    def _answers(self) -> bool:
        try:
            self._embedder.embed([_PROBE])
        except Exception:  # noqa: BLE001 whatever it raises, it does not answer
            return False
        return True


def _failed(row: Row, reason: str) -> Row:
    return {**row, "vector": None, "embed_error": reason}
