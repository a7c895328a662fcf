"""The rows that a writer wrote last: while its table stays as it left it, it need not look them up."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mnemolog.schemas.rows import Row


class KeptRows:
    """Up to `limit` rows as they stand in a table at one of its revisions."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rows: dict[str, Row] = {}
        self._revision: int | None = None

    def at(self, revision: int) -> None:
        """Forget all of them if the table is at another revision by now."""
        if revision != self._revision:
            self._rows.clear()

    def among(self, pks: Collection[str]) -> list[Row]:
        """Those of `pks` that are here."""
        return [self._rows[pk] for pk in pks if pk in self._rows] if self._rows else []

    def keep(self, rows: Iterable[Row], revision: int) -> None:
        """Take what was written, which led to `revision`; what was written longest ago gives way."""
        self._revision = revision
        for row in rows:
            self._rows.pop(row["pk"], None)
            self._rows[row["pk"]] = row
        for pk in list(self._rows)[: max(len(self._rows) - self._limit, 0)]:
            del self._rows[pk]

    def clear(self) -> None:
        """Forget all of them."""
        self._rows.clear()
        self._revision = None
