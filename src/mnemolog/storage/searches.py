"""Searches in one version of a table, where rows are too many to be in memory.

With indexes on `vector` and `terms` LanceDB looks into these, and through the rows that they do not have yet.
Without, the caller streams the rows and looks at each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mnemolog.storage.reads import reading
from mnemolog.storage.table import LanceTable

EXACT_ROWS = 20_000
"""Among so few rows a vector is compared with each: an index loses some where a condition leaves little."""

ROW = "_rowid"
"""The column with the number of a row in one version."""

_PROBES = 24
"""So many of the cells of a vector index are looked into at least, and more until enough is found."""

_BATCH_ROWS = 8_192


class Snapshot:
    """One version of `table`. It stays as long as upkeep keeps it; then a read raises ViewError.

    Conditions are SQL, built with `storage.sql`.
    """

    def __init__(self, table: LanceTable) -> None:
        with reading():
            self._table = table.opened()
            self._table.checkout(self._table.version)
            self._indexed = {column for index in self._table.list_indices() for column in index.columns}

    @property
    def finds_terms(self) -> bool:
        """Whether there is an index of terms, so that `by_terms` can be asked."""
        return "terms" in self._indexed

    @property
    def finds_vectors(self) -> bool:
        """Whether there is an index of vectors."""
        return "vector" in self._indexed

    def count(self, condition: str) -> int:
        """How many rows the condition holds for."""
        with reading():
            return int(self._table.count_rows(condition))

    def by_terms(
        self, terms: Collection[str], condition: str, limit: int, columns: Sequence[str]
    ) -> pa.Table:
        """Up to `limit` rows that hold any of the terms, those with the highest BM25 in the table first."""
        from lancedb.query import MatchQuery

        query = self._table.search(MatchQuery(" ".join(terms), "terms"), query_type="fts")
        return _all(_asked(query, condition, columns, "_score").limit(limit), columns)

    def by_vector(
        self, vector: NDArray[np.float32], condition: str, limit: int, columns: Sequence[str], *, exact: bool
    ) -> pa.Table:
        """Up to `limit` rows, the nearest to `vector` first; `exact` leaves an index aside."""
        query = self._table.search(vector, vector_column_name="vector").distance_type("cosine")
        if exact:
            query = query.bypass_vector_index()
        elif self.finds_vectors:
            query = query.maximum_nprobes(0).minimum_nprobes(_PROBES)
        return _all(_asked(query, condition, columns, "_distance").limit(limit), columns)

    def some(self, condition: str, columns: Sequence[str], limit: int) -> pa.Table:
        """Any `limit` of the rows for which the condition holds."""
        return _all(_asked(self._table.search(), condition, columns).limit(limit), columns)

    def stream(self, condition: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows for which the condition holds, some thousand at a time."""
        with reading():
            for batch in _asked(self._table.search(), condition, columns).to_batches(_BATCH_ROWS):
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])

    def rows(self, numbers: NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
        """The rows with these numbers, in their order."""
        with reading():
            query = self._table.take_row_ids(numbers.tolist()).select(list(columns)).with_row_id()
            found: pa.Table = query.to_arrow()
        order = np.argsort(numbers, kind="stable")
        there = found.column(ROW).to_numpy().astype(np.int64)
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.argsort(there, kind="stable")
        return found.take(pa.array(places)).select(list(columns))


def _asked(query: Any, condition: str, columns: Sequence[str], *scores: str) -> Any:
    own = [name for name in columns if name != ROW]
    return query.where(condition).select([*own, *scores]).with_row_id(ROW in columns)


def _all(query: Any, columns: Sequence[str]) -> pa.Table:
    with reading():
        found: pa.Table = query.to_arrow()
        return found.select(list(columns))
