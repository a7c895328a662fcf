"""A view's table in this process's memory, held to the same contract: for tests and small dry runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from mnemolog.schemas.filters import EVERYTHING, Node
from mnemolog.schemas.matching import matches
from mnemolog.schemas.rows import Row


class MemoryTable:
    """Rows in a dict."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._applied = 0
        self._fills = 0
        self._revision = 0

    def applied(self) -> int:
        """The next offset to apply."""
        return self._applied

    def revision(self) -> int:
        """How many commits there were."""
        return self._revision

    def lookup(self, column: str, values: Collection[str]) -> list[Row]:
        """The rows whose `column` is one of `values`, tombstones included."""
        return [dict(row) for row in self._rows.values() if _is_among(row.get(column), values)]

    def select(self, namespace: str, node: Node = EVERYTHING) -> list[Row]:
        """The live rows of a namespace that the filter selects."""
        live = (row for row in self._rows.values() if row["namespace"] == namespace and not row["deleted"])
        return [dict(row) for row in live if matches(node, row)]

    def scan(self) -> Iterator[Row]:
        """Every row, tombstones included."""
        return (dict(row) for row in list(self._rows.values()))

    def pending(self, limit: int, skip: int = 0) -> list[Row]:
        """Up to `limit` live rows that still lack their vector, after the first `skip` of them."""
        lacking = [
            dict(row) for row in self._rows.values() if not row["deleted"] and row.get("vector") is None
        ]
        return lacking[skip : skip + limit]

    def commit(self, rows: Sequence[Row], offset: int) -> None:
        """Write `rows` and the applied offset; rows at the same or a later offset stay."""
        self._write(rows)
        self._applied = max(self._applied, offset + 1)

    def fill(self, rows: Sequence[Row]) -> None:
        """Write rows whose vectors came late; a row that changed meanwhile stays."""
        self._fills += 1
        self._write([{**row, "_fill": self._fills} for row in rows])

    def due(self, now: float) -> bool:  # noqa: ARG002 the port's signature
        """Never."""
        return False

    def tend(self, now: float, alone: bool) -> bool:  # noqa: ARG002 the port's signature
        """Nothing: a dict needs none."""
        return False

    def _write(self, rows: Sequence[Row]) -> None:
        self._revision += 1
        for row in rows:
            known = self._rows.get(row["pk"])
            if known is None or (row["_off"], row["_fill"]) > (known["_off"], known["_fill"]):
                self._rows[row["pk"]] = dict(row)


def _is_among(value: object, wanted: Collection[str]) -> bool:
    return any(one in wanted for one in value) if isinstance(value, list) else value in wanted
