"""Forget memories by their ids, or all that a filter selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from mnemolog.producers.building import Ids
from mnemolog.producers.context_commands import ContextCommands
from mnemolog.producers.receipts import Receipt
from mnemolog.schemas.checks import check_count
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.filters import Filter, Node, to_document
from mnemolog.schemas.scope import TagsMode, scope_node, selects_everything
from mnemolog.schemas.topics import FEEDBACK
from mnemolog.verbs.handle import Handle

MAX_FORGOTTEN = 1_000_000
_FORGET_BATCH = 1_000


class Forgotten(int):
    """How many memories were forgotten, or would be; a limit left `remaining` ones in the scope."""

    remaining: int

    def __new__(cls, count: int, remaining: int) -> Self:
        made = super().__new__(cls, count)
        made.remaining = remaining
        return made


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
        limit: int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_mode: TagsMode = "all",
        agent_id: str | None = None,
        thread_id: str | None = None,
    ) -> Forgotten:
        """Forget what the scope selects in this namespace, superseded ones too; how many memories that is.

        `everything=True` forgets the whole namespace, context and caches too. `dry_run` only counts. A memory
        that is written while this runs is forgotten too if it comes first in the log. With a `limit` no more
        than so many are forgotten, the oldest first, and `remaining` of the result says how many are left.

        Raises:
            InvalidInputError: the scope leaves nothing out and `everything` is not said, or a bad limit.
        """
        node = scope_node(
            filters=filters,
            kinds=kinds,
            tags=tags,
            tags_mode=tags_mode,
            agent_id=agent_id,
            thread_id=thread_id,
        )
        if selects_everything(node) and not everything:
            raise InvalidInputError(
                "name a filter, or pass everything=True to empty the namespace", field="filters"
            )
        if limit is not None:
            check_count("limit", limit, 1, MAX_FORGOTTEN)
        self._session.settle()
        ids = self._queries.table.ids(node)
        count = len(ids) if limit is None else min(limit, len(ids))
        if not dry_run and limit is None:
            self._forget_all(node, reason)
        elif not dry_run:
            self._forget_ids(ids[:count], reason)
        return Forgotten(count, len(ids) - count)

    def _forget_all(self, node: Node, reason: str | None) -> None:
        events: list[Envelope] = [self._commands.forget_scope(to_document(node), reason=reason)]
        if selects_everything(node):
            events.append(ContextCommands(self._commands).delete_scope())
            self._session.append(events)
            return
        gone = self._queries.table.ids(node, expired=True)
        self._session.append(events)
        self._forget_usage(gone, reason)

    def _forget_ids(self, ids: Sequence[str], reason: str | None) -> None:
        batches = [ids[start : start + _FORGET_BATCH] for start in range(0, len(ids), _FORGET_BATCH)]
        if batches:
            self._session.append([self._commands.forget(batch, reason=reason) for batch in batches])

    def _forget_usage(self, ids: Sequence[str], reason: str | None) -> None:
        for start in range(0, len(ids), _FORGET_BATCH):
            event = self._commands.forget(ids[start : start + _FORGET_BATCH], reason=reason)
            self._session.append_records([record for record in encode(event) if record.topic == FEEDBACK])
