"""The keyword arguments of the write calls, as types that facades and type checkers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict

from mnemolog.schemas.details import Outcome, Structured


class GeneralFields(TypedDict, total=False):
    """What a memory of any kind takes; see `Commands.remember`."""

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
    valid_from: datetime | None
    valid_to: datetime | None
    sources: Iterable[str]
    id: str | None
    event_id: str | None


class RememberFields(GeneralFields, total=False):
    """What `remember` takes beside the text; see `Commands.remember`."""

    kind: str
    detail: Structured | Mapping[str, Any] | None


class EpisodeFields(GeneralFields, total=False):
    """What `remember_episode` takes beside the content."""

    context: Mapping[str, Any] | None
    outcome: Outcome | str


class FactFields(GeneralFields, total=False):
    """What `know_fact` takes beside the triple."""

    content: str | None
    confidence: float


class ProcedureFields(GeneralFields, total=False):
    """What `learn_procedure` takes beside name and steps."""

    description: str | None
    trigger_conditions: Iterable[str]


class ReflectionFields(GeneralFields, total=False):
    """What `reflect` takes beside thought and lesson."""

    improvement: str | None
    source_episode_id: str | None
    confidence: float


class RewardFields(GeneralFields, total=False):
    """What `record_reward` takes beside state, action and reward."""

    outcome: str | None
    policy: str
    next_state: str | None
    context: Mapping[str, Any] | None


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
    detail: Structured | Mapping[str, Any] | None
    valid_from: datetime | None
    valid_to: datetime | None
    reason: str | None
    event_id: str | None


REMEMBER_FIELDS = frozenset(RememberFields.__annotations__)
