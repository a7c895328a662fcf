"""Reading feedback from the usefulness views, and fitting the model to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

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
    shown = _shown(table, ours, kept)
    return [(latest[recall], _choice(recall, shown[recall])) for recall in kept]


def _shown(table: LanceTable, ours: str, recalls: Sequence[_Recall]) -> dict[_Recall, list[dict[str, Any]]]:
    found: dict[_Recall, list[dict[str, Any]]] = defaultdict(list)
    ids = sorted({recall_id for _, recall_id in recalls})
    for start in range(0, len(ids), _CHUNK):
        rows = table.where(f"{ours} AND {is_in('recall_id', ids[start : start + _CHUNK])}", _COLUMNS)
        for row in rows.to_pylist():
            found[row["namespace"], row["recall_id"]].append(row)
    return found


def _choice(recall: _Recall, rows: list[dict[str, Any]]) -> Choice:
    rows.sort(key=lambda row: row["place"])
    features = np.array([row["features"] for row in rows], dtype=np.float64)
    ratings = np.array([(row["rating"] or 0) / 1_000 for row in rows])
    return Choice(features, ratings, recall[0])
