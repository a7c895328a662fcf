"""The columns of a namespace's memories as Arrow, in the pieces in which they were read.

A column that has one value throughout a piece, or none, is not in it: of some forty columns, most memories
have a dozen, and half of these say the same of all.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from struct import calcsize
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mnemolog.query.masks import Encoded, encode_column, encode_path
from mnemolog.schemas.rows import Row
from mnemolog.storage.arrow import KEPT

Slots: TypeAlias = NDArray[np.int64]

_MAX_CHUNKS = 64
_ALIKE_FROM = 64
"""In so large a piece it is worth to look which columns have one value."""

_MAX_DECODED = 1_024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RowStore:
    """Rows in numbered slots. Not safe for threads."""

    def __init__(self) -> None:
        self._schema = pa.schema([])
        self._chunks: list[pa.Table] = []
        self._alike: list[Row] = []
        self._cells: list[dict[str, Callable[[int], Any]]] = []
        self._place = np.zeros((0, 2), dtype=np.int32)
        self._rows: dict[int, Row] = {}

    def extend(self, start: int, table: pa.Table) -> None:
        """Put the rows of `table` into the slots from `start` on."""
        end = start + table.num_rows
        if end > len(self._place):
            more = max(end, 5 * len(self._place) // 4) - len(self._place)
            self._place = np.concatenate([self._place, np.full((more, 2), -1, dtype=np.int32)])
        self._place[start:end, 0], self._place[start:end, 1] = len(self._chunks), np.arange(table.num_rows)
        self._schema = table.schema
        self._add(table)

    def _add(self, table: pa.Table) -> None:
        empty = [name for name in table.column_names if table.column(name).null_count == table.num_rows]
        alike = _alike(table.drop_columns(empty)) if table.num_rows >= _ALIKE_FROM else {}
        self._alike.append(alike)
        self._chunks.append(table.drop_columns([*empty, *alike]).combine_chunks(KEPT))

    @property
    def many(self) -> bool:
        """Whether there are so many pieces that they should be put together."""
        return len(self._chunks) > _MAX_CHUNKS

    def consolidate(self, slots: Slots) -> None:
        """One piece of the rows of `slots`; the others go, the slots stay."""
        places = pa.array(self.places(slots))
        names = {name for chunk in self._chunks for name in chunk.column_names}.union(*self._alike)
        fields = [field for field in self._schema if field.name in names]
        columns = [
            pc.take(self._whole(field.name), places, memory_pool=KEPT).combine_chunks(KEPT)
            for field in fields
        ]
        for pieces in (self._chunks, self._alike, self._cells):
            pieces.clear()
        self._add(pa.Table.from_arrays(columns, schema=pa.schema(fields)))
        self._place[slots, 0], self._place[slots, 1] = 0, np.arange(len(slots))

    def places(self, slots: Slots) -> Slots:
        """Where the rows of `slots` stand in all pieces put end to end."""
        starts = np.cumsum([0, *(chunk.num_rows for chunk in self._chunks)])
        places: Slots = starts[self._place[slots, 0]] + self._place[slots, 1]
        return places

    def column(self, name: str, slots: Slots) -> pa.Array:
        """One column of the rows in `slots`, in that order."""
        return self._whole(name).combine_chunks().take(pa.array(self.places(slots)))

    def encoded(self, name: str, slots: Slots) -> Encoded | None:
        """A column, or metadata path such as `metadata.city`, of `slots`; None where there are no rows."""
        if not self._chunks:
            return None
        field, _, path = name.partition(".")
        whole = self._whole(field)
        codes, values = encode_path(whole, path) if path else encode_column(whole)
        return codes[self.places(slots)], values

    def _whole(self, name: str) -> pa.ChunkedArray:
        kind = self._schema.field(name).type
        pieces = [
            chunk.column(name).chunk(0)
            if name in chunk.column_names
            else pa.repeat(pa.scalar(alike.get(name), kind), chunk.num_rows)
            for chunk, alike in zip(self._chunks, self._alike, strict=True)
        ]
        return pa.chunked_array(pieces, type=kind)

    def row(self, slot: int) -> Row:
        """The row in a slot."""
        if slot not in self._rows:
            if len(self._rows) >= _MAX_DECODED:
                self._rows.clear()
            self._rows[slot] = self._decoded(slot)
        return self._rows[slot]

    def _decoded(self, slot: int) -> Row:
        chunk, at = self._place[slot].tolist()
        for table in self._chunks[len(self._cells) :]:
            self._cells.append({name: _cell(table.column(name).chunk(0)) for name in table.column_names})
        row = dict.fromkeys(self._schema.names)
        row.update(self._alike[chunk])
        for name, cell in self._cells[chunk].items():
            row[name] = cell(at)
        return row

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self._place.nbytes + sum(chunk.nbytes for chunk in self._chunks))


def _alike(table: pa.Table) -> Row:
    """The value of each column that has one throughout."""
    return {
        name: table.column(name)[0].as_py() for name in table.column_names if _is_alike(table.column(name))
    }


def _is_alike(column: pa.ChunkedArray) -> bool:
    if pa.types.is_list(column.type):
        return not column.null_count and not any(len(piece.flatten()) for piece in column.chunks)
    kinds = pa.types.is_string(column.type) or pa.types.is_boolean(column.type)
    return bool(kinds and not column.null_count and pc.all(pc.equal(column, column[0])).as_py())


def _cell(array: pa.Array) -> Callable[[int], Any]:
    """Gives one value of a column. Arrow's own way takes several times as long, and ten for a time."""
    there = _there(array)
    if there is None:
        return lambda at: array[at].as_py()
    if not array.null_count:
        return there
    valid, start = memoryview(array.buffers()[0]), array.offset
    return lambda at: there(at) if valid[at + start >> 3] >> (at + start & 7) & 1 else None


def _there(array: pa.Array) -> Callable[[int], Any] | None:
    """Gives one value of a column that is not null; None for a type that is left to Arrow."""
    kind, start, buffers = array.type, array.offset, array.buffers()
    if pa.types.is_timestamp(kind):
        micros = _numbers(buffers[1], "q")
        return lambda at: _EPOCH + timedelta(microseconds=micros[at + start])
    if pa.types.is_float64(kind) or pa.types.is_int64(kind):
        numbers = _numbers(buffers[1], "d" if pa.types.is_float64(kind) else "q")
        return lambda at: numbers[at + start]
    if pa.types.is_list(kind):
        ends = _numbers(buffers[1], "i")
        return lambda at: array[at].as_py() if ends[at + start] < ends[at + start + 1] else []
    if not pa.types.is_string(kind):
        return None
    ends, texts = _numbers(buffers[1], "i"), memoryview(buffers[2] or b"")
    return lambda at: str(texts[ends[at + start] : ends[at + start + 1]], "utf-8")


def _numbers(buffer: pa.Buffer, code: Literal["i", "q", "d"]) -> Any:
    whole = memoryview(buffer).cast("B")
    return whole[: len(whole) // calcsize(code) * calcsize(code)].cast(code)
