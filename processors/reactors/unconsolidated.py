"""The memories of one shard that continuous consolidation has not read yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mnemolog.schemas.consolidation import PREFIX, Progress, progress_of
from mnemolog.schemas.rows import META_NAMESPACE, TABLES, Row
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.storage.layout import Manifest, Views
    from mnemolog.storage.table import TableState

_CONTENT = ("MemoryRemembered", "MemoryUpdated")
_COLUMNS = ["namespace", "pk", "history", "updated_at", "recorded_at"]


@dataclass(slots=True)
class Waiting:
    """The memories of a namespace that wait: pk → (offset of their last change, when the log took them)."""

    progress: Progress = field(default_factory=Progress)
    memories: dict[str, tuple[int, datetime]] = field(default_factory=dict)

    def oldest(self, count: int) -> list[str]:
        """The ones that changed first."""
        return sorted(self.memories, key=lambda pk: (self.memories[pk][0], pk))[:count]

    def since(self) -> datetime:
        """Since when the first of them waits."""
        return min(recorded_at for _, recorded_at in self.memories.values())

    def read_up_to(self, progress: Progress) -> None:
        """Those before `progress.through` do not wait any more."""
        self.progress = progress
        self.memories = {pk: at for pk, at in self.memories.items() if at[0] >= progress.through}


class Unconsolidated:
    """Follows the memories view of one partition in one generation. Not safe for threads."""

    def __init__(self, views: Views, manifest: Manifest, partition: int) -> None:
        self._views = views
        self._manifest = manifest
        self._partition = partition
        self._opened: LanceTable | None = None
        self._state: TableState | None = None
        self._next = 0
        self.namespaces: dict[str, Waiting] = {}

    @property
    def table(self) -> LanceTable:
        """The memories.

        Raises:
            ViewMissingError: nothing was applied to the shard yet.
        """
        if self._opened is None:
            shard = self._views.shard(self._manifest.generation, self._partition)
            self._opened = LanceTable.open(shard, "memories", TABLES["memories"], self._partition)
        return self._opened

    def follow(self) -> None:
        """Take in what changed since the last time."""
        state = self.table.state(self._state)
        if self._state is not None and state.version == self._state.version:
            return
        after = self.table.applied()
        self._take_progress()
        self._take_memories()
        self._next, self._state = after, state

    def _take_progress(self) -> None:
        of_runs = f"pk LIKE {literal(PREFIX + '%')} AND _off >= {self._next}"
        for row in self.table.where(of_runs, ["namespace", "history"]).to_pylist():
            self.namespaces.setdefault(row["namespace"], Waiting()).read_up_to(progress_of(row))

    def _take_memories(self) -> None:
        of_memories = f"namespace <> {literal(META_NAMESPACE)} AND _off >= {self._next}"
        for row in self.table.where(f"{of_memories} AND {_ELIGIBLE}", _COLUMNS).to_pylist():
            waiting = self.namespaces.setdefault(row["namespace"], Waiting())
            offset = last_said(row)["offset"]
            if offset >= waiting.progress.through:
                waiting.memories[row["pk"]] = (offset, row["recorded_at"])

    def rows(self, waiting: Waiting, pks: Sequence[str], now: datetime) -> list[Row]:
        """The rows of memories that wait as noted; what changed or went since does not wait here any more."""
        found = {row["pk"]: row for row in self.table.lookup("pk", pks)}
        rows = []
        for pk in pks:
            row = found.get(pk)
            noted = waiting.memories[pk][0]
            if row is not None and is_eligible(row, now) and last_said(row)["offset"] == noted:
                rows.append(row)
            else:
                del waiting.memories[pk]
        return rows


_ELIGIBLE = "NOT deleted AND rests_on IS NULL AND superseded_by IS NULL"


def is_eligible(row: Row, now: datetime) -> bool:
    """Whether a memory may be a source: it is there, active, and nothing that consolidation made."""
    expired = row["expires_at"] is not None and row["expires_at"] <= now
    return not (row["deleted"] or row["rests_on"] is not None or row["superseded_by"] is not None or expired)


def last_said(row: Row) -> dict[str, Any]:
    """The change that last gave a memory its content, or asked to read it again: not one that touched it."""
    said = _saying(row["history"], row["updated_at"])
    return max(said, key=lambda change: int(change["offset"]), default=row["history"][-1])


def _saying(history: Iterable[dict[str, Any]], updated_at: datetime) -> Iterable[dict[str, Any]]:
    for change in history:
        gave = change["type"] in _CONTENT and change["occurred_at"] == updated_at
        if gave or change["type"] == "ConsolidationRequested":
            yield change
