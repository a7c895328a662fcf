"""The indexes of vectors and terms, made by the writer where a namespace is so large that recalls need them.

An index of terms takes some 80 bytes a memory, one of 384 numbers some 400, and both are written anew as rows
that they have are; so small tables have none.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

SEARCH_ROWS = 100_000
"""From so many memories in one namespace on there are indexes. Below, looking at each costs a recall less
than the upkeep of indexes costs the writer."""

TAIL_ROWS = 10_000
"""So many rows may be missing in an index, or an eighth of those in it: reads look through each of them."""

MOST_SEGMENTS = 8
"""Of more segments an index is made anew as one."""

_TAIL_PART = 8
_NAMES = {"terms": "terms_idx", "vector": "vector_idx"}

SEARCH_INDEXES = frozenset(_NAMES.values())
"""The names of the indexes."""


class NamespaceSizes:
    """Whether any namespace of one table is large. All rows are looked at only where one may have become so:
    after a look so many more must have come as the largest lacked."""

    def __init__(self) -> None:
        self._look_from = SEARCH_ROWS

    def any_large(self, table: Any) -> bool:
        """Whether a namespace has `SEARCH_ROWS` memories."""
        count = table.count_rows()
        if count < self._look_from:
            return False
        rows: Counter[str] = Counter()
        for batch in table.search().where("NOT deleted").select(["namespace"]).to_batches():
            for one in batch.column("namespace").value_counts().to_pylist():
                rows[one["values"]] += one["counts"]
        lacking = SEARCH_ROWS - max(rows.values(), default=0)
        self._look_from = count + max(lacking, 0)
        return lacking <= 0


def keep_search_indexes(table: Any, sizes: NamespaceSizes) -> None:
    """Make the indexes that a table needs, or bring those there are up to date. `sizes` are the table's, kept
    from one call to the next.

    What is taken out of a fragment leaves them as that is written anew: Lance then writes their parts without
    it, words that no row has any more included.
    """
    if "terms" not in table.schema.names:
        return
    there = [index for index in table.list_indices() if index.name in SEARCH_INDEXES]
    stats = {index.columns[0]: table.index_stats(index.name) for index in there}
    wanted = [name for name in ("terms", "vector") if name in table.schema.names]
    if not stats and not sizes.any_large(table):
        return
    for name in wanted:
        known = stats.get(name)
        if known is None:
            if name == "terms" or table.count_rows("vector IS NOT NULL") >= SEARCH_ROWS:
                _make(table, name)
        elif known.num_indices > MOST_SEGMENTS:
            _make(table, name)
        elif known.num_unindexed_rows > max(TAIL_ROWS, known.num_indexed_rows // _TAIL_PART):
            table.to_lance().optimize.optimize_indices(num_indices_to_merge=0, index_names=[_NAMES[name]])
            table.checkout_latest()


def has_search_indexes(table: Any) -> bool:
    """Whether a table has any of these indexes."""
    return any(index.name in SEARCH_INDEXES for index in table.list_indices())


def _make(table: Any, name: str) -> None:
    """Make an index, in place of the one there is. Terms are analyzed already: words joined by spaces. Of
    vectors so few are looked at to find the cells that it takes three seconds for 100,000 and not ten; with
    made-up ones, which have no cells, 24 of these still held 95 of the 100 nearest."""
    from lancedb.index import FTS, IvfSq

    config = (
        IvfSq(distance_type="cosine", max_iterations=20, sample_rate=32)
        if name == "vector"
        else FTS(
            base_tokenizer="whitespace",
            lower_case=False,
            stem=False,
            remove_stop_words=False,
            ascii_folding=False,
            max_token_length=None,
            with_position=False,
        )
    )
    table.create_index(name, config=config, replace=True, name=_NAMES[name])
    table.checkout_latest()
