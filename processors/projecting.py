"""Keeps projections up with the tables that they follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemolog.processors.folds.port import Projection
from mnemolog.schemas.rows import Row

if TYPE_CHECKING:
    from mnemolog.schemas.ports import ViewTable


def follow(
    projection: Projection, table: ViewTable, base: ViewTable, changed: Sequence[Row], start: int, end: int
) -> None:
    """Bring the table of a projection up to offset `end`, to which `base` has applied all.

    `changed` are the rows that `base` changed from `start` on. What the table missed before, or what another
    writer did meanwhile, is read from `base`: a crash between two commits leaves nothing behind.
    """
    applied = table.applied()
    if applied >= end:
        return
    rows = changed if applied == start else base.since(applied)
    projected = (projection.row(row) for row in rows)
    table.commit([row for row in projected if row is not None], end - 1)
