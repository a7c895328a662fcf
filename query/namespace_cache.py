"""One namespace in memory: vectors, postings and columns, kept fresh from the view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mnemolog.query.masks import Encoded, mask_of
from mnemolog.query.postings import Postings
from mnemolog.query.row_store import RowStore
from mnemolog.query.scoring.shapes import SHAPE_FLAGS, shapes_of, spoken_days
from mnemolog.query.scoring.whole import Part
from mnemolog.query.vectors import Vectors
from mnemolog.schemas.filters import Node
from mnemolog.schemas.rows import Row, memories_schema
from mnemolog.storage.arrow import KEPT, vector_matrix

_HOT_TIMES = ("occurred_at", "touched_at", "expires_at")
_NOT_KEPT = (
    "vector", "terms", "history", "origin", "slot", "successor", "_fill", "deleted", "embed_error",
    "timeline", "rank", "rests_on",
)  # fmt: skip
READ = tuple(
    name
    for name in memories_schema(1).names
    if name not in _NOT_KEPT or name in ("vector", "terms", "_fill", "deleted")
)
"""The columns of the view that a cache takes."""

_FIRST_CAPACITY = 64


class Numbered:
    """Numbers the distinct values of a column in the order they are met; None is −1."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def numbers(self, values: Iterable[str | None]) -> list[int]:
        """The number of each value."""
        known = self.values
        return [-1 if value is None else known.setdefault(value, len(known)) for value in values]


class NamespaceCache:
    """The live memories of one namespace, each in a slot; a changed memory moves to a new slot.

    Arrays run over slots: times in seconds since 1970 with NaN for none, `offset`
    that of the last change in the log. `alive` says which slots count. Where these are only some of the
    memories, `part` knows what holds of all. Not safe for threads: the owner holds a lock.
    """

    def __init__(self, dim: int | None, part: Part | None = None) -> None:
        self.part = part
        self.size = 0
        self.changes = 0
        self.live: tuple[Any, Any] | None = None
        self.authors = Numbered()
        self.threads = Numbered()
        self.next_offset = 0
        self.last_fill = 0
        self.postings = Postings(part.whole if part else None)
        self.slot_of: dict[str, int] = {}
        self.vectors = Vectors(dim or 0)
        self._rows = RowStore()
        self._usage: dict[str, Row] = {}
        self.usage_next_offset = 0
        self._columns: dict[str, Encoded] = {}
        self._reserve(_FIRST_CAPACITY)

    def reserve(self, more: int) -> None:
        """Make room for so many more memories at once."""
        if self.size + more > len(self.alive):
            self._reserve(self.size + more)

    def _reserve(self, capacity: int) -> None:
        def grown(name: str, shape: tuple[int, ...], kind: type, fill: float | bool) -> Any:
            array: NDArray[Any] = np.full(shape, fill, dtype=kind)
            if self.size:
                array[: self.size] = getattr(self, name)[: self.size]
            return array

        self.vectors.reserve(capacity)
        self.alive = grown("alive", (capacity,), np.bool_, False)
        self.offset = grown("offset", (capacity,), np.int64, -1)
        self.has_vector = grown("has_vector", (capacity,), np.bool_, False)
        self.superseded = grown("superseded", (capacity,), np.bool_, False)
        self.pinned = grown("pinned", (capacity,), np.bool_, False)
        self.occurred = grown("occurred", (capacity,), np.float64, np.nan)
        self.used = grown("used", (capacity,), np.float64, np.nan)
        self._touched = grown("_touched", (capacity,), np.float64, np.nan)
        self.expires = grown("expires", (capacity,), np.float64, np.nan)
        self.importance = grown("importance", (capacity,), np.float64, np.nan)
        self.author = grown("author", (capacity,), np.int64, -1)
        self.thread = grown("thread", (capacity,), np.int64, -1)
        self.words = grown("words", (capacity,), np.float64, 0.0)
        self.spoken = grown("spoken", (capacity,), np.int32, 0)
        self.shape = grown("shape", (capacity, len(SHAPE_FLAGS)), np.bool_, False)

    def upsert(self, parts: Iterable[pa.Table]) -> None:
        """Take rows of the memories view as they stand now, tombstones among them.

        Ended before the last of `parts`, it can be begun again: all of it is news still.
        """
        next_offset, last_fill = self.next_offset, self.last_fill
        for table in parts:
            if table.num_rows:
                self._columns.clear()
                self.changes += 1
                next_offset = max(next_offset, _max(table, "_off") + 1)
                last_fill = max(last_fill, _max(table, "_fill"))
                self._take(table)
        self.next_offset, self.last_fill = next_offset, last_fill

    def _take(self, table: pa.Table) -> None:
        for pk in table.column("pk").to_pylist() if self.slot_of else ():
            self._drop(pk)
        self._append(_by_offset(pc.filter(table, _live(table), memory_pool=KEPT)))
        if self._rows.many:
            self._rows.consolidate(np.flatnonzero(self.alive[: self.size]))

    def _drop(self, pk: str) -> None:
        slot = self.slot_of.pop(pk, None)
        if slot is not None:
            self.alive[slot] = False
            self.postings.remove(slot)

    def _append(self, table: pa.Table) -> None:
        count, start = table.num_rows, self.size
        if start + count > len(self.alive):
            self._reserve(max(2 * len(self.alive), start + count))
        end = start + count
        if "vector" in table.column_names and count:
            values, self.has_vector[start:end] = vector_matrix(table.column("vector"))
            self.vectors.put(start, values)
        self.alive[start:end] = True
        self.offset[start:end] = table.column("_off").to_numpy()
        self.pinned[start:end] = _flags(table.column("pinned"))
        self.superseded[start:end] = table.column("superseded_by").is_valid().to_numpy(zero_copy_only=False)
        times = {name: _seconds(table.column(name)) for name in _HOT_TIMES}
        self.occurred[start:end], self.expires[start:end] = times["occurred_at"], times["expires_at"]
        self._touched[start:end] = np.fmax(times["occurred_at"], times["touched_at"])
        self.used[start:end] = self._touched[start:end]
        self.importance[start:end] = _floats(table.column("importance"))
        self.author[start:end] = self.authors.numbers(table.column("author").to_pylist())
        self.thread[start:end] = self.threads.numbers(table.column("thread_id").to_pylist())
        texts = table.column("text").combine_chunks()
        self.words[start:end], self.shape[start:end] = shapes_of(texts)
        self.spoken[start:end] = spoken_days(texts, self.shape[start:end], self.occurred[start:end])
        self._rows.extend(
            start, table.drop_columns([name for name in _NOT_KEPT if name in table.column_names])
        )
        self.size = end
        self._index(table, start)

    def _index(self, table: pa.Table, start: int) -> None:
        self.postings.extend(start, table.column("terms"))
        pks = table.column("pk").to_pylist()
        self.slot_of.update(zip(pks, range(start, self.size), strict=True))
        for pk in self._usage.keys() & pks:
            self._apply_usage(pk)

    def upsert_usage(self, rows: list[Row]) -> None:
        """Take the memories' rows of the usage view as they stand now, tombstones among them."""
        for row in rows:
            self.usage_next_offset = max(self.usage_next_offset, row["_off"] + 1)
            if row["deleted"]:
                self._usage.pop(row["memory_pk"], None)
            else:
                self._usage[row["memory_pk"]] = row
            self._apply_usage(row["memory_pk"])

    def _apply_usage(self, pk: str) -> None:
        usage, slot = self._usage.get(pk), self.slot_of.get(pk)
        if slot is not None:
            last = usage["last_used_at"] if usage else None
            self.used[slot] = np.fmax(self._touched[slot], np.nan if last is None else last.timestamp())

    def usage(self, pk: str) -> Row | None:
        """The usage row of a memory."""
        return self._usage.get(pk)

    def used_slots(self) -> Iterator[tuple[int, Row]]:
        """The slots of the memories that were ever used or ignored, each with its usage row."""
        for pk, row in self._usage.items():
            if pk in self.slot_of:
                yield self.slot_of[pk], row

    def column(self, name: str, slots: NDArray[np.int64]) -> pa.Array:
        """One column of the memories in `slots`, in that order."""
        return self._rows.column(name, slots)

    def values(self, name: str, slots: NDArray[np.int64]) -> Encoded:
        """One column of `slots`, or metadata path such as `metadata.city`: the distinct values, and which of
        them each has."""
        codes, values = self._column(name)
        return codes[slots], values

    def row(self, slot: int) -> Row:
        """The columns of the memory in a slot."""
        return self._rows.row(slot)

    def counts(self, name: str, slots: NDArray[np.int64]) -> dict[Any, int]:
        """The values of a column among `slots`, each with how often it is there, in their own order."""
        codes, values = self._column(name)
        numbers = np.bincount(codes[slots], minlength=len(values))
        return {values[at]: int(numbers[at]) for at in np.argsort([str(v) for v in values]) if numbers[at]}

    @property
    def wasteful(self) -> bool:
        """Whether dead slots outweigh the live ones, so that a reload is due."""
        return self.size > 2 * len(self.slot_of) + 1_000

    def visible(self, now: float, *, superseded: bool) -> NDArray[np.bool_]:
        """Which slots may be shown at `now` (seconds): alive, not expired, replaced ones only if asked."""
        expires = self.expires[: self.size]
        mask = self.alive[: self.size] & ~(expires <= now)
        shown: NDArray[np.bool_] = mask if superseded else mask & ~self.superseded[: self.size]
        return shown

    def in_order(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """`slots` in the order of the last changes in the log, those of one event by key: whatever is decided
        by the order is decided alike, however the views were committed and read."""
        if _ascends(offsets := self.offset[slots], strictly=True):
            return slots
        order = np.argsort(offsets, kind="stable")
        slots, offsets = slots[order], offsets[order]
        same = np.flatnonzero(offsets[1:] == offsets[:-1])
        if same.size:
            tied = np.union1d(same, same + 1)
            keys = self.column("pk", slots[tied]).to_pylist()
            slots[tied] = slots[tied][np.lexsort((np.array(keys), offsets[tied]))]
        return slots

    def matching(self, node: Node, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The slots in `mask` that the filter selects."""
        return mask & mask_of(node, self._column, self.size)

    def _column(self, name: str) -> Encoded:
        if name not in self._columns:
            slots = np.flatnonzero(self.alive[: self.size])
            by_slot, found = np.zeros(self.size, dtype=np.int64), self._rows.encoded(name, slots)
            if found is None:
                return by_slot, []
            by_slot[slots] = found[0]
            self._columns[name] = (by_slot, found[1])
        return self._columns[name]

    @property
    def nbytes(self) -> int:
        """About how much memory this takes."""
        arrays = (self.vectors, self.occurred, self.used, self.expires, self.importance)
        own = sum(array.nbytes for array in arrays) + 200 * len(self.slot_of)
        return int(own + self._rows.nbytes + self.postings.nbytes)


def _max(table: pa.Table, name: str) -> int:
    return int(np.max(table.column(name).to_numpy()))


def _live(table: pa.Table) -> pa.Array:
    return pa.array(~table.column("deleted").to_numpy(zero_copy_only=False))


def _by_offset(table: pa.Table) -> pa.Table:
    offsets = table.column("_off").to_numpy()
    return (
        table
        if _ascends(offsets)
        else pc.take(table, pa.array(np.argsort(offsets, kind="stable")), memory_pool=KEPT)
    )


def _ascends(values: NDArray[np.int64], *, strictly: bool = False) -> bool:
    later, earlier = values[1:], values[:-1]
    return bool(np.all(later > earlier if strictly else later >= earlier))


def _flags(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = column.fill_null(False).to_numpy(zero_copy_only=False).astype(bool)
    return flags


def _seconds(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return _floats(column.cast(pa.int64())) / 1e6


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    values: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values
