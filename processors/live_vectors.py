"""Vectors of the live generation, for a replay: what has been embedded already is not embedded anew."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mnemolog.processors.embedding import GivesVectors, ReusedVectors, RowEmbedder
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import MEMORIES, partition_of
from mnemolog.storage.arrow import from_arrow
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.sql import is_in
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Embedder

_logger = logging.getLogger(__name__)

_ASKED = 5_000
_TELL_THE_VECTOR = ("pk", "deleted", "text", "author", "subject", "timeline", "vector")
"""The columns that tell whether a row's vector is that of another row's text."""


def vectors_for(views: Views, manifest: Manifest, embedder: Embedder | None) -> GivesVectors | None:
    """The embedder; where the live generation has the same one, what it has embedded is taken from there."""
    if embedder is None:
        return None
    fresh = RowEmbedder(embedder)
    if not views.exist or views.current().embedder != manifest.embedder:
        return fresh
    return ReusedVectors(_LiveMemories(views, views.current()), fresh)


class _LiveMemories:
    """The memories of the live generation by their keys, whatever the number of its partitions."""

    def __init__(self, views: Views, live: Manifest) -> None:
        self._views = views
        self._live = live
        self._tables: dict[int, LanceTable] = {}

    def __call__(self, keys: Sequence[str]) -> Iterator[Row]:
        by_partition: dict[int, list[str]] = {}
        for key in keys:
            by_partition.setdefault(partition_of(key.encode(), self._live.partitions), []).append(key)
        for partition, some in by_partition.items():
            try:
                table = self._table(partition)
                for start in range(0, len(some), _ASKED):
                    asked = some[start : start + _ASKED]
                    for part in table.batches(is_in("pk", asked), _TELL_THE_VECTOR, _ASKED, len(asked)):
                        yield from from_arrow(part)
            except ViewError:  # what is damaged is what a replay repairs
                _logger.warning("%d texts of p%02d may be embedded anew", len(some), partition, exc_info=True)

    def _table(self, partition: int) -> LanceTable:
        if partition not in self._tables:
            shard = self._views.shard(self._live.generation, partition)
            self._tables[partition] = LanceTable.open(shard, "memories", MEMORIES, partition)
        return self._tables[partition]
