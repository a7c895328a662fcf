"""The context fold: what each key holds, and what the caches counted. The last word wins.

Its topic is compacted, so a row may follow only from what compaction keeps: the last event of each key. An
entry is its last set, its last renewal if that came after, and the last of each scope that was deleted.
"""

from __future__ import annotations

import json
from typing import Any

from mnemolog.processors.folds.port import Selection, Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas import topics
from mnemolog.schemas.context_events import context_pk, entry_key
from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import And, Compare, Node
from mnemolog.schemas.matching import matches
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import CONTEXT_FIELDS, Row, Rows, blank

_BLANK: Row = blank(CONTEXT_FIELDS)


class ContextFold:
    """One row an entry, one a source of counts."""

    name = "context"
    version = 1
    topic = topics.CONTEXT

    def affects(self, event: Event, rows: Rows) -> Selection:  # noqa: ARG002 the port's signature
        """The entry, or all in the scope."""
        match event:
            case ev.ContextTouched() | ev.ContextDeleted():
                return Selection({"pk": frozenset({_pk(event)})})
            case ev.ContextScopeDeleted():
                return Selection(scope=(encode_namespace(event.namespace), _scope(event)))
        return Selection()

    def evolve(self, rows: Rows, event: Event, stamp: Stamp) -> dict[str, Row]:
        """See `Fold.evolve`."""
        match event:
            case ev.ContextSet():
                row = _entry(event, stamp)
            case ev.CacheCounted():
                row = _counts(event, stamp)
            case ev.ContextTouched():
                return _touched(rows, event, stamp)
            case ev.ContextDeleted():
                return {pk: _tombstone(row, stamp) for pk, row in rows.items() if pk == _pk(event)}
            case ev.ContextScopeDeleted():
                return _scope_deleted(rows, event, stamp)
            case _:
                return {}
        return {row["pk"]: row}


def _pk(event: ev.ContextSet | ev.ContextTouched | ev.ContextDeleted) -> str:
    within = entry_key(event.tier, event.agent_id, event.thread_id, event.key)
    return context_pk(event.namespace, within)


def _base(event: Event, pk: str, stamp: Stamp) -> Row:
    return {
        **_BLANK,
        "pk": pk,
        "namespace": encode_namespace(event.namespace),
        "deleted": False,
        "agent_id": event.agent_id,
        "thread_id": event.thread_id,
        "occurred_at": event.occurred_at,
        "recorded_at": stamp.recorded_at,
        "_off": stamp.offset,
        "_fill": 0,
    }


def _entry(event: ev.ContextSet, stamp: Stamp) -> Row:
    return {
        **_base(event, _pk(event), stamp),
        "tier": event.tier,
        "key": event.key,
        "origin": event.origin,
        "value": _json(event.value),
        "revision": event.event_id,
        "set_expires_at": event.expires_at,
        "expires_at": event.expires_at,
        "ttl_seconds": event.ttl_seconds,
    }


def _counts(event: ev.CacheCounted, stamp: Stamp) -> Row:
    pk = context_pk(event.namespace, event.compaction_key())
    own = {"tier": "counts", "key": event.source, "value": _json(list(event.counts))}
    return {**_base(event, pk, stamp), **own}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _touched(rows: Rows, event: ev.ContextTouched, stamp: Stamp) -> dict[str, Row]:
    row = rows.get(_pk(event))
    if row is None or row["deleted"]:
        return {}
    expires_at = event.expires_at if event.revision == row["revision"] else row["set_expires_at"]
    if expires_at == row["expires_at"]:
        return {}
    return {row["pk"]: {**row, "expires_at": expires_at, "_off": stamp.offset}}


def _scope(event: ev.ContextScopeDeleted) -> Node:
    wanted = {"agent_id": event.agent_id, "thread_id": event.thread_id, "origin": event.origin}
    nodes: list[Node] = [
        Compare(name, "eq", value, "string") for name, value in wanted.items() if value is not None
    ]
    if event.tiers:
        nodes.append(Compare("tier", "in", event.tiers, "string"))
    return And(tuple(nodes))


def _scope_deleted(rows: Rows, event: ev.ContextScopeDeleted, stamp: Stamp) -> dict[str, Row]:
    scope, namespace = _scope(event), encode_namespace(event.namespace)
    return {
        pk: _tombstone(row, stamp)
        for pk, row in rows.items()
        if row["namespace"] == namespace and not row["deleted"] and matches(scope, row)
    }


def _tombstone(row: Row, stamp: Stamp) -> Row:
    kept = {"pk": row["pk"], "namespace": row["namespace"]}
    return {**_BLANK, **kept, "deleted": True, "_off": stamp.offset, "_fill": 0}
