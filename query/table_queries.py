"""The queries that select and do not rank: pages, ids, aggregates and tables of one namespace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from mnemolog.query.aggregates import COUNT, NO_SLOTS, Metrics, aggregate, plan
from mnemolog.query.arrow_tables import check_columns, to_table
from mnemolog.query.models import MemoryItem, Page, to_item
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.reader import ViewReader
from mnemolog.schemas.checks import check_count
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.filters import EVERYTHING, Node
from mnemolog.schemas.namespaces import Namespace, decode_namespace
from mnemolog.schemas.scope import Scope, scope_node

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from mnemolog.schemas.ports import Clock

MAX_LIMIT = 10_000


class TableQueries:
    """Selects memories of one namespace from the views. Threads may share it."""

    def __init__(self, reader: ViewReader, namespace: Namespace, clock: Clock) -> None:
        self._reader = reader
        self._namespace = namespace
        self._clock = clock

    def page(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        include_superseded: bool = False,
        **scope: Unpack[Scope],
    ) -> Page:
        """A page of memories, newest first by `occurred_at`, and how many there are in all."""
        check_count("limit", limit, 0, MAX_LIMIT)
        check_count("offset", offset, 0, 2**62)
        where = scope_node(**scope)
        try:
            with self._reader.namespace(self._namespace) as cache:
                slots = self._selected(cache, where, include_superseded)
                newest = _newest_first(cache, slots)
                rows = [cache.row(int(slot)) for slot in newest[offset : offset + limit]]
                items = [to_item(row, cache.usage(row["pk"])) for row in rows]
                return Page(items, int(slots.size), limit, offset)
        except ViewMissingError:
            return Page([], 0, limit, offset)

    def aggregate(
        self,
        by: str | Sequence[str] | None = None,
        metrics: Metrics = COUNT,
        *,
        include_superseded: bool = False,
        **scope: Unpack[Scope],
    ) -> list[dict[str, Any]]:
        """See `Reading.aggregate`."""
        where, asked = scope_node(**scope), plan(by, metrics)
        try:
            with self._reader.namespace(self._namespace) as cache:
                return aggregate(cache, self._selected(cache, where, include_superseded), asked)
        except ViewMissingError:
            return aggregate(None, NO_SLOTS, asked)

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        vectors: bool = False,
        include_superseded: bool = False,
        **scope: Unpack[Scope],
    ) -> pa.Table:
        """See `Reading.to_arrow`."""
        where, names = scope_node(**scope), check_columns(columns, vectors=vectors)
        try:
            dim = self._reader.manifest().dim
            with self._reader.namespace(self._namespace) as cache:
                slots = self._selected(cache, where, include_superseded)
                return to_table(cache, _newest_first(cache, slots), names, dim)
        except ViewMissingError:
            return to_table(None, NO_SLOTS, names, None)

    def ids(self, where: Node, *, expired: bool = False) -> list[str]:
        """The ids of all memories that a filter selects, oldest first, superseded ones too.

        `expired` gives those that have expired as well.
        """
        now = -math.inf if expired else self._clock().timestamp()
        try:
            with self._reader.namespace(self._namespace) as cache:
                mask = cache.matching(where, cache.visible(now, superseded=True))
                slots = _newest_first(cache, np.flatnonzero(mask))[::-1]
                return list(cache.column("id", slots).to_pylist()) if slots.size else []
        except ViewMissingError:
            return []

    def oldest(self, where: Node) -> list[MemoryItem]:
        """The active memories that a filter selects, oldest first."""
        try:
            with self._reader.namespace(self._namespace) as cache:
                slots = _newest_first(cache, self._selected(cache, where, superseded=False))[::-1]
                rows = [cache.row(int(slot)) for slot in slots]
                return [to_item(row, cache.usage(row["pk"])) for row in rows]
        except ViewMissingError:
            return []

    def namespaces(self) -> list[Namespace]:
        """The namespaces that begin with this one and hold memories, sorted."""
        try:
            held = self._reader.held.at(self._clock(), *self._reader.shard_tables("memories"))
        except ViewMissingError:
            return []
        own = self._namespace
        return sorted(name for text in held if (name := decode_namespace(text))[: len(own)] == own)

    def every(self) -> dict[str, MemoryItem]:
        """All memories by id, superseded ones too."""
        try:
            with self._reader.namespace(self._namespace) as cache:
                rows = [cache.row(int(slot)) for slot in self._selected(cache, EVERYTHING, True)]
                return {row["id"]: to_item(row, cache.usage(row["pk"])) for row in rows}
        except ViewMissingError:
            return {}

    def _selected(self, cache: NamespaceCache, where: Node, superseded: bool) -> NDArray[np.int64]:
        return selected(cache, where, self._clock(), superseded=superseded)


def selected(cache: NamespaceCache, where: Node, now: datetime, *, superseded: bool) -> NDArray[np.int64]:
    """The slots of the memories that may be shown at `now` and that the filter selects."""
    mask = cache.visible(now.timestamp(), superseded=superseded)
    return np.flatnonzero(cache.matching(where, mask))


def _newest_first(cache: NamespaceCache, slots: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered: NDArray[np.int64] = slots[np.lexsort((-slots, -cache.occurred[slots]))]
    return ordered
