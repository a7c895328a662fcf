"""Searching the items of one namespace of a LangGraph store, and putting those of several together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from mnemolog.adapters.langgraph_filters import ITEMS, in_our_language, matches
from mnemolog.adapters.langgraph_items import MARK, Stored, item_of
from mnemolog.memory import Memory
from mnemolog.query.asking import MAX_K
from mnemolog.query.models import Hit, MemoryItem
from mnemolog.schemas.namespaces import Namespace

_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """An item that a search found. `cosine` is its nearness to the query, where there is one."""

    namespace: Namespace
    item: Stored
    expires_at: datetime | None
    score: float | None = None
    cosine: float | None = None
    recall_id: str | None = None
    why: str = ""


class NamespaceItems:
    """The items in the namespace of a handle."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def search(self, query: str | None, conditions: Mapping[str, Any], wanted: int) -> list[Found]:
        """Up to `wanted` items that satisfy the conditions: by a query best first, then the newest."""
        filters = in_our_language(conditions)
        if filters is None:
            fitting = [one.id for one in self._newest(ITEMS, _PAGE) if _satisfies(one, conditions)]
            filters = {**ITEMS, "id": {"in": fitting}}
        if wanted == 0:
            return []
        best = self._recalled(query, filters, wanted) if query and query.strip() else []
        seen = {one.item.key for one in best}
        others = self._newest(filters, min(wanted, _PAGE)) if len(best) < wanted else iter(())
        left = (one for one in map(_found, others) if one is not None and one.item.key not in seen)
        return [*best, *islice(left, wanted - len(best))]

    def _recalled(self, query: str, filters: Mapping[str, Any], wanted: int) -> list[Found]:
        indexed = {**filters, f"metadata.{MARK}.indexed": True}
        hits = self._memory.recall(query, k=min(wanted, MAX_K), filters=indexed)
        found = ((hit, _found(hit.memory)) for hit in hits)
        return [_scored(one, hit, hits.recall_id) for hit, one in found if one is not None]

    def _newest(self, filters: Mapping[str, Any], size: int) -> Iterator[MemoryItem]:
        """The memories that the filters select, newest first; pages of this size are read as needed."""
        offset = 0
        while True:
            page = self._memory.list(limit=size, offset=offset, filters=filters)
            yield from page.items
            offset += size
            if offset >= page.total:
                return


def merged(places: Sequence[Sequence[Found]]) -> list[Found]:
    """The items of several namespaces as one list: those with a score best first, then the newest.

    Scores are relative to the best of their namespace. So each namespace's are scaled by how near its nearest
    item is to the query, as a share of the nearest of all.
    """
    held = [place for place in places if place]
    if len(held) > 1:
        nearest = [max((one.cosine or 0.0 for one in place), default=0.0) for place in held]
        most = max(nearest)
        if most > 0:
            shares = [max(near, 0.0) / most for near in nearest]
            held = [_scaled(place, share) for place, share in zip(held, shares, strict=True)]
    every = [one for place in held for one in place]
    every.sort(key=lambda one: one.item.created_at, reverse=True)
    return sorted(every, key=lambda one: -1.0 if one.score is None else one.score, reverse=True)


def _scaled(place: Sequence[Found], share: float) -> list[Found]:
    return [one if one.score is None else replace(one, score=one.score * share) for one in place]


def _found(memory: MemoryItem) -> Found | None:
    item = item_of(memory)
    return None if item is None else Found(memory.namespace, item, memory.expires_at)


def _scored(found: Found, hit: Hit, recall_id: str) -> Found:
    relevance = hit.factors.get("relevance")
    cosine = None if relevance is None else relevance.parts.get("cosine")
    return replace(found, score=hit.score, cosine=cosine, recall_id=recall_id, why=hit.explain())


def _satisfies(memory: MemoryItem, conditions: Mapping[str, Any]) -> bool:
    item = item_of(memory)
    return item is not None and matches(item.value, conditions)
