"""What changed in one table of the views, asked once a version for all namespaces that are read from it."""

from __future__ import annotations

import threading

import pyarrow as pa
import pyarrow.compute as pc

from mnemolog.schemas.rows import META_NAMESPACE
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable, TableState

_MOST = 100_000
_COLUMNS = ["namespace", "_off", "_fill"]


class News:
    """A table, its newest state, and which namespaces changed since it was first asked. Safe for threads."""

    def __init__(self, table: LanceTable) -> None:
        self.table = table
        self._state: TableState | None = None
        self._lock = threading.Lock()
        self._since: int | None = None
        self._known = -1
        self._reached = (0, 0)
        self._last: dict[str, tuple[int, int]] = {}

    def state(self) -> TableState:
        """The newest state of the table."""
        self._state = state = self.table.state(self._state)
        return state

    def there_may_be(self, namespace: str, seen: int, now: int, next_offset: int, last_fill: int) -> bool:
        """Whether version `now` may have rows of a namespace that whoever read it at version `seen`, up to
        before `next_offset` and up to `last_fill`, does not have."""
        with self._lock:
            if self._known < now:
                self._look(now)
            if self._since is None or seen < self._since:
                return True
            offset, fill = self._last.get(namespace, (-1, 0))
            return offset >= next_offset or fill > last_fill

    def _look(self, version: int) -> None:
        if self._since is None or len(self._last) > _MOST:
            self._begin()
            return
        offset, fill = self._reached
        ours = f"namespace <> {literal(META_NAMESPACE)}"
        found = self.table.where(f"{ours} AND (_off >= {offset} OR _fill > {fill})", _COLUMNS)
        if found.num_rows:
            self._take(found)
            last = pc.max(found["_off"]).as_py() + 1, pc.max(found["_fill"]).as_py() or 0
            self._reached = max(offset, last[0]), max(fill, last[1])
        self._known = version

    def _begin(self) -> None:
        self._since = None
        self._last.clear()
        reached = self.table.reached()
        self._since = None if reached is None else reached[0]
        if reached is not None:
            self._known, self._reached = reached[0], reached[1:]

    def _take(self, found: pa.Table) -> None:
        by_namespace = found.group_by("namespace").aggregate([("_off", "max"), ("_fill", "max")])
        for row in by_namespace.to_pylist():
            had = self._last.get(row["namespace"], (-1, 0))
            self._last[row["namespace"]] = max(had[0], row["_off_max"]), max(had[1], row["_fill_max"] or 0)
