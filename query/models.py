"""What a query returns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, overload

from mnemolog.schemas.details import Structured, load_detail
from mnemolog.schemas.moments import AsOf
from mnemolog.schemas.namespaces import Namespace, decode_namespace
from mnemolog.schemas.rows import Row


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One memory as the views know it. Times are aware UTC; `occurred_at` is when it happened in the world,
    `recorded_at` when the log took it; it holds from `valid_from` to before `valid_to`, None for open ends.

    `detail` is what a structured kind says; `sources` are the ids of the memories that it rests on.
    """

    id: str
    namespace: Namespace
    text: str
    kind: str
    importance: float | None
    tags: tuple[str, ...]
    key: str | None
    author: str | None
    source: str | None
    agent_id: str | None
    thread_id: str | None
    metadata: dict[str, Any]
    pinned: bool
    occurred_at: datetime
    recorded_at: datetime
    updated_at: datetime
    touched_at: datetime | None
    expires_at: datetime | None
    superseded_by: str | None
    use_count: int = 0
    ignore_count: int = 0
    last_used_at: datetime | None = None
    detail: Structured | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    sources: tuple[str, ...] = ()

    @property
    def active(self) -> bool:
        """Whether no newer memory replaced it."""
        return self.superseded_by is None


def _utc(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo is UTC else moment.astimezone(UTC)


def to_item(row: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> MemoryItem:
    """The memory of a row of the memories view, with its row of the usage view."""
    usage = usage or {}
    return MemoryItem(
        id=row["id"],
        namespace=decode_namespace(row["namespace"]),
        text=row["text"],
        kind=row["kind"],
        importance=row["importance"],
        tags=tuple(row["tags"] or ()),
        key=row["key"],
        author=row["author"],
        source=row["source"],
        agent_id=row["agent_id"],
        thread_id=row["thread_id"],
        metadata=json.loads(row["metadata"]) if row["metadata"] else {},
        pinned=bool(row["pinned"]),
        occurred_at=row["occurred_at"].astimezone(UTC),
        recorded_at=row["recorded_at"].astimezone(UTC),
        updated_at=row["updated_at"].astimezone(UTC),
        touched_at=_utc(row["touched_at"]),
        expires_at=_utc(row["expires_at"]),
        superseded_by=row["superseded_by"],
        use_count=usage.get("use_count") or 0,
        ignore_count=usage.get("ignore_count") or 0,
        last_used_at=_utc(usage.get("last_used_at")),
        detail=load_detail(row["detail"]),
        valid_from=_utc(row["valid_from"]),
        valid_to=_utc(row["valid_to"]),
        sources=tuple(row["sources"] or ()),
    )


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a score: `value` is what it contributes, its base raised to its exponent.

    `parts` are the numbers it was made of, by name.
    """

    name: str
    base: float
    exponent: float
    value: float
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """What a recall keeps of a hit to learn from: its shape in words, and its features as numbers."""

    shape: tuple[str, ...] = ()
    features: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory. `score` is the product of the values of its `factors`.

    `origins` says which searches found it: `vector`, `keyword`, or both. `trace` is what is learned
    from.
    """

    memory: MemoryItem
    score: float
    factors: Mapping[str, Factor]
    origins: tuple[str, ...] = ()
    trace: Trace = field(default=Trace(), repr=False)

    def explain(self) -> str:
        """The score in one line: every factor with its parts."""
        parts = " × ".join(_explain_factor(factor) for factor in self.factors.values())
        return f"{self.score:.6g} = {parts} [{' + '.join(self.origins)}]"


def _explain_factor(factor: Factor) -> str:
    parts = ", ".join(f"{name} {value:.4g}" for name, value in factor.parts.items())
    power = "" if factor.exponent == 1 else f"^{factor.exponent:g}"
    return f"{factor.name} {factor.base:.6g}{power}" + (f" ({parts})" if parts else "")


@dataclass(frozen=True, slots=True)
class Hits(Sequence[Hit]):
    """Recalled memories, best first. `recall_id` ties later feedback to this recall.

    `warnings` says what was missing, such as an embedder that did not answer. `nearest_beyond` is the least
    cosine distance of what only the `threshold` kept out. `as_of` says what an answer of the past rests on.
    """

    items: tuple[Hit, ...]
    recall_id: str
    query: str
    at: datetime
    candidates: int = 0
    warnings: tuple[str, ...] = ()
    nearest_beyond: float | None = None
    threshold: float | None = None
    as_of: AsOf | None = None

    @property
    def near_miss(self) -> bool:
        """Whether nothing was found, and something would have been at up to twice the threshold."""
        if self.items or self.threshold is None or self.nearest_beyond is None:
            return False
        return self.nearest_beyond <= 2 * self.threshold

    @property
    def ids(self) -> list[str]:
        """The ids of the memories, best first."""
        return [hit.memory.id for hit in self.items]

    def __str__(self) -> str:
        """A heading, then two lines a hit: its rank, id and text; its score and why."""
        heading = f"{self.query!r} ({len(self)} of {self.candidates} candidates)"
        hits = [
            f"{rank}. [{hit.memory.id}] {hit.memory.text}\n   {hit.explain()}"
            for rank, hit in enumerate(self.items, 1)
        ]
        return "\n".join([heading, *hits])

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.items[index]


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list: `items`, and how many there are in `total`. `as_of` says what one of the past rests
    on."""

    items: list[MemoryItem]
    total: int
    limit: int
    offset: int
    as_of: AsOf | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One event in the history of a memory: what, when in the world, by whom, why, and where in the log."""

    type: str
    occurred_at: datetime
    agent_id: str | None
    reason: str | None
    event_id: str
    offset: int


def to_change(change: Row) -> Change:
    """The change of one entry of a row's history."""
    return Change(
        change["type"],
        change["occurred_at"].astimezone(UTC),
        change["agent_id"],
        change["reason"],
        change["event_id"],
        change["offset"],
    )
