"""From a call's arguments to the context event it means. Nothing is appended or looked up here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemolog.producers.commands import UNSET, Commands, Unset
from mnemolog.producers.expiry import expiry_after
from mnemolog.schemas import events as ev
from mnemolog.schemas.context_events import CacheCount, Tier, check_value
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.fields import check_identifier

Whose = str | Unset | None
"""An agent or a thread; None is no one's in particular, UNSET the handle's."""


@dataclass(frozen=True, slots=True)
class Address:
    """An entry: its tier, whose it is, and its key. Every part is checked when it is made."""

    tier: Tier
    agent_id: str | None
    thread_id: str | None
    key: str

    def __post_init__(self) -> None:
        check_name("key", self.key)
        for name, value in (("agent_id", self.agent_id), ("thread_id", self.thread_id)):
            if value is not None:
                check_name(name, value)

    @property
    def place(self) -> tuple[str, str | None, str | None]:
        """The address without the key."""
        return self.tier, self.agent_id, self.thread_id


def check_name(field: str, value: object) -> str:
    """`value`, if it can be a key, an agent, a thread, a model or a tool: 1 to 256 characters, not blank."""
    if not isinstance(value, str) or not 1 <= len(value) <= 256:
        raise InvalidInputError(f"{field} is a string of 1 to 256 characters, not {value!r:.80}", field=field)
    try:
        return check_identifier(value)
    except ValueError as error:
        raise InvalidInputError(f"{field}: {error}: {value!r:.80}", field=field) from error


def check_json(field: str, value: object) -> None:
    """Refuse what an entry can't hold."""
    try:
        check_value(value)
    except ValueError as error:
        raise InvalidInputError(f"{field}: {error}", field=field) from error


class ContextCommands:
    """Makes the context events of one namespace; see `Commands`. Raises InvalidInputError for bad values."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def address(self, tier: Tier, key: str, agent_id: Whose = UNSET, thread_id: Whose = UNSET) -> Address:
        """The entry of `key` in a tier; an agent or thread that was not given is the handle's."""
        return Address(tier, *self.whose(agent_id, thread_id), key)

    def whose(self, agent_id: Whose, thread_id: Whose) -> tuple[str | None, str | None]:
        """The agent and the thread that are meant."""
        agent = self._commands.agent_id if isinstance(agent_id, Unset) else agent_id
        thread = self._commands.thread_id if isinstance(thread_id, Unset) else thread_id
        return agent, thread

    def expiry(self, ttl_seconds: float | None) -> datetime | None:
        """When something ends that lives so long from now; None never does."""
        return None if ttl_seconds is None else expiry_after(self._commands.clock(), ttl_seconds)

    def set(
        self, address: Address, value: Any, ttl_seconds: float | None = None, origin: str | None = None
    ) -> ev.ContextSet:
        """The key gets a value, for so long."""
        check_json("value", value)
        return ev.build(
            ev.ContextSet,
            **self._at(address),
            value=value,
            origin=None if origin is None else check_name("origin", origin),
            expires_at=self.expiry(ttl_seconds),
            ttl_seconds=ttl_seconds,
        )

    def touch(self, address: Address, revision: str, ttl_seconds: float | None) -> ev.ContextTouched:
        """The value that `revision` gave lives so long from now; for ever if that is None."""
        expires_at = self.expiry(ttl_seconds)
        return ev.build(ev.ContextTouched, **self._at(address), revision=revision, expires_at=expires_at)

    def delete(self, address: Address) -> ev.ContextDeleted:
        """The key has no value any more."""
        return ev.build(ev.ContextDeleted, **self._at(address))

    def delete_scope(
        self,
        *tiers: Tier,
        agent_id: str | None = None,
        thread_id: str | None = None,
        origin: str | None = None,
    ) -> ev.ContextScopeDeleted:
        """All entries of some tiers are deleted: of one agent, thread or origin where named."""
        for name, value in (("agent_id", agent_id), ("thread_id", thread_id), ("origin", origin)):
            if value is not None:
                check_name(name, value)
        envelope = self._envelope(agent_id, thread_id)
        return ev.build(ev.ContextScopeDeleted, **envelope, tiers=tiers, origin=origin)

    def count(self, source: str, counts: tuple[CacheCount, ...]) -> ev.CacheCounted:
        """All that a source has counted so far."""
        return ev.build(ev.CacheCounted, **self._envelope(None, None), source=source, counts=counts)

    def _at(self, address: Address) -> dict[str, Any]:
        envelope = self._envelope(address.agent_id, address.thread_id)
        return {**envelope, "tier": address.tier, "key": address.key}

    def _envelope(self, agent_id: str | None, thread_id: str | None) -> dict[str, Any]:
        return {
            "event_id": self._commands.new_id(),
            "namespace": self._commands.namespace,
            "occurred_at": self._commands.clock(),
            "agent_id": agent_id,
            "thread_id": thread_id,
        }
