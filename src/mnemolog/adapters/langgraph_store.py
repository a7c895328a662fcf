"""A LangGraph store: long-term memory of graphs, on mnemolog. Needs the extra `mnemolog[langgraph]`.

    graph = builder.compile(store=MnemologStore(memory))

`store.search(namespace, query=…)` is a recall: hybrid search with explained scores, that learns from
`mark_used` and `mark_ignored`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from mnemolog.adapters.langgraph_filters import checked
from mnemolog.adapters.langgraph_items import Stored, default_text, fields_of, id_of, item_of
from mnemolog.adapters.langgraph_search import Found, NamespaceItems, merged
from mnemolog.adapters.missing import needs
from mnemolog.memory import Memory
from mnemolog.producers.clock import utc_now
from mnemolog.schemas.checks import check_count, check_string
from mnemolog.schemas.errors import InvalidInputError, NotFoundError
from mnemolog.schemas.namespaces import Namespace, make_namespace

with needs("the LangGraph store", "langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
    )
    from langgraph.store.base.embed import get_text_at_path

if TYPE_CHECKING:
    from mnemolog.producers.receipts import Receipt
    from mnemolog.schemas.ports import Clock
    from mnemolog.schemas.positions import Position

DEFAULT_PREFIX = ("langgraph",)
_STALE_SHARE = 0.05
"""A time to live starts anew on a read once this share of it has passed: so reads write little."""


class RecalledItem(SearchItem):
    """What a search with a query found. `recall_id` ties feedback to it, `why` explains the score."""

    __slots__ = ("recall_id", "why")

    def __init__(self, *, recall_id: str, why: str, **fields: Any) -> None:
        super().__init__(**fields)
        self.recall_id = recall_id
        self.why = why


class MnemologStore(BaseStore):
    """A `BaseStore` on the namespaces below that of `memory` and `prefix`, which is the store's own.

    A value that is put is a memory under its key; what is put again replaces it, and its history tells. It
    is found by its `text`, `content`, `memory` or `data`, else as JSON; `fields` says by which paths instead,
    and `index` of a put by which for one item, False for none. Values are JSON objects of up to 64 KiB.

    `ttl` is as other stores have it: minutes, `default_ttl`, `refresh_on_read`. What has expired is not seen.
    The memory stays the caller's to close. Threads and tasks may share a store.

    Every method raises InvalidInputError, which is a ValueError too, for a namespace, value or filter that
    makes no sense; of what it puts, nothing was written then.

    Raises:
        InvalidInputError: a prefix without parts, or fields that are no list.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        prefix: str | Iterable[str] = DEFAULT_PREFIX,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        default_kind: str = "note",
        clock: Clock = utc_now,
    ) -> None:
        self._root = memory.at((*memory.namespace, *make_namespace(prefix)))
        if fields is not None:
            _check_paths("fields", fields)
        self._fields = fields
        self.ttl_config = ttl
        self._kind = default_kind
        self._clock = clock
        self._written: dict[tuple[str, int], Position] = {}
        self._writing = threading.Lock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of `ops`, each of which sees what those before it did."""
        results: list[Result] = []
        for place, group in groupby(ops, _run_of):
            run = list(group)
            if place is None:
                results += [self._one(op) for op in run]
            else:
                self._put_all(place, cast("list[PutOp]", run))
                results += [None] * len(run)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """See `batch`; in a thread, so that the event loop never waits."""
        return await asyncio.to_thread(self.batch, list(ops))

    def mark_used(self, items: Item | Iterable[Item]) -> None:
        """Say that these items helped; of a search with a query, it teaches for which questions."""
        for namespace, recall_id, ids in _judged(items):
            self._at(namespace).mark_used(ids, recall_id=recall_id)

    def mark_ignored(self, items: Item | Iterable[Item]) -> None:
        """Say that these items were of no use; of a search with a query, it teaches for which questions."""
        for namespace, recall_id, ids in _judged(items):
            self._at(namespace).mark_ignored(ids, recall_id=recall_id)

    async def amark_used(self, items: Item | Iterable[Item]) -> None:
        """See `mark_used`."""
        await asyncio.to_thread(self.mark_used, items)

    async def amark_ignored(self, items: Item | Iterable[Item]) -> None:
        """See `mark_ignored`."""
        await asyncio.to_thread(self.mark_ignored, items)

    def _one(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get(op)
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._list(op)
            case PutOp():
                self._note(self._at(op.namespace).forget(id_of(op.key)))
                return None
        raise InvalidInputError(f"an operation is a get, put, search or list, not {op!r:.80}", field="ops")

    def _at(self, namespace: Namespace) -> Memory:
        return self._root.at((*self._root.namespace, *make_namespace(namespace)))

    def _note(self, receipt: Receipt) -> None:
        at = receipt.position
        with self._writing:
            known = self._written.get((at.topic, at.partition))
            if known is None or known.offset < at.offset:
                self._written[at.topic, at.partition] = at

    def _put_all(self, namespace: Namespace, ops: Sequence[PutOp]) -> None:
        now = self._clock()
        items = [
            fields_of(op.key, cast("Any", op.value), partial(self._texts, op), op.ttl, now, self._kind)
            for op in ops
        ]
        for receipt in self._at(namespace).remember_many(items):
            self._note(receipt)

    def _texts(self, op: PutOp, value: dict[str, Any]) -> list[str]:
        paths = self._fields if op.index is None else op.index
        if paths is False:
            return []
        if paths is None:
            return default_text(value)
        _check_paths("index", paths)
        return [text for path in paths for text in get_text_at_path(value, path)]

    def _get(self, op: GetOp) -> Item | None:
        place = self._at(op.namespace)
        memory = place.get(id_of(op.key))
        stored = None if memory is None else item_of(memory)
        if memory is None or stored is None:
            return None
        if op.refresh_ttl:
            self._refresh(place, stored, memory.expires_at)
        return Item(namespace=op.namespace, **_shown(stored))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        check_count("limit", op.limit, 0, 2**31)
        check_count("offset", op.offset, 0, 2**31)
        if op.query is not None:
            check_string("query", op.query)
        conditions, wanted, own = checked(op.filter), op.offset + op.limit, len(self._root.namespace)
        places = [NamespaceItems(self._root.at(name)) for name in self._names(op.namespace_prefix)]
        found = merged([place.search(op.query, conditions, wanted) for place in places])
        shown = found[op.offset : wanted]
        if op.refresh_ttl:
            for one in shown:
                self._refresh(self._root.at(one.namespace), one.item, one.expires_at)
        return [_result(one, one.namespace[own:]) for one in shown]

    def _names(self, prefix: Namespace) -> list[Namespace]:
        """The namespaces below the root that begin with `prefix` and hold anything."""
        with self._writing:
            written = list(self._written.values())
        for position in written:
            self._root.wait(position)
        own = self._root.namespace
        asked = (*own, *(make_namespace(prefix) if prefix else ()))
        held = self._root.namespaces()
        return [name for name in held if name != own and name[: len(asked)] == asked]

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        check_count("limit", op.limit, 0, 2**31)
        check_count("offset", op.offset, 0, 2**31)
        if op.max_depth is not None:
            check_count("max_depth", op.max_depth, 1, 2**31)
        own = len(self._root.namespace)
        names = {name[own:] for name in self._names(())}
        fitting = [name for name in names if all(_fits(name, one) for one in op.match_conditions or ())]
        return sorted({name[: op.max_depth] for name in fitting})[op.offset : op.offset + op.limit]

    def _refresh(self, place: Memory, item: Stored, expires_at: Any) -> None:
        """Let the time to live of an item begin anew, if enough of it has passed."""
        if item.ttl is None or expires_at is None:
            return
        left = (expires_at - self._clock()).total_seconds()
        if left > item.ttl * 60 * (1 - _STALE_SHARE):
            return
        try:
            place.update(id_of(item.key), ttl_seconds=item.ttl * 60)
        except NotFoundError:
            return  # forgotten, or expired, meanwhile


def _check_paths(field: str, paths: object) -> None:
    listed = isinstance(paths, Sequence) and not isinstance(paths, str)
    if not (listed and all(isinstance(path, str) for path in paths)):  # type: ignore[attr-defined]
        raise InvalidInputError(f"{field} is a list of paths, not {paths!r:.80}", field=field)


def _run_of(op: Op) -> Namespace | None:
    """The namespace of a put, since those that follow each other go in one append; None for all else."""
    return op.namespace if isinstance(op, PutOp) and op.value is not None else None


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, as the condition says; `*` stands for any part."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        message = f"a match is a prefix or a suffix, not {condition.match_type!r}"
        raise InvalidInputError(message, field="match_conditions")
    if len(namespace) < len(path):
        return False
    parts = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(wanted in ("*", part) for part, wanted in zip(parts, path, strict=False))


def _shown(item: Stored) -> dict[str, Any]:
    return {
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def _result(found: Found, namespace: Namespace) -> SearchItem:
    fields = {"namespace": namespace, **_shown(found.item), "score": found.score}
    if found.recall_id is None:
        return SearchItem(**fields)
    return RecalledItem(recall_id=found.recall_id, why=found.why, **fields)


def _judged(items: Item | Iterable[Item]) -> list[tuple[Namespace, str | None, list[str]]]:
    """The items by namespace and by the recall that showed them: their memories' ids."""
    given = [items] if isinstance(items, Item) else list(items) if isinstance(items, Iterable) else []
    if not given or not all(isinstance(one, Item) for one in given):
        raise InvalidInputError("items: give an item of the store, or a list of them", field="items")
    judged: dict[tuple[Namespace, str | None], list[str]] = {}
    for one in given:
        judged.setdefault((one.namespace, getattr(one, "recall_id", None)), []).append(id_of(one.key))
    return [(*named, ids) for named, ids in judged.items()]
