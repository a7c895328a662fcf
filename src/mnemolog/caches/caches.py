"""The caches of a handle together, and what they were good for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mnemolog.caches.counting import CacheCounts, Counter, add_up, read_counts
from mnemolog.caches.entries import Entries
from mnemolog.caches.lifetimes import Lifetimes
from mnemolog.caches.llm import LlmCache
from mnemolog.caches.sessions import SessionCache
from mnemolog.caches.tool import ToolCache
from mnemolog.schemas.context_events import CacheCount

_LONG_SECONDS = 3_600.0
_EFFECTIVE, _USEFUL = 0.8, 0.4


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What came of all checks in a namespace, by every handle, by tier, by tool and by model."""

    llm: CacheCounts
    tool: CacheCounts
    session: CacheCounts
    per_tool: Mapping[str, CacheCounts]
    per_model: Mapping[str, CacheCounts]
    saved_micros: int


@dataclass(frozen=True, slots=True)
class ToolEffectiveness:
    """What caching a tool is worth, and what to do about its time to live (seconds; None is for ever)."""

    tool: str
    hit_rate: float
    saved_micros: int
    ttl_seconds: float | None
    recommendation: Literal["increase_ttl", "optimal", "decrease_ttl_or_disable"]


class Caches:
    """The short-term caches of a namespace: `llm`, `tool` and `session`. Threads may share them."""

    def __init__(self, entries: Entries, source: str) -> None:
        self._entries = entries
        self._lifetimes = Lifetimes(entries)
        self._counter = Counter(entries, source)
        self.llm = LlmCache(entries, self._counter, self._lifetimes)
        self.tool = ToolCache(entries, self._counter, self._lifetimes)
        self.session = SessionCache(entries, self._counter, self._lifetimes)

    def stats(self) -> CacheStats:
        """What came of all checks so far: all of this handle's, and of others what they have appended."""
        counts = self._counts()
        return CacheStats(
            llm=add_up(one for one in counts if one["tier"] == "llm"),
            tool=add_up(one for one in counts if one["tier"] == "tool"),
            session=add_up(one for one in counts if one["tier"] == "session"),
            per_tool=_by_name(counts, "tool"),
            per_model=_by_name(counts, "llm"),
            saved_micros=sum(one["saved_micros"] for one in counts),
        )

    def effectiveness(self) -> list[ToolEffectiveness]:
        """What caching each tool is worth, the one that saved most first.

        Over 80 % of hits with a time to live under an hour: increase it. From 40 % on: optimal. Else decrease
        it, or do not cache the tool.
        """
        tools = _by_name(self._counts(), "tool")
        policies, default = self._lifetimes.all("tool:"), self._lifetimes.all("tier:").get("tool")
        found = []
        for tool, counts in tools.items():
            policy = policies.get(tool, default)
            ttl = None if policy is None else policy.ttl_seconds
            advice = _advice(counts.hit_rate, ttl)
            found.append(ToolEffectiveness(tool, counts.hit_rate, counts.saved_micros, ttl, advice))
        return sorted(found, key=lambda one: (-one.saved_micros, one.tool))

    def clear(self) -> int:
        """Drop what all three hold; how many entries there were. Policies and counts stay."""
        return self._entries.delete_scope("llm", "tool", "session")

    def flush(self) -> None:
        """Append what was counted, so that others' stats have it. `close` does it too."""
        self._counter.flush()

    def close(self) -> None:
        """Append what was counted."""
        self._counter.close()

    def _counts(self) -> list[CacheCount]:
        position = self._counter.flush()
        if position is not None:
            self._entries.wait(position)
        return read_counts(entry.value for entry in self._entries.all(("counts", None, None)))


def _advice(
    hit_rate: float, ttl_seconds: float | None
) -> Literal["increase_ttl", "optimal", "decrease_ttl_or_disable"]:
    if hit_rate > _EFFECTIVE and ttl_seconds is not None and ttl_seconds < _LONG_SECONDS:
        return "increase_ttl"
    return "optimal" if hit_rate >= _USEFUL else "decrease_ttl_or_disable"


def _by_name(counts: Sequence[CacheCount], tier: str) -> dict[str, CacheCounts]:
    named: defaultdict[str, list[CacheCount]] = defaultdict(list)
    for one in counts:
        if one["tier"] == tier and one["name"] is not None:
            named[one["name"]].append(one)
    return {name: add_up(every) for name, every in sorted(named.items())}
