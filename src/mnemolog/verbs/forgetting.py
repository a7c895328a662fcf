"""Forget memories by their ids, or all that a filter selects."""

from __future__ import annotations

from collections.abc import Sequence

from mnemolog.producers.commands import Ids
from mnemolog.producers.receipts import Receipt
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.filters import Filter, parse_filter, to_document
from mnemolog.schemas.topics import FEEDBACK
from mnemolog.verbs.handle import Handle

_FORGET_BATCH = 1_000


class Forgetting(Handle):
    """The verbs that forget."""

    def forget(self, ids: Ids, *, reason: str | None = None) -> Receipt:
        """Forget one memory or several: their content leaves every view. Unknown ids are harmless."""
        event = self._commands.forget(ids, reason=reason)
        return Receipt(event.memory_ids[0], self._session.append([event])[0])

    def forget_scope(
        self,
        filters: Filter | None = None,
        *,
        everything: bool = False,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> int:
        """Forget what `filters` selects in this namespace, superseded ones too; how many memories that is.

        `everything=True` forgets the whole namespace. `dry_run` only counts. A memory that is written while
        this runs is forgotten too if it comes first in the log.

        Raises:
            InvalidInputError: neither a filter nor `everything`.
        """
        if not filters and not everything:
            raise InvalidInputError(
                "name a filter, or pass everything=True to empty the namespace", field="filters"
            )
        node = parse_filter(filters)
        self._session.settle()
        ids = self._queries.ids(node)
        gone = self._queries.ids(node, expired=True) if filters and not dry_run else []
        if not dry_run:
            self._session.append([self._commands.forget_scope(to_document(node), reason=reason)])
            self._forget_usage(gone, reason)
        return len(ids)

    def _forget_usage(self, ids: Sequence[str], reason: str | None) -> None:
        for start in range(0, len(ids), _FORGET_BATCH):
            event = self._commands.forget(ids[start : start + _FORGET_BATCH], reason=reason)
            self._session.append_records([record for record in encode(event) if record.topic == FEEDBACK])
