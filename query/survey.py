"""What holds of all memories of a namespace, in a few sums: for one that is too large to be in memory."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mnemolog.query.scoring.dates import calendar_of
from mnemolog.query.scoring.english import ROLES
from mnemolog.query.scoring.shapes import SHAPE_FLAGS, shapes_of
from mnemolog.query.scoring.whole import Whole
from mnemolog.query.segments import segment_of

SURVEYED = ("author", "occurred_at", "superseded_by", "text", "terms")
"""The columns that are looked at."""

_CELLS = 2**18
_SAMPLED = 256
"""Of each part of the rows so many texts are looked at closely."""

_ASKS, _FIRST_PERSON = SHAPE_FLAGS.index("asks"), SHAPE_FLAGS.index("first_person")


class Survey:
    """Sums over rows that were put in. It takes 2 MiB, the authors' names, and a number for each day.

    How many rows hold a term is counted in two tables of 262,144 cells; each term has a cell in both, which
    other terms may share, and the smaller number is taken. So it is never too low, and too high by what two
    strangers have in common: with 10⁵ distinct terms by none for nine terms in ten.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.superseded = False
        self.authors: dict[str, None] = {}
        self._length = 0
        self._cells: NDArray[np.int32] = np.zeros((2, _CELLS), dtype=np.int32)
        self._days: Counter[int] = Counter()
        self._sampled = 0
        self._flags = np.zeros(len(SHAPE_FLAGS), dtype=np.int64)

    def add(self, table: pa.Table) -> None:
        """Count the rows of `table`, which has the columns `SURVEYED`; all of them are there."""
        if not table.num_rows:
            return
        self.rows += table.num_rows
        self.superseded |= table.column("superseded_by").null_count < table.num_rows
        self.authors |= dict.fromkeys(table.column("author").drop_null().unique().to_pylist())
        days = calendar_of(table.column("occurred_at").cast(pa.int64()).to_numpy() / 1e6).day
        self._days.update(
            dict(zip(*(part.tolist() for part in np.unique(days, return_counts=True)), strict=True))
        )
        step = max(table.num_rows // _SAMPLED, 1)
        texts = table.column("text").combine_chunks().take(pa.array(range(0, table.num_rows, step)))
        self._sampled += len(texts)
        self._flags += shapes_of(texts)[1].sum(axis=0)
        self._count_terms(table.column("terms"))

    def _count_terms(self, terms: pa.ChunkedArray) -> None:
        segment, lengths = segment_of(0, terms)
        self._length += int(lengths.sum())
        cells = _cells_of([word.as_py() for word in segment.terms])
        holding = np.diff(segment.starts)
        for table, at in zip(self._cells, cells, strict=True):
            np.add.at(table, at, holding)

    def frequency(self, term: str) -> int:
        """How many rows hold a term, or a few more."""
        first, second = _cells_of([term.encode()])
        return int(min(self._cells[0, first[0]], self._cells[1, second[0]]))

    def whole(self, documents: int) -> Whole:
        """What it says of a namespace of so many memories."""
        days = np.array(sorted(self._days), dtype=np.int64)
        share = self._flags / max(self._sampled, 1)
        return Whole(
            documents=documents,
            mean_length=max(self._length / max(self.rows, 1), 1e-9),
            frequency=self.frequency,
            authored=bool(self.authors),
            roles=bool(self.authors) and {name.lower() for name in self.authors} <= ROLES,
            first_person=float(share[_FIRST_PERSON]),
            asking=float(share[_ASKS]),
            calendar=calendar_of((days - _EPOCH_DAY).astype(np.float64) * 86_400),
            on_day=np.array([self._days[day] for day in days.tolist()], dtype=np.int64),
        )


_EPOCH_DAY = int(calendar_of(np.zeros(1)).day[0])


def live_part(table: pa.Table) -> pa.Table:
    """The rows of `table` that are not deleted."""
    return table.filter(pc.invert(table.column("deleted")))


def _cells_of(words: list[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cell of each word in both tables."""
    digests = b"".join(blake2b(word, digest_size=8).digest() for word in words)
    numbers = np.frombuffer(digests, dtype="<u4").reshape(-1, 2) % _CELLS
    return numbers[:, 0].astype(np.int64), numbers[:, 1].astype(np.int64)
