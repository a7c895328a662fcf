"""The keyword arguments of the write calls, as types that facades and type checkers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict


class RememberFields(TypedDict, total=False):
    """What `remember` takes beside the text; see `Commands.remember`."""

    kind: str
    importance: float | None
    tags: Iterable[str]
    key: str | None
    dedupe: bool
    ttl_seconds: float | None
    expires_at: datetime | None
    agent_id: str | None
    thread_id: str | None
    author: str | None
    source: str | None
    metadata: Mapping[str, Any] | None
    pinned: bool
    occurred_at: datetime | None
    id: str | None
    event_id: str | None


class UpdateFields(TypedDict, total=False):
    """What `update` may change; see `Commands.update`. None clears a field that may be empty."""

    text: str
    kind: str
    importance: float | None
    tags: Iterable[str]
    author: str | None
    source: str | None
    metadata: Mapping[str, Any]
    pinned: bool
    ttl_seconds: float | None
    expires_at: datetime | None
    reason: str | None
    event_id: str | None


REMEMBER_FIELDS = frozenset(RememberFields.__annotations__)
