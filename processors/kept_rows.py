"""The rows that a writer wrote last: while its table stays as it left it, it need not look them up."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mnemolog.schemas.rows import Row

_COMMON_TEXT = 2_000


def _weight(row: Row) -> int:
    """How many rows of a common size one counts for: its words are kept beside its text."""
    return 1 + len(row.get("text") or "") // _COMMON_TEXT


class KeptRows:
    """Up to `limit` rows as they stand in a table at one of its revisions; long texts count for more."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rows: dict[str, Row] = {}
        self._weight = 0
        self._revision: int | None = None

    def at(self, revision: int) -> None:
        """Forget all of them if the table is at another revision by now."""
        if revision != self._revision:
            self.clear()

    def among(self, pks: Collection[str]) -> list[Row]:
        """Those of `pks` that are here."""
        return [self._rows[pk] for pk in pks if pk in self._rows] if self._rows else []

    def keep(self, rows: Iterable[Row], revision: int) -> None:
        """Take what was written, which led to `revision`; what was written longest ago gives way."""
        self._revision = revision
        for row in rows:
            self._drop(row["pk"])
            self._rows[row["pk"]] = row
            self._weight += _weight(row)
        for pk in list(self._rows) if self._weight > self._limit else ():
            if self._weight <= self._limit:
                break
            self._drop(pk)

    def _drop(self, pk: str) -> None:
        row = self._rows.pop(pk, None)
        if row is not None:
            self._weight -= _weight(row)

    def clear(self) -> None:
        """Forget all of them."""
        self._rows.clear()
        self._weight = 0
        self._revision = None
