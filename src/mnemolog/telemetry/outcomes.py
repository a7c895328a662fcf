"""What a verb came to, as attributes of its span and as counts. Never the texts themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mnemolog.caches.llm import LlmCacheResult
from mnemolog.caches.tool import ToolCacheResult
from mnemolog.producers.receipts import Receipt
from mnemolog.query.contexts import ContextPage
from mnemolog.query.models import Hits, MemoryItem, Page
from mnemolog.verbs.consolidation import Consolidated
from mnemolog.verbs.forgetting import Forgotten

RECORDS = "gen_ai.memory.record.count"
RECORD = "gen_ai.memory.record.id"
ROWS = "db.response.returned_rows"
_OUTCOMES = ("created", "superseded", "retracted", "unmatched", "dropped", "deleted", "rejected")

OPERATIONS = {
    **dict.fromkeys(("remember", "remember_many", "remember_episode", "know_fact"), "create_memory"),
    **dict.fromkeys(("learn_procedure", "reflect", "record_reward"), "create_memory"),
    **dict.fromkeys(("update", "supersede"), "update_memory"),
    **dict.fromkeys(("forget", "forget_scope"), "delete_memory"),
    **dict.fromkeys(("recall", "recall_by_vector"), "search_memory"),
}
"""Verb → the operation of OpenTelemetry's conventions for generative AI that it is."""

FORGETTING = ("forget", "forget_scope")

Attributes: TypeAlias = dict[str, Any]
Count: TypeAlias = tuple[str, float, tuple[str, ...]]
"""A counter, what to add, and the values of its labels."""


@dataclass(slots=True)
class Outcome:
    """What to say of a result."""

    attributes: Attributes = field(default_factory=dict)
    counts: list[Count] = field(default_factory=list)


def outcome_of(verb: str, result: Any) -> Outcome | None:
    """What there is to say of what `verb` returned."""
    tell = _TELLERS.get(type(result))
    return None if tell is None else tell(verb, result)


def _hits(_: str, hits: Hits) -> Outcome:
    found = _found(len(hits.items), hits.candidates, hits.near_miss, bool(hits.warnings))
    attributes = found.attributes
    attributes["mnemolog.recall.id"] = hits.recall_id
    if hits.threshold is not None:
        attributes["mnemolog.threshold"] = hits.threshold
    if hits.nearest_beyond is not None:
        attributes["mnemolog.recall.nearest_beyond"] = hits.nearest_beyond
    return found


def _found(shown: int, candidates: int, near_miss: bool, degraded: bool) -> Outcome:
    counts: list[Count] = [("recalls", 1, ()), ("recall_hits", shown, ())]
    if not shown:
        counts.append(("recall_empty", 1, ()))
    if near_miss:
        counts.append(("recall_near_misses", 1, ()))
    if degraded:
        counts.append(("recall_degraded", 1, ()))
    return Outcome(
        {
            RECORDS: shown,
            "mnemolog.recall.candidates": candidates,
            "mnemolog.recall.near_miss": near_miss,
            "mnemolog.recall.degraded": degraded,
        },
        counts,
    )


def _by_name(verb: str, result: Mapping[str, Any]) -> Outcome | None:
    if verb != "recall":
        return None
    every = list(result.values())
    shown, candidates = sum(map(len, every)), sum(hits.candidates for hits in every)
    near_miss = not shown and any(hits.near_miss for hits in every)
    return _found(shown, candidates, near_miss, any(hits.warnings for hits in every))


def _receipt(verb: str, receipt: Receipt) -> Outcome:
    said = {"mnemolog.position": str(receipt.position)}
    if verb in OPERATIONS:
        said[RECORD] = receipt.id
    return Outcome(said, [("writes", 1, (verb,))])


def _list(verb: str, found: list[Any]) -> Outcome:
    if verb == "remember_many":
        counts: list[Count] = [("writes", len(found), (verb,))] if found else []
        return Outcome({RECORDS: len(found)}, counts)
    return Outcome({ROWS: len(found)})


def _consolidated(_: str, done: Consolidated) -> Outcome:
    sizes = {name: len(getattr(done, name)) for name in _OUTCOMES}
    tokens = {"input": done.input_tokens, "output": done.output_tokens}
    attributes: Attributes = {
        "mnemolog.consolidate.mode": done.mode,
        "mnemolog.consolidate.considered": done.considered,
        **{f"mnemolog.consolidate.{name}": size for name, size in sizes.items()},
        **{f"gen_ai.usage.{name}_tokens": number for name, number in tokens.items() if number},
    }
    counts: list[Count] = [("consolidations", 1, (done.mode,))]
    counts += [("consolidated", size, (name,)) for name, size in sizes.items() if size]
    counts += [("consolidation_tokens", number, (name,)) for name, number in tokens.items() if number]
    return Outcome(attributes, counts)


def _checked(tier: str) -> Callable[[str, Any], Outcome]:
    def tell(_: str, result: LlmCacheResult | ToolCacheResult) -> Outcome:
        counts: list[Count] = [("cache_requests", 1, (tier, "hit" if result.hit else "miss"))]
        if result.saved_micros:
            counts.append(("cache_saved_cost", result.saved_micros / 1_000_000, (tier,)))
        return Outcome({"mnemolog.cache.hit": result.hit}, counts)

    return tell


def forgotten(verb: str, done: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Outcome | None:
    """What there is to say of one of the `FORGETTING` verbs."""
    outcome = outcome_of(verb, done)
    if outcome is not None:
        number = _forgotten(done, args, kwargs)
        outcome.attributes[RECORDS] = number
        if number and not kwargs.get("dry_run"):
            outcome.counts.append(("forgotten", number, ()))
    return outcome


def _forgotten(done: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    if isinstance(done, Forgotten):
        return int(done)
    ids = args[0] if args else kwargs["ids"]
    return len(ids) if isinstance(ids, Sized) and not isinstance(ids, str) else 1


def looked_up(hit: bool) -> Outcome:
    """What there is to say of a read of the session cache."""
    return Outcome(
        {"mnemolog.cache.hit": hit}, [("cache_requests", 1, ("session", "hit" if hit else "miss"))]
    )


def stored(tier: str, value: Any) -> list[Count]:
    """The counts of a value that a cache took."""
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    return [("cache_stores", 1, (tier,)), ("cache_stored_bytes", size, (tier,))]


def _items(_: str, page: Page | ContextPage) -> Outcome:
    return Outcome({ROWS: len(page.items)})


_TELLERS: dict[type, Callable[[str, Any], Outcome | None]] = {
    Hits: _hits,
    Receipt: _receipt,
    Consolidated: _consolidated,
    LlmCacheResult: _checked("llm"),
    ToolCacheResult: _checked("tool"),
    Page: _items,
    ContextPage: _items,
    dict: _by_name,
    list: _list,
    Forgotten: lambda *_: Outcome(),
    MemoryItem: lambda _, item: Outcome({RECORD: item.id, ROWS: 1}),
    bool: lambda _, held: Outcome({ROWS: int(held)}),
}
