"""The rows that a batch works on: those loaded from the view, and those it has changed itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from mnemolog.processors.folds.port import Fold, Selection
from mnemolog.processors.kept_rows import KeptRows
from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import Node
from mnemolog.schemas.matching import matches
from mnemolog.schemas.rows import Row

if TYPE_CHECKING:
    from mnemolog.schemas.ports import ViewTable


class WorkingSet:
    """Answers `Selection`s as of the event at hand: the view below, the batch's own changes on top."""

    def __init__(self, table: ViewTable, kept: KeptRows | None = None) -> None:
        self._table = table
        self._kept = kept
        self._rows: dict[str, Row] = {}
        self._index: dict[str, dict[str, set[str]]] = {}
        self._asked: dict[str, set[str]] = defaultdict(set)
        self.changed: set[str] = set()

    def prefetch(self, fold: Fold, concerned: Iterable[tuple[Event, Selection]]) -> None:
        """Load what a batch is likely to need, with few queries: those of all events together.

        `concerned` pairs each event with what it names of no row. What the rows name in turn is loaded in
        the same way; what the batch itself changes is left to `rows_for`.
        """
        waiting = list(concerned)
        while self._ask_together(selection for _, selection in waiting) and self._rows:
            found = [(event, self._find(selection)) for event, selection in waiting if not selection.scope]
            waiting = [(event, fold.affects(event, rows)) for event, rows in found if rows]

    def _ask_together(self, selections: Iterable[Selection]) -> bool:
        """Load what all of them look up; False if nothing was left to ask."""
        wanted: dict[str, list[Iterable[str]]] = defaultdict(list)
        for selection in selections:
            for column, values in selection.lookups.items():
                wanted[column].append(values)
        loaded = [self._ask(column, set().union(*values)) for column, values in wanted.items()]
        return any(loaded)

    def rows_for(self, fold: Fold, event: Event, first: Selection | None = None) -> dict[str, Row]:
        """The rows that `event` concerns, by primary key; `first` is what the fold names of no row."""
        rows = self._find(fold.affects(event, {}) if first is None else first)
        while rows:
            found = self._find(fold.affects(event, rows))
            if found.keys() <= rows.keys():
                break
            rows |= found
        return rows

    def put(self, changed: Mapping[str, Row]) -> None:
        """Take the rows that an event changed."""
        for pk, row in changed.items():
            self._store(pk, row)
            self.changed.add(pk)

    def changed_rows(self) -> list[Row]:
        """The last state of each row that the batch changed."""
        return [self._rows[pk] for pk in sorted(self.changed)]

    def _find(self, selection: Selection) -> dict[str, Row]:
        found: dict[str, Row] = {}
        for column, values in selection.lookups.items():
            if not values <= self._asked[column]:
                self._ask(column, values)
            for pk in values if column == "pk" else self._pks(column, values):
                row = self._rows.get(pk)
                if row is not None:
                    found[pk] = row
        if selection.scope is not None:
            found |= self._in_scope(*selection.scope)
        return found

    def _ask(self, column: str, values: AbstractSet[str]) -> bool:
        """Load the rows that were not asked for yet; False if there are none such."""
        unknown = values - self._asked[column]
        if unknown:
            self._asked[column] |= unknown
            self._load(self._looked_up(column, unknown))
        return bool(unknown)

    def _looked_up(self, column: str, values: AbstractSet[str]) -> list[Row]:
        if self._kept is None or column != "pk":
            return self._table.lookup(column, values)
        kept = self._kept.among(values)
        left = values - {row["pk"] for row in kept} if kept else values
        return [*kept, *self._table.lookup(column, left)] if left else kept

    def _in_scope(self, namespace: str, node: Node) -> dict[str, Row]:
        self._load(self._table.select(namespace, node))
        return {
            pk: row
            for pk, row in self._rows.items()
            if row["namespace"] == namespace and not row["deleted"] and matches(node, row)
        }

    def _load(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if row["pk"] not in self._rows:
                self._store(row["pk"], row)

    def _store(self, pk: str, row: Row) -> None:
        before = self._rows.get(pk)
        self._rows[pk] = row
        for column, members in self._index.items():
            if before is not None:
                for value in _values(before, column):
                    members[value].discard(pk)
            if row.get(column) is not None:
                for value in _values(row, column):
                    members[value].add(pk)

    def _pks(self, column: str, values: AbstractSet[str]) -> Iterable[str]:
        members = self._members(column)
        return [pk for value in values if value in members for pk in members[value]]

    def _members(self, column: str) -> Mapping[str, set[str]]:
        if column not in self._index:
            members: dict[str, set[str]] = defaultdict(set)
            for pk, row in self._rows.items():
                for value in _values(row, column):
                    members[value].add(pk)
            self._index[column] = members
        return self._index[column]


def _values(row: Row, column: str) -> Collection[str]:
    """What a row is found by in a column: its value, or each one of a list."""
    value = row.get(column)
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)
