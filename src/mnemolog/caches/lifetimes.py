"""How long cached answers keep: a call's own word, else a tool's policy, else the tier's default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mnemolog.caches.entries import Entries
from mnemolog.producers.commands import Unset
from mnemolog.producers.context_commands import Address
from mnemolog.schemas.context_events import Tier
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.positions import Position

Lifetime = float | Unset | None
"""Seconds; None is for ever, UNSET what the policy says."""

_PLACE = ("policy", None, None)


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """How long a tool's answers keep, in seconds; None is for ever."""

    ttl_seconds: float | None


class Lifetimes:
    """The policies of a namespace: entries as any others, so every handle follows them at once."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._written: Position | None = None

    def resolve(self, given: Lifetime, tier: Tier, tool: str | None = None) -> float | None:
        """The time to live of an answer that is stored now."""
        if not isinstance(given, Unset):
            return given
        found = None if tool is None else self.policy(f"tool:{tool}")
        return (found or self.policy(f"tier:{tier}") or ToolPolicy(None)).ttl_seconds

    def policy(self, key: str) -> ToolPolicy | None:
        """The policy of `tool:NAME` or `tier:TIER`."""
        address = _address(key)
        self._settle()
        entry = self._entries.queries.find(address.place, address.key)
        return None if entry is None else _policy(entry.value)

    def set(self, key: str, ttl_seconds: float | None) -> None:
        """Set a policy."""
        self._entries.commands.expiry(ttl_seconds)
        self._written = self._entries.set(_address(key), {"ttl_seconds": ttl_seconds})

    def delete(self, key: str) -> bool:
        """Delete a policy; whether there was one."""
        held = self.policy(key) is not None
        self._written = self._entries.remove(_address(key))
        return held

    def all(self, prefix: str) -> dict[str, ToolPolicy]:
        """The policies whose keys begin with `prefix`, by the rest of their keys."""
        self._settle()
        entries = self._entries.queries.entries(_PLACE, prefix)
        found = {entry.key.removeprefix(prefix): _policy(entry.value) for entry in entries}
        return {name: policy for name, policy in found.items() if policy is not None}

    def _settle(self) -> None:
        """Wait for this handle's own policies, and for nothing else: each store asks for them."""
        written = self._written
        if written is not None:
            self._entries.wait(written)
            if self._written is written:
                self._written = None


def _address(key: str) -> Address:
    try:
        return Address("policy", None, None, key)
    except InvalidInputError as error:
        raise InvalidInputError(str(error), field="tool") from error


def _policy(value: Any) -> ToolPolicy | None:
    """The policy that a value says; None for one that says none."""
    ttl = value.get("ttl_seconds", 0) if isinstance(value, dict) else 0
    valid = ttl is None or (isinstance(ttl, int | float) and not isinstance(ttl, bool) and ttl > 0)
    return ToolPolicy(ttl) if valid else None
