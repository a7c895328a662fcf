"""What the tools of the MCP server answer: small JSON objects, without what is empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from mnemolog.query.facts import FactItem
from mnemolog.query.models import Change, Hit, MemoryItem
from mnemolog.schemas.namespaces import encode_namespace

Answer = dict[str, Any]

_SHORT = ("id", "text", "kind", "importance", "tags", "key", "author", "source", "occurred_at", "expires_at")
_HIDDEN = {"namespace", "detail"}


def short(memory: MemoryItem) -> Answer:
    """A memory in a list."""
    told = {name: getattr(memory, name) for name in _SHORT}
    return compact({**told, "uses": memory.use_count, "superseded_by": memory.superseded_by})


def whole(memory: MemoryItem) -> Answer:
    """All there is of a memory."""
    told = {one.name: getattr(memory, one.name) for one in fields(memory) if one.name not in _HIDDEN}
    detail = None if memory.detail is None else memory.detail.model_dump(mode="json", exclude_none=True)
    return compact({**told, "namespace": encode_namespace(memory.namespace), "detail": detail})


def found(hit: Hit) -> Answer:
    """A memory that was recalled: how good it is, and why."""
    return {**short(hit.memory), "score": hit.score, "why": hit.explain()}


def change(one: Change) -> Answer:
    """An entry of a history."""
    return compact(
        {
            "type": one.type,
            "at": one.occurred_at,
            "by": one.agent_id,
            "reason": one.reason,
            "event": one.event_id,
        }
    )


def fact(one: FactItem) -> Answer:
    """A statement, with its period."""
    named = ("id", "subject", "statement", "valid_from", "valid_to", "confidence", "sources", "superseded_by")
    return compact({**{name: getattr(one, name) for name in named}, "current": one.current})


def compact(values: Mapping[str, Any]) -> Answer:
    """`values` as JSON, without those that are None or empty."""
    return {
        name: _plain(value)
        for name, value in values.items()
        if value is not None and value not in ((), {}, [])
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return list(value)
    return value
