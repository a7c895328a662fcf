"""From a call's arguments to the event it means. Nothing is appended here, and nothing is looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final

from mnemolog.producers.building import Ids, as_detail, as_dict, as_tuple, build_event
from mnemolog.producers.clock import utc_now
from mnemolog.producers.expiry import expiry_after
from mnemolog.producers.feedback import FeedbackCommands
from mnemolog.producers.ids import derived_id, new_id
from mnemolog.producers.structured import StructuredCommands
from mnemolog.schemas import events as ev
from mnemolog.schemas.checks import check_bool, check_string
from mnemolog.schemas.details import Structured, render
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.namespaces import Namespace, encode_namespace, make_namespace
from mnemolog.schemas.ports import Clock, NewId


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""Stands for an argument that was not given, where None means "clear it"."""


@dataclass(frozen=True, slots=True)
class Commands(StructuredCommands, FeedbackCommands):
    """Makes the events of one namespace. Pure but for the injected clock and ids; threads may share it.

    `agent_id` and `thread_id` are the defaults for calls that name none.

    Every method raises InvalidInputError, whose `field` names the argument, for a value that can't be stored.
    """

    namespace: Namespace
    agent_id: str | None = None
    thread_id: str | None = None
    clock: Clock = utc_now
    new_id: NewId = new_id

    def __post_init__(self) -> None:
        object.__setattr__(self, "namespace", make_namespace(self.namespace))
        for name, value in (("agent_id", self.agent_id), ("thread_id", self.thread_id)):
            if value is not None:
                check_string(name, value)

    def at(self, namespace: Namespace, agent_id: str | None = None, thread_id: str | None = None) -> Commands:
        """The same for another namespace; `agent_id` and `thread_id` stay unless given."""
        agent_id = self.agent_id if agent_id is None else agent_id
        thread_id = self.thread_id if thread_id is None else thread_id
        return replace(self, namespace=namespace, agent_id=agent_id, thread_id=thread_id)

    def remember(
        self,
        text: str,
        *,
        kind: str = "note",
        importance: float | None = None,
        tags: Iterable[str] = (),
        key: str | None = None,
        dedupe: bool = False,
        ttl_seconds: float | None = None,
        expires_at: datetime | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        author: str | None = None,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        pinned: bool = False,
        occurred_at: datetime | None = None,
        detail: Structured | Mapping[str, Any] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        sources: Iterable[str] = (),
        id: str | None = None,  # noqa: A002 the public name of the field
        event_id: str | None = None,
    ) -> ev.MemoryRemembered:
        """A memory under `id`; else under an id of its content if `key` or `dedupe` is given; else a new one.

        `key` names a slot that holds one memory at a time. With `key` or `dedupe`, the same text again
        refreshes the memory it made before. `ttl_seconds` counts from now. A naive `occurred_at` is UTC.
        It holds in the world from `valid_from` to before `valid_to`; `sources` are memories that it rests on.
        """
        more = {"detail": detail, "valid_from": valid_from, "valid_to": valid_to}
        given: dict[str, Any] = {name: value for name, value in more.items() if value is not None}
        if listed := as_tuple("sources", sources):
            given["sources"] = listed
        return build_event(
            ev.MemoryRemembered,
            **self._envelope(event_id, occurred_at, agent_id, thread_id),
            memory_id=self._memory_id(id, text, key, check_bool("dedupe", dedupe)),
            text=text,
            kind=kind,
            importance=importance,
            tags=as_tuple("tags", tags),
            key=key,
            author=author,
            source=source,
            metadata={} if metadata is None else as_dict("metadata", metadata),
            pinned=pinned,
            expires_at=self._expiry(ttl_seconds, expires_at),
            touch=dedupe or key is not None,
            **given,
        )

    def update(
        self,
        id: str,  # noqa: A002 the public name of the field
        *,
        text: str | Unset = UNSET,
        kind: str | Unset = UNSET,
        importance: float | Unset | None = UNSET,
        tags: Iterable[str] | Unset = UNSET,
        author: str | Unset | None = UNSET,
        source: str | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset = UNSET,
        pinned: bool | Unset = UNSET,
        ttl_seconds: float | Unset | None = UNSET,
        expires_at: datetime | Unset | None = UNSET,
        detail: Structured | Mapping[str, Any] | Unset | None = UNSET,
        valid_from: datetime | Unset | None = UNSET,
        valid_to: datetime | Unset | None = UNSET,
        reason: str | None = None,
        event_id: str | None = None,
    ) -> ev.MemoryUpdated:
        """A change of the fields that are given; all others stay. None clears a field that may be empty.

        A new `detail` comes with its text, unless another `text` is given.
        """
        if detail is not UNSET and detail is not None:
            detail = as_detail("detail", detail)
            text = render(detail) or UNSET if text is UNSET else text
        changes = {
            "text": text,
            "kind": kind,
            "importance": importance,
            "tags": tags if tags is UNSET else as_tuple("tags", tags),
            "author": author,
            "source": source,
            "metadata": metadata if metadata is UNSET else as_dict("metadata", metadata),
            "pinned": pinned,
            "expires_at": self._new_expiry(ttl_seconds, expires_at),
            "detail": detail,
            "valid_from": valid_from,
            "valid_to": valid_to,
        }
        given = {name: value for name, value in changes.items() if value is not UNSET}
        if not given:
            raise InvalidInputError(f"an update needs at least one of {', '.join(changes)} or ttl_seconds")
        envelope = self._envelope(event_id)
        return build_event(ev.MemoryUpdated, **envelope, memory_id=id, changes=given, reason=reason)

    def supersede(
        self,
        id: str,  # noqa: A002 the public name of the field
        by: str,
        *,
        reason: str | None = None,
        event_id: str | None = None,
    ) -> ev.MemorySuperseded:
        """The memory `id` is replaced by the memory `by`; it stays as history."""
        if id == by:
            raise InvalidInputError(f"a memory can't supersede itself: {id!r}", field="by")
        envelope = self._envelope(event_id)
        return build_event(ev.MemorySuperseded, **envelope, memory_id=id, by=by, reason=reason)

    def forget(
        self, ids: Ids, *, reason: str | None = None, event_id: str | None = None
    ) -> ev.MemoryForgotten:
        """The memories `ids` (one id, or up to 1,000) are forgotten. An unknown id is harmless."""
        memory_ids = (ids,) if isinstance(ids, str) else as_tuple("ids", ids)
        return build_event(
            ev.MemoryForgotten, **self._envelope(event_id), memory_ids=memory_ids, reason=reason
        )

    def forget_scope(
        self,
        filter: Mapping[str, Any],  # noqa: A002 the public name of the field
        *,
        reason: str | None = None,
        event_id: str | None = None,
    ) -> ev.ScopeForgotten:
        """What `filter` selects in the namespace as of this event is forgotten; `{}` means all of it."""
        envelope = self._envelope(event_id)
        return build_event(ev.ScopeForgotten, **envelope, filter=as_dict("filter", filter), reason=reason)

    def configure(self, setting: str, value: Any, namespace: Namespace) -> ev.ConfigChanged:
        """A setting of `namespace`, or for all (see `schemas.config_events`), is now `value`."""
        envelope = self._envelope(None) | {"namespace": namespace}
        return build_event(ev.ConfigChanged, **envelope, setting=setting, value=value)

    def _envelope(
        self,
        event_id: str | None,
        occurred_at: datetime | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
    ) -> dict[str, Any]:
        return {
            "event_id": self.new_id() if event_id is None else event_id,
            "namespace": self.namespace,
            "occurred_at": self.clock() if occurred_at is None else occurred_at,
            "agent_id": self.agent_id if agent_id is None else agent_id,
            "thread_id": self.thread_id if thread_id is None else thread_id,
        }

    def _memory_id(self, given: str | None, text: str, key: str | None, dedupe: bool) -> str:
        if given is not None:
            return given
        if not isinstance(text, str):
            return self.new_id()  # the event's validation names the culprit
        if isinstance(key, str):
            return derived_id("keyed memory", encode_namespace(self.namespace), key, text)
        if dedupe:
            return derived_id("memory", encode_namespace(self.namespace), text)
        return self.new_id()

    def _expiry(self, ttl_seconds: float | None, expires_at: datetime | None) -> datetime | None:
        if ttl_seconds is None:
            return expires_at
        if expires_at is not None:
            raise InvalidInputError("give ttl_seconds or expires_at, not both", field="expires_at")
        return self._after(ttl_seconds)

    def _new_expiry(
        self, ttl_seconds: float | Unset | None, expires_at: datetime | Unset | None
    ) -> datetime | Unset | None:
        if ttl_seconds is UNSET:
            return expires_at
        if expires_at is not UNSET:
            raise InvalidInputError("give ttl_seconds or expires_at, not both", field="expires_at")
        return None if ttl_seconds is None else self._after(ttl_seconds)

    def _after(self, ttl_seconds: float) -> datetime:
        return expiry_after(self.clock(), ttl_seconds)
