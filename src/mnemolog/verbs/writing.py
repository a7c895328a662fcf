"""Remember, update, supersede."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, Unpack

from mnemolog.producers.arguments import REMEMBER_FIELDS, RememberFields, UpdateFields
from mnemolog.producers.receipts import Receipt
from mnemolog.query.models import MemoryItem
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.memory_events import MemoryChanges, check_validity
from mnemolog.verbs.handle import Handle
from mnemolog.verbs.keywords import takes

Receipts: TypeAlias = list[Receipt]


class Writing(Handle):
    """The verbs that write memories."""

    @takes(RememberFields)
    def remember(self, text: str, **fields: Unpack[RememberFields]) -> Receipt:
        """Remember `text`, up to 64 KiB. See `Commands.remember` for the fields.

        With an `id` a retry is harmless; with a `key` the new memory supersedes the one that held the key.

        Raises:
            NotFoundError: one of `sources`, or the source episode of a `detail`, is not in this namespace.
        """
        event = self._commands.remember(text, **fields)
        self._check_references([event])
        return Receipt(event.memory_id, self._session.append([event])[0])

    @takes(RememberFields)
    def remember_many(
        self, items: Iterable[str | Mapping[str, Any]], **fields: Unpack[RememberFields]
    ) -> Receipts:
        """Remember many at once: texts, or dicts of the arguments of `remember`. `fields` go for all.

        All are checked before any is appended.
        """
        if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            raise InvalidInputError(f"items: give a list of texts or dicts, not {items!r:.80}", field="items")
        events = [self._commands.remember(**_arguments(item, fields)) for item in items]
        self._check_references(events)
        positions = self._session.append(events) if events else []
        return [Receipt(event.memory_id, at) for event, at in zip(events, positions, strict=True)]

    @takes(UpdateFields)
    def update(self, id: str, **changes: Unpack[UpdateFields]) -> Receipt:  # noqa: A002 the public name of the field
        """Change the given fields of a memory; all others stay. See `Commands.update`.

        Raises:
            NotFoundError: there is no such memory in this namespace.
        """
        event = self._commands.update(id, **changes)
        known = self._require(id)
        self._check_references([event])
        _check_validity(known, event.changes)
        return Receipt(id, self._session.append([event])[0])

    def supersede(self, id: str, by: str, *, reason: str | None = None) -> Receipt:  # noqa: A002
        """Let the memory `by` replace the memory `id`, which stays as history.

        Raises:
            NotFoundError: one of the two is not in this namespace.
            InvalidInputError: `by` was itself replaced by `id`: a cycle.
        """
        event = self._commands.supersede(id, by, reason=reason)
        self._require(id)
        if self._queries.leads_to(self._require(by), id):
            raise InvalidInputError(f"{by!r} was itself superseded by {id!r}", field="by")
        return Receipt(id, self._session.append([event])[0])


def _check_validity(known: MemoryItem, changes: MemoryChanges) -> None:
    try:
        check_validity(changes.get("valid_from", known.valid_from), changes.get("valid_to", known.valid_to))
    except ValueError as error:
        raise InvalidInputError(f"valid_to: {error}", field="valid_to") from error


def _arguments(item: str | Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, str):
        return {**shared, "text": item}
    if not isinstance(item, Mapping) or "text" not in item:
        raise InvalidInputError(f"an item is a text, or a dict with one: {str(item)[:80]!r}", field="text")
    if unknown := item.keys() - REMEMBER_FIELDS - {"text"}:
        raise InvalidInputError(f"unknown fields: {', '.join(sorted(unknown))}", field=min(unknown))
    return {**shared, **item}
