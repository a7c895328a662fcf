"""From what a namespace holds to the evictions that its settings ask for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mnemolog.processors.reactors.capacity import Held, over_capacity
from mnemolog.processors.reactors.near_duplicates import Text, near_duplicates
from mnemolog.processors.reactors.shard_memories import ShardMemories
from mnemolog.schemas.events import MemoryEvicted
from mnemolog.schemas.namespaces import decode_namespace
from mnemolog.schemas.settings import WEIGHT, Settings
from mnemolog.storage.arrow import vector_matrix

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_HALF_LIFE = 30 * 86_400.0
_BATCH = 1_000
_FIRST_COMPARED = 1_000
"""Of a namespace that a reactor meets for the first time, so many are compared with all, the newest."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a namespace's settings ask of its reactor. `half_life` is in seconds; None is off."""

    capacity: int | None
    near_duplicate: float | None
    half_life: float

    @property
    def any(self) -> bool:
        """Whether there is anything to watch."""
        return self.capacity is not None or self.near_duplicate is not None


def rules_of(everywhere: Settings, here: Settings) -> Rules:
    """The rules of a namespace, its own settings over those for all."""
    both = {**everywhere, **here}
    half_life = both.get(f"{WEIGHT}half_life", DEFAULT_HALF_LIFE)
    return Rules(both.get("max_items_per_scope"), both.get("near_duplicate"), half_life)


@dataclass(frozen=True, slots=True)
class Seen:
    """How far the view was when a decision began: `offset` was next, late vectors had come up to `fill`."""

    offset: int
    fill: int


class Decider:
    """Decides for one namespace (encoded), as of `seen`, at the time `now`."""

    def __init__(self, memories: ShardMemories, name: str, seen: Seen, now: datetime) -> None:
        self._memories = memories
        self._name = name
        self._namespace = decode_namespace(name)
        self._seen = seen
        self._now = now
        self._previous = memories.last_eviction(self._namespace)

    def over_capacity(self, limit: int, half_life: float) -> list[MemoryEvicted]:
        """The evictions after which `limit` memories are left."""
        if self._memories.count(self._name) <= limit:
            return []
        held = self._held(self._memories.memories(self._name), self._memories.last_used(self._name))
        ids = over_capacity(held, limit, self._now, half_life)
        reason = f"capacity: more than {limit} memories"
        batches = [ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH)]
        return [event for batch in batches for event in self._evictions("capacity", batch, None, reason)]

    def near_duplicates(self, threshold: float, compared: Seen | None) -> list[MemoryEvicted]:
        """The evictions of what newer memories nearly say; `compared` have been looked at before."""
        if self._memories.dim is None:
            return []
        texts, vectors = self._texts(self._memories.memories(self._name, vectors=True), compared)
        return [
            event
            for pair in near_duplicates(texts, vectors, threshold)
            for event in self._evictions(
                "near_duplicate", [pair.older], pair.newer, f"near duplicate: cosine {pair.cosine:.4f}"
            )
        ]

    def _held(self, table: pa.Table, used: dict[str, datetime]) -> list[Held]:
        return [
            Held(
                row["id"],
                row["importance"],
                max(filter(None, (row["occurred_at"], row["touched_at"], used.get(row["id"])))),
                row["occurred_at"],
                bool(row["pinned"]),
                row["superseded_by"] is not None,
                self._expired(row),
            )
            for row in table.to_pylist()
        ]

    def _expired(self, row: dict[str, Any]) -> bool:
        return row["expires_at"] is not None and row["expires_at"] <= self._now

    def _texts(
        self, table: pa.Table, compared: Seen | None
    ) -> tuple[Sequence[Text], np.ndarray[Any, np.dtype[np.float32]]]:
        """The memories that are active and have vectors, in the order of the log, and their vectors."""
        matrix, there = vector_matrix(table.column("vector"))
        rows = table.drop_columns(["vector"]).to_pylist()
        places = [
            at
            for at, row in enumerate(rows)
            if there[at] and row["superseded_by"] is None and not self._expired(row)
        ]
        places.sort(key=lambda at: (rows[at]["recorded_at"], rows[at]["_off"], rows[at]["id"]))
        fresh = _fresh([rows[at] for at in places], compared)
        texts = [
            Text(row["id"], row["kind"], row["key"] is None and not row["pinned"], is_fresh)
            for row, is_fresh in zip((rows[at] for at in places), fresh, strict=True)
        ]
        return texts, matrix[places]

    def _evictions(
        self, rule: Literal["capacity", "near_duplicate"], ids: Sequence[str], kept: str | None, reason: str
    ) -> Iterator[MemoryEvicted]:
        """The event that lets `ids` go, but for those that have changed since the decision began."""
        rows = self._memories.rows(self._namespace, [*ids, *([kept] if kept is not None else [])])
        known = {one: row for one, row in rows.items() if row["_off"] < self._seen.offset}
        going = [one for one in ids if one in known]
        if not going or (kept is not None and kept not in known):
            return
        revisions = {one: row["history"][-1]["event_id"] for one, row in known.items()}
        event_id = _event_id(self._name, rule, self._previous, revisions)
        yield MemoryEvicted(
            event_id=event_id,
            namespace=self._namespace,
            occurred_at=self._now,
            memory_ids=tuple(going),
            rule=rule,
            kept=kept,
            previous=self._previous,
            revisions=revisions,
            reason=reason,
        )
        self._previous = event_id


def _fresh(rows: Sequence[dict[str, Any]], compared: Seen | None) -> list[bool]:
    if compared is not None:
        return [row["_off"] >= compared.offset or row["_fill"] > compared.fill for row in rows]
    newest = sorted((row["_off"] for row in rows), reverse=True)[:_FIRST_COMPARED]
    return [row["_off"] >= newest[-1] for row in rows]


def _event_id(name: str, rule: str, previous: str | None, revisions: dict[str, str]) -> str:
    """Follows from the decision: the same one, made by two workers, is one event."""
    decided = json.dumps([name, rule, previous, sorted(revisions.items())])
    return f"evicted-{hashlib.sha256(decided.encode()).hexdigest()[:32]}"
