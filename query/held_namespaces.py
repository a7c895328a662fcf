"""Which namespaces hold memories, kept fresh from the shards: only those that changed are looked at again."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from mnemolog.schemas.rows import META_NAMESPACE
from mnemolog.storage.sql import is_in, literal
from mnemolog.storage.table import LanceTable, TableState

_MOST_ASKED = 1_000


@dataclass(slots=True)
class _Shard:
    """What is known of one shard, read up to before offset `next_offset`. `until` says when the last memory
    of a namespace expires, None for never."""

    state: TableState | None = None
    next_offset: int = 0
    until: dict[str, datetime | None] = field(default_factory=dict)


class HeldNamespaces:
    """The namespaces of each shard that hold memories. Safe for threads."""

    def __init__(self) -> None:
        self._shards: dict[tuple[str, int], _Shard] = {}
        self._lock = threading.Lock()

    def at(self, now: datetime, generation: str, tables: dict[int, LanceTable]) -> set[str]:
        """The encoded namespaces that have memories which are neither forgotten nor expired."""
        with self._lock:
            self._shards = {place: one for place, one in self._shards.items() if place[0] == generation}
            shards = [
                self._fresh((generation, partition), table) for partition, table in sorted(tables.items())
            ]
            return {
                name
                for shard in shards
                for name, until in shard.until.items()
                if until is None or until > now
            }

    def _fresh(self, place: tuple[str, int], table: LanceTable) -> _Shard:
        known = self._shards.get(place, _Shard())
        state = table.state(known.state)
        if known.state is None or state.version != known.state.version:
            reached = table.applied()
            self._shards[place] = known = _Shard(state, reached, _held(known, table))
        return known


def _held(known: _Shard, table: LanceTable) -> dict[str, datetime | None]:
    if known.state is None:
        return _until(table, "true")
    since = f"namespace <> {literal(META_NAMESPACE)} AND _off >= {known.next_offset}"
    changed = table.where(since, ["namespace"]).column("namespace").unique().to_pylist()
    if len(changed) > _MOST_ASKED:
        return _until(table, "true")
    if not changed:
        return known.until
    same = {name: until for name, until in known.until.items() if name not in changed}
    return same | _until(table, is_in("namespace", sorted(changed)))


def _until(table: LanceTable, condition: str) -> dict[str, datetime | None]:
    """When the last live memory of each namespace expires, None for never, among the rows of a condition."""
    rows = table.where(f"{condition} AND NOT deleted", ["namespace", "expires_at"])
    lasting = rows.filter(pc.is_null(rows["expires_at"]))["namespace"].unique().to_pylist()
    grouped: pa.Table = rows.group_by("namespace").aggregate([("expires_at", "max")])
    ends = {row["namespace"]: row["expires_at_max"] for row in grouped.to_pylist()}
    return ends | dict.fromkeys(lasting)
