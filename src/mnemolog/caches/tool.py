"""Answers of tools, found again by the tool's name and its arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mnemolog.caches.counting import Counter
from mnemolog.caches.entries import Entries
from mnemolog.caches.lifetimes import Lifetime, Lifetimes, ToolPolicy
from mnemolog.caches.requests import call_key
from mnemolog.producers.commands import UNSET
from mnemolog.producers.context_commands import Address, check_json, check_name
from mnemolog.producers.receipts import Receipt
from mnemolog.schemas.errors import InvalidInputError

MAX_COST = 1e9


@dataclass(frozen=True, slots=True)
class ToolCacheResult:
    """What a check found. `key` names the call, hit or not.

    `saved_micros` is the cost that a hit saved, in millionths of the currency of the stored cost.
    """

    hit: bool
    tool: str
    response: Any
    key: str
    saved_micros: int = 0


class ToolCache:
    """An exact-match cache of a namespace: equal calls, by any handle, get the stored answer."""

    def __init__(self, entries: Entries, counter: Counter, lifetimes: Lifetimes) -> None:
        self._entries = entries
        self._counter = counter
        self._lifetimes = lifetimes

    def check(self, tool: str, args: Any = None) -> ToolCacheResult:
        """The stored answer to a call, if there is one. What can't be read back is a miss.

        `args` is any JSON; the order of keys does not matter, and 1 and 1.0 are the same number.
        """
        key = call_key(_name(tool), args)
        entry = self._entries.get(_address(key))
        if entry is None or not isinstance(entry.value, dict) or "response" not in entry.value:
            self._counter.checked("tool", tool, hit=False)
            return ToolCacheResult(False, tool, None, key)
        saved = _saved(entry.value)
        self._counter.checked("tool", tool, hit=True, saved_micros=saved)
        return ToolCacheResult(True, tool, entry.value["response"], key, saved)

    def store(
        self, tool: str, args: Any, response: Any, *, ttl_seconds: Lifetime = UNSET, cost: float | None = None
    ) -> Receipt:
        """Keep the answer to a call: any JSON of up to about 64 KiB. The receipt's id is the call's key.

        It keeps for `ttl_seconds`, for ever if None; if not given, as the tool's policy says, else as
        `set_default_ttl` does. `cost` is what the call has cost, in units of your currency.
        """
        key = call_key(_name(tool), args)
        check_json("response", response)
        answer = {"response": response, **_cost(cost)}
        ttl = self._lifetimes.resolve(ttl_seconds, "tool", tool)
        position = self._entries.set(_address(key), answer, ttl, tool)
        self._counter.stored("tool", tool)
        return Receipt(key, position)

    def invalidate(self, tool: str, args: Any = None) -> bool:
        """Drop the answer to a call; whether there was one."""
        return self._entries.delete(_address(call_key(_name(tool), args)))

    def invalidate_by_tool(self, tool: str) -> int:
        """Drop all answers of a tool; how many there were."""
        return self._entries.delete_scope("tool", origin=_name(tool))

    def clear(self) -> int:
        """Drop all answers of all tools; how many there were. Policies stay."""
        return self._entries.delete_scope("tool")

    def set_policy(self, tool: str, ttl_seconds: float | None) -> None:
        """How long this tool's answers keep, for every handle on this namespace; None is for ever."""
        self._lifetimes.set(f"tool:{_name(tool)}", ttl_seconds)

    def get_policy(self, tool: str) -> ToolPolicy | None:
        """The policy of a tool, if it has one."""
        return self._lifetimes.policy(f"tool:{_name(tool)}")

    def delete_policy(self, tool: str) -> bool:
        """Let the tier's default hold for a tool again; whether it had a policy."""
        return self._lifetimes.delete(f"tool:{_name(tool)}")

    def policies(self) -> dict[str, ToolPolicy]:
        """The policies, by tool."""
        return self._lifetimes.all("tool:")

    def set_default_ttl(self, ttl_seconds: float | None) -> None:
        """How long answers of tools without a policy keep; None is for ever."""
        self._lifetimes.set("tier:tool", ttl_seconds)


def _name(tool: str) -> str:
    check_name("tool", tool)
    if len(tool) > 240:
        raise InvalidInputError("tool: its name has over 240 characters", field="tool")
    return tool


def _address(key: str) -> Address:
    return Address("tool", None, None, key)


def _cost(cost: float | None) -> dict[str, int]:
    if cost is None:
        return {}
    number = isinstance(cost, int | float) and not isinstance(cost, bool)
    if not (number and math.isfinite(cost) and 0 <= cost <= MAX_COST):
        raise InvalidInputError(f"cost is a number from 0 to {MAX_COST:g}, not {cost!r}", field="cost")
    return {"cost_micros": round(cost * 1_000_000)}


def _saved(answer: dict[str, Any]) -> int:
    cost = answer.get("cost_micros", 0)
    return cost if isinstance(cost, int) and not isinstance(cost, bool) and cost > 0 else 0
