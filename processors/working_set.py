"""The rows that a batch works on: those loaded from the view, and those it has changed itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from mnemolog.processors.folds.port import Fold, Selection
from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import Node
from mnemolog.schemas.matching import matches
from mnemolog.schemas.rows import Row

if TYPE_CHECKING:
    from mnemolog.schemas.ports import ViewTable


class WorkingSet:
    """Answers `Selection`s as of the event at hand: the view below, the batch's own changes on top."""

    def __init__(self, table: ViewTable) -> None:
        self._table = table
        self._rows: dict[str, Row] = {}
        self._index: dict[str, dict[str, set[str]]] = {}
        self._asked: dict[str, set[str]] = defaultdict(set)
        self.changed: set[str] = set()

    def prefetch(self, selections: Iterable[Selection]) -> None:
        """Load what a batch is known to need, with one query a column."""
        wanted: dict[str, set[str]] = defaultdict(set)
        for selection in selections:
            for column, values in selection.lookups.items():
                wanted[column] |= values
        for column, all_values in wanted.items():
            self._ask(column, all_values)

    def rows_for(self, fold: Fold, event: Event) -> dict[str, Row]:
        """The rows that `event` concerns, by primary key."""
        rows: dict[str, Row] = {}
        while True:
            found = self._find(fold.affects(event, rows))
            if found.keys() <= rows.keys():
                return rows
            rows |= found

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
            self._ask(column, values)
            for value in values:
                found |= {pk: self._rows[pk] for pk in self._members(column).get(value, ())}
        if selection.scope is not None:
            found |= self._in_scope(*selection.scope)
        return found

    def _ask(self, column: str, values: Collection[str]) -> None:
        unknown = set(values) - self._asked[column]
        self._asked[column] |= unknown
        if unknown:
            self._load(self._table.lookup(column, unknown))

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
            for value in _values(before, column):
                members[value].discard(pk)
            for value in _values(row, column):
                members[value].add(pk)

    def _members(self, column: str) -> Mapping[str, set[str]]:
        if column not in self._index:
            members: dict[str, set[str]] = defaultdict(set)
            for pk, row in self._rows.items():
                for value in _values(row, column):
                    members[value].add(pk)
            self._index[column] = members
        return self._index[column]


def _values(row: Row | None, column: str) -> Collection[str]:
    """What a row is found by in a column: its value, or each one of a list."""
    value = None if row is None else row.get(column)
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)
