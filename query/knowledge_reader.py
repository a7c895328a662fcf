"""Reading what feedback taught: the links of all namespaces, and the model, kept fresh from the views.

In a folder they are those of right now, on an object store at most half a second old.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from mnemolog.query.scoring.usefulness import Knowledge, Tallies, Tally
from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import Row, model_pk
from mnemolog.schemas.usefulness import FEATURE_SET
from mnemolog.storage.arrow import from_arrow
from mnemolog.storage.table import LanceTable, TableState

ShardTables: TypeAlias = Callable[[str], tuple[str, dict[int, LanceTable]]]
"""Gives the tables of a name by partition, where there are any, and their generation."""

FRESH_SECONDS = 0.5
_SCALE = 1_000
_LINK = ["pk", "namespace", "deleted", "query_type", "shape", "sum", "count"]
_MODEL = ["feature_set", "features", "served"]
_COLUMNS = [*_LINK, *_MODEL]

_Key = tuple[str, str]
_Counts = dict[_Key, tuple[int, int]]


@dataclass(slots=True)
class _Shard:
    """The links of one shard, by primary key, as of a state of its table."""

    state: TableState | None = None
    next_offset: int = 0
    links: dict[str, tuple[str, _Key, int, int]] = field(default_factory=dict)


class KnowledgeReader:
    """Safe for threads. `monotonic` is a clock in seconds."""

    def __init__(self, tables: ShardTables, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._tables = tables
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._forget_all()

    def _forget_all(self) -> None:
        self._generation = ""
        self._shards: dict[int, _Shard] = {}
        self._own: dict[str, _Counts] = defaultdict(dict)
        self._pooled: _Counts = {}
        self._weights: tuple[float, ...] | None = None
        self._due = 0.0
        self._known: dict[str, Knowledge] = {}

    def knowledge(self, namespace: Namespace) -> Knowledge | None:
        """What is known for a namespace; None where nobody has given feedback yet."""
        name = encode_namespace(namespace)
        with self._lock:
            self._look()
            if not self._pooled and self._weights is None:
                return None
            if name not in self._known:
                own = _tallies(self._own.get(name, {}))
                self._known[name] = Knowledge(own, _tallies(self._pooled), self._weights)
            return self._known[name]

    def _look(self) -> None:
        now = self._monotonic()
        if now < self._due:
            return
        try:
            generation, tables = self._tables("usefulness")
        except ViewError:
            return
        if generation != self._generation:
            self._forget_all()
            self._generation = generation
        cheap = True
        for number, table in tables.items():
            shard = self._shards.setdefault(number, _Shard())
            state = table.state(shard.state)
            cheap = cheap and state.stamp is not None
            if shard.state is None or state.version != shard.state.version:
                self._refresh(shard, table)
                self._known.clear()
            shard.state = state
        self._due = 0.0 if cheap else now + FRESH_SECONDS

    def _refresh(self, shard: _Shard, table: LanceTable) -> None:
        since = shard.next_offset
        next_offset = max(since, table.applied())
        model = model_pk(EVERYWHERE)
        news = f"(pk LIKE '@link|%' OR pk = '{model}') AND _off >= {since}"
        for row in from_arrow(table.where(news, _COLUMNS)):
            if row["pk"] != model:
                self._take(shard, row)
                continue
            usable = row["served"] and row["feature_set"] == FEATURE_SET
            self._weights = tuple(row["features"]) if usable else None
        shard.next_offset = next_offset

    def _take(self, shard: _Shard, row: Row) -> None:
        before = shard.links.pop(row["pk"], None)
        if before is not None:
            self._add(*before, sign=-1)
        if not row["deleted"]:
            link = (row["namespace"], (row["query_type"], row["shape"][0]), row["sum"], row["count"])
            shard.links[row["pk"]] = link
            self._add(*link, sign=1)

    def _add(self, namespace: str, key: _Key, total: int, count: int, *, sign: int) -> None:
        for counts in (self._own[namespace], self._pooled):
            had = counts.get(key, (0, 0))
            counts[key] = (had[0] + sign * total, had[1] + sign * count)
            if counts[key][1] == 0:
                del counts[key]


def _tallies(counts: _Counts) -> Tallies:
    return {key: Tally(total / _SCALE, count) for key, (total, count) in counts.items()}
