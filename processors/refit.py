"""Reading feedback from the usefulness views, and fitting the model to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mnemolog.processors.learning import Choice, Fitted, fit
from mnemolog.storage.sql import is_in, literal

if TYPE_CHECKING:
    from mnemolog.storage.table import LanceTable

MAX_RECALLS = 5_000
"""The newest recalls with feedback that a model is fitted to."""

_COLUMNS = ["namespace", "recall_id", "place", "features", "rating", "_off"]
_CHUNK = 1_000

_Recall = tuple[str, str]


def refit(tables: Iterable[LanceTable], feature_set: str) -> Fitted | None:
    """The model of all feedback in `tables`, the usefulness views of all shards; None where nothing tells.

    Of a recall with feedback, what was not spoken of counts as not used.

    Raises:
        ViewError: a view could not be read.
    """
    choices: list[tuple[int, Choice]] = []
    for table in tables:
        choices += _choices(table, feature_set)
    newest = sorted(choices, key=lambda pair: (-pair[0], pair[1].group))[:MAX_RECALLS]
    return fit([choice for _, choice in newest])


def count_feedback(tables: Iterable[LanceTable]) -> int:
    """How many memories that were shown have a rating."""
    return sum(table.where("rating IS NOT NULL", ["rating"]).num_rows for table in tables)


def _choices(table: LanceTable, feature_set: str) -> list[tuple[int, Choice]]:
    ours = f"recall_id IS NOT NULL AND NOT deleted AND feature_set = {literal(feature_set)}"
    rated = table.where(f"{ours} AND rating IS NOT NULL", ["namespace", "recall_id", "_off"]).to_pylist()
    latest: dict[_Recall, int] = {}
    for row in rated:
        recall = (row["namespace"], row["recall_id"])
        latest[recall] = max(latest.get(recall, -1), row["_off"])
    kept = sorted(latest, key=lambda recall: -latest[recall])[:MAX_RECALLS]
    return [(latest[recall], choice) for recall, choice in _shown(table, ours, frozenset(kept))]


def _shown(table: LanceTable, ours: str, recalls: frozenset[_Recall]) -> Iterator[tuple[_Recall, Choice]]:
    ids = sorted({recall_id for _, recall_id in recalls})
    for start in range(0, len(ids), _CHUNK):
        rows = table.where(f"{ours} AND {is_in('recall_id', ids[start : start + _CHUNK])}", _COLUMNS)
        for recall, choice in _by_recall(rows):
            if recall in recalls:
                yield recall, choice


def _by_recall(rows: pa.Table) -> Iterator[tuple[_Recall, Choice]]:
    """The choice of each recall, best first, from rows of one feature set."""
    if not rows.num_rows:
        return
    order = [(name, "ascending") for name in ("namespace", "recall_id", "place")]
    rows = rows.sort_by(order).combine_chunks()
    recalls = list(zip(rows["namespace"].to_pylist(), rows["recall_id"].to_pylist(), strict=True))
    features = pc.list_flatten(rows["features"]).to_numpy().astype(np.float64).reshape(len(recalls), -1)
    ratings = rows["rating"].fill_null(0).to_numpy() / 1_000
    starts = [at for at, recall in enumerate(recalls) if not at or recall != recalls[at - 1]]
    for start, end in pairwise([*starts, len(recalls)]):
        yield recalls[start], Choice(features[start:end], ratings[start:end], recalls[start][0])
