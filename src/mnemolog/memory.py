"""The facade: one handle on one namespace, the same over the embedded log and over Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypedDict, Unpack, overload

from mnemolog.producers.arguments import REMEMBER_FIELDS, RememberFields, UpdateFields
from mnemolog.producers.commands import Commands, Ids
from mnemolog.producers.receipts import Receipt
from mnemolog.query.models import Change, Hits, MemoryItem, Page
from mnemolog.query.queries import Queries
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.filters import Filter, parse_filter, to_document
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.positions import Position
from mnemolog.schemas.topics import FEEDBACK
from mnemolog.session import DEFAULT_WAIT_SECONDS, LogSession

if TYPE_CHECKING:
    pass

Receipts: TypeAlias = list[Receipt]
Changes: TypeAlias = list[Change]
_FORGET_BATCH = 1_000


class RecallOptions(TypedDict, total=False):
    """What `recall` takes beside the query."""

    k: int
    kinds: Sequence[str] | None
    tags: Sequence[str] | None
    filters: Filter | None
    threshold: float | None
    min_score: float
    weights: Mapping[str, float] | None
    include_superseded: bool
    after: Position | str | None
    now: datetime | None


class Memory:
    """Agent memory in one namespace. Made by `mnemolog.open` or `mnemolog.connect`; threads may share it.

    A write returns once its event is durable in the log; the views follow in the background. Every read of
    this handle waits first, up to `wait_seconds`, until the views show what this handle wrote.

    Every method raises only `MnemologError`s: InvalidInputError for bad arguments (nothing was appended),
    LogError when an event could not be made durable, WaitTimeoutError when the views lag too far behind.
    """

    def __init__(self, session: LogSession, queries: Queries, commands: Commands) -> None:
        self._session = session
        self._queries = queries
        self._commands = commands

    @property
    def namespace(self) -> Namespace:
        """The namespace that this handle reads and writes."""
        return self._commands.namespace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the log and the views. What was written stays; the views follow at the next open."""
        self._session.close()

    def remember(self, text: str, **fields: Unpack[RememberFields]) -> Receipt:
        """Remember `text`, up to 64 KiB. See `Commands.remember` for the fields.

        With an `id` a retry is harmless; with a `key` the new memory supersedes the one that held the key.
        """
        event = self._commands.remember(text, **fields)
        return Receipt(event.memory_id, self._session.append([event])[0])

    def remember_many(
        self, items: Iterable[str | Mapping[str, Any]], **fields: Unpack[RememberFields]
    ) -> Receipts:
        """Remember many at once: texts, or dicts of the arguments of `remember`. `fields` go for all.

        All are checked before any is appended.
        """
        if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            raise InvalidInputError(f"items: give a list of texts or dicts, not {items!r:.80}", field="items")
        events = [self._commands.remember(**_arguments(item, fields)) for item in items]
        positions = self._session.append(events) if events else []
        return [Receipt(event.memory_id, at) for event, at in zip(events, positions, strict=True)]

    def update(self, id: str, **changes: Unpack[UpdateFields]) -> Receipt:  # noqa: A002 the public name of the field
        """Change the given fields of a memory; all others stay. See `Commands.update`.

        Raises:
            NotFoundError: there is no such memory in this namespace.
        """
        self._require(id)
        return Receipt(id, self._session.append([self._commands.update(id, **changes)])[0])

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

    def feedback(self, recall_id: str | None = None, *, used: Ids = (), ignored: Ids = ()) -> Receipt:
        """Say which of the memories that a recall showed were used and which were ignored.

        The same feedback on the same recall counts once, whoever gives it again and when.
        """
        event = self._commands.feedback(recall_id, used=used, ignored=ignored)
        return Receipt(event.event_id, self._session.append([event])[0])

    @overload
    def recall(
        self, query: str, *, group_by_kind: Literal[False] = ..., **options: Unpack[RecallOptions]
    ) -> Hits: ...
    @overload
    def recall(
        self, query: str, *, group_by_kind: Literal[True], **options: Unpack[RecallOptions]
    ) -> dict[str, Hits]: ...
    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        filters: Filter | None = None,
        threshold: float | None = None,
        min_score: float = 0.0,
        weights: Mapping[str, float] | None = None,
        include_superseded: bool = False,
        after: Position | str | None = None,
        group_by_kind: bool = False,
        now: datetime | None = None,
    ) -> Hits | dict[str, Hits]:
        """The `k` memories that answer `query` best, best first, each with its score and why.

        `tags` must all be there; `filters` is in the filter language. `threshold` is the greatest cosine
        distance (0…2) of a hit, `min_score` its least score. `weights` changes single weights for this call.
        `after` waits for a position, such as another process's receipt. `now` is what ages count from.
        `group_by_kind` gives a dict of kinds, with up to `k` hits each. Superseded memories are left out
        unless asked for, and then count a tenth.

        Nothing known yet is an empty list. An embedder that does not answer leaves keyword search, with a
        warning in the hits.
        """
        self._session.settle(after)
        ask = self._queries.question(
            query,
            k=k,
            kinds=kinds,
            tags=tags,
            filters=filters,
            threshold=threshold,
            min_score=min_score,
            weights=weights,
            include_superseded=include_superseded,
            now=now,
        )
        return self._queries.recall_by_kind(ask) if group_by_kind else self._queries.recall(ask)

    def get(self, id: str, *, after: Position | str | None = None) -> MemoryItem | None:  # noqa: A002
        """The memory, superseded ones too; None if it is unknown, forgotten or expired."""
        self._session.settle(after)
        return self._queries.get(id)

    def list(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        filters: Filter | None = None,
        include_superseded: bool = False,
        after: Position | str | None = None,
    ) -> Page:
        """A page of the memories that were selected, newest first, and how many there are in all."""
        self._session.settle(after)
        return self._queries.page(
            limit=limit,
            offset=offset,
            kinds=kinds,
            tags=tags,
            filters=filters,
            include_superseded=include_superseded,
        )

    def history(self, id: str) -> Changes:  # noqa: A002 the public name of the field
        """What happened to a memory, oldest first: when, by whom and why; of a forgotten one too."""
        self._session.settle()
        return self._queries.history(id)

    def stats(self) -> dict[str, Any]:
        """Counts of this namespace, what the views were built with, and how far they lag behind the log."""
        self._session.settle()
        return self._queries.stats() | {"lag": self.lag()}

    def lag(self) -> dict[str, int]:
        """Topic → how many events of this namespace's partition the views have not applied yet."""
        return self._queries.lag(self._session.log)

    def wait(self, position: Position | str, timeout: float = DEFAULT_WAIT_SECONDS) -> None:
        """Wait until the views have applied `position`.

        Raises:
            WaitTimeoutError: they have not within `timeout` seconds. The event itself is safe in the log.
        """
        self._session.wait(position, timeout)

    def _require(self, memory_id: str) -> MemoryItem:
        self._session.settle()
        return self._queries.require(memory_id)


def _arguments(item: str | Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, str):
        return {**shared, "text": item}
    if not isinstance(item, Mapping) or "text" not in item:
        raise InvalidInputError(f"an item is a text, or a dict with one: {str(item)[:80]!r}", field="text")
    if unknown := item.keys() - REMEMBER_FIELDS - {"text"}:
        raise InvalidInputError(f"unknown fields: {', '.join(sorted(unknown))}", field=min(unknown))
    return {**shared, **item}
