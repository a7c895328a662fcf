"""Context entries that speak of what a query asks for, as hits beside the memories of each kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from mnemolog.query.contexts import ContextEntry, ContextQueries
from mnemolog.query.models import Factor, Hit, Hits, MemoryItem
from mnemolog.schemas.analysis import analyze
from mnemolog.schemas.namespaces import Namespace

KIND = "context"
"""The kind under which they stand."""

_EVERYWHERE = frozenset(
    analyze(
        "a an and are as at be by can did do does for from had has have how i in is it its me my of on or our"
        " she so that the their them they this to was we were what when where which who why will with"
        " you your"
    )
)
"""Words that are in nearly every text: finding them says nothing, unless the query has no others."""

_LEAST_INSIDE = 3
"""A term of fewer characters counts as a whole word only."""


def context_hits(
    queries: ContextQueries,
    namespace: Namespace,
    whose: tuple[str | None, str | None],
    query: str,
    k: int,
    at: datetime,
    recall_id: str,
) -> Hits:
    """The `k` entries of an agent and a thread whose key or value has most of the query's words.

    A hit's memory has the entry's key as its id, "key: value" as its text, and the value in its metadata.
    """
    asked = frozenset(analyze(query))
    found = queries.mentioning((KIND, *whose), _share_of(asked - _EVERYWHERE or asked), k)
    hits = tuple(_hit(entry, namespace, share) for entry, share in found)
    return Hits(hits, recall_id, query, at, len(hits))


def _share_of(terms: frozenset[str]) -> Callable[[str], float]:
    """The share of `terms` that a text holds, as words or inside them."""

    def share(text: str) -> float:
        words, folded = frozenset(analyze(text)), text.casefold()
        inside = (term for term in terms - words if len(term) >= _LEAST_INSIDE and term in folded)
        return (len(terms & words) + sum(1 for _ in inside)) / max(len(terms), 1)

    return share


def _hit(entry: ContextEntry, namespace: Namespace, share: float) -> Hit:
    relevance = Factor("relevance", share, 1.0, share, {"words": share})
    return Hit(_memory(entry, namespace), share, {"relevance": relevance}, ("keyword",))


def _memory(entry: ContextEntry, namespace: Namespace) -> MemoryItem:
    shown = entry.value if isinstance(entry.value, str) else json.dumps(entry.value, ensure_ascii=False)
    return MemoryItem(
        id=entry.key,
        namespace=namespace,
        text=f"{entry.key}: {shown}",
        kind=KIND,
        importance=None,
        tags=(),
        key=entry.key,
        author=None,
        source=None,
        agent_id=entry.agent_id,
        thread_id=entry.thread_id,
        metadata={"value": entry.value},
        pinned=False,
        occurred_at=entry.updated_at,
        recorded_at=entry.updated_at,
        updated_at=entry.updated_at,
        touched_at=None,
        expires_at=entry.expires_at,
        superseded_by=None,
    )
