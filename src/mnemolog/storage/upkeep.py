"""Upkeep of a table by its writer: few fragments, few versions, and indexes once it is large.

Every commit adds a fragment and a version, and each fragment costs every read a fraction of a millisecond.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

COMMITS_BETWEEN = 24
KEEP_VERSIONS = timedelta(minutes=10)
_FRAGMENT_ROWS = 20_000
_SCALAR_INDEX_ROWS = 20_000
_logger = logging.getLogger(__name__)


class Upkeep:
    """Counts commits and tidies the table when it is due. A failure is logged and tried again later."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._commits = 0

    def committed(self) -> None:
        """Say that there was a commit; every 24th tidies up."""
        self._commits += 1
        if self._commits >= COMMITS_BETWEEN:
            self.run()

    def run(self) -> None:
        """Merge small fragments, bring the indexes up to date, drop old versions."""
        self._commits = 0
        for step in (_compact, _index, _clean):
            _attempt(step, self._table)


def _attempt(step: Callable[[Any], None], table: Any) -> None:
    try:
        step(table)
    except (OSError, RuntimeError, ValueError):
        name = step.__name__
        _logger.warning("upkeep of %s failed at %s; next time again", table.name, name, exc_info=True)


def _compact(table: Any) -> None:
    table.to_lance().optimize.compact_files(target_rows_per_fragment=_FRAGMENT_ROWS)
    table.checkout_latest()


def _clean(table: Any) -> None:
    table.to_lance().cleanup_old_versions(older_than=KEEP_VERSIONS, error_if_tagged_old_versions=False)
    table.checkout_latest()


def _index(table: Any) -> None:
    """Make the indexes that this many rows need, or bring those there are up to date."""
    existing = {column for index in table.list_indices() for column in index.columns}
    if table.count_rows() >= _SCALAR_INDEX_ROWS:
        for column, kind in (("namespace", "BITMAP"), ("pk", "BTREE")):
            if column not in existing:
                table.create_scalar_index(column, index_type=kind, replace=False)
    if existing:
        table.to_lance().optimize.optimize_indices(num_indices_to_merge=10)
        table.checkout_latest()
