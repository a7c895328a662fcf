"""A view's table in LanceDB: rows and the applied offset, committed together."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from mnemolog.schemas.errors import ViewError, ViewMissingError
from mnemolog.schemas.filters import EVERYTHING, Node
from mnemolog.schemas.matching import matches
from mnemolog.schemas.rows import META_NAMESPACE, Row, applied_pk, filled_pk
from mnemolog.storage.arrow import from_arrow, to_arrow
from mnemolog.storage.engine import lancedb
from mnemolog.storage.looks import looked
from mnemolog.storage.presence import Presence
from mnemolog.storage.reads import read, reading, stream
from mnemolog.storage.sql import has_any, is_in, literal, to_sql
from mnemolog.storage.upkeep import Upkeep, pinned

_NEWER = "source._off > target._off OR (source._off = target._off AND source._fill > target._fill)"
_CHUNK = 1_000
_ASKED = 5_000
_COARSEST_STAMP_NS = 100_000_000
_INDEX_CACHE_BYTES = 64 * 2**20
_METADATA_CACHE_BYTES = 8 * 2**20
_PRIMARY_KEY = {
    "lance-schema:unenforced-primary-key": "true",
    "lance-schema:unenforced-primary-key:position": "1",
}


def new_session() -> Any:
    """LanceDB's caches, bounded, for shards below one root.

    They take something in with every commit and forget nothing by themselves; their own bound is 7 GiB. Not
    for all of the process: they know a table by its place, and one made anew there is another.
    """
    return lancedb.Session(_INDEX_CACHE_BYTES, _METADATA_CACHE_BYTES)


def connect_shard(uri: str | Path, session: Any = None) -> Any:
    """The LanceDB database of one shard, with the caches of `session`, or its own.

    The zero consistency interval makes every read and write see the newest version: a handle on an older one
    would write duplicates without an error.
    """
    caches = session or new_session()
    return lancedb.connect(str(uri), read_consistency_interval=timedelta(0), session=caches)


def _keyed(schema: pa.Schema) -> pa.Schema:
    """`schema` with `pk` as its key: of rows with one key that are inserted at once, one stays."""
    at = schema.get_field_index("pk")
    return schema.set(at, schema.field(at).with_metadata(_PRIMARY_KEY))


def _meta_row(pk: str, offset: int, fill: int) -> Row:
    return {"pk": pk, "namespace": META_NAMESPACE, "deleted": True, "_off": offset, "_fill": fill}


@dataclass(frozen=True, slots=True)
class TableState:
    """A version of a table, by whichever process it was committed. `settled`: no other can have its stamp.
    `files` identifies the names of the versions that there are."""

    version: int
    stamp: int | None
    settled: bool
    files: int | None = None


class LanceTable:
    """One table of one shard, fed by one partition of `topic`. It has one writer at a time."""

    def __init__(self, open_: Callable[[], Any], topic: str, partition: int) -> None:
        self._open, self._table = open_, open_()
        self._schema: pa.Schema = self._table.schema
        self._versions_folder = f"{self._table.uri}/_versions"
        self._applied_pk = applied_pk(topic, partition)
        self._filled_pk = filled_pk(topic, partition)
        self._upkeep = Upkeep(self._table)
        self._applied: tuple[int, int] | None = None
        self._presence: Presence | None = None

    @classmethod
    def create(cls, shard: Any, name: str, schema: pa.Schema, topic: str, partition: int) -> LanceTable:
        """The table `name`, made if it is not there yet, for its writer.

        For the one who makes a generation, before others know of it: of two who make a table at the same
        time the later may replace the earlier one's, with all that is in it.
        """
        try:
            shard.open_table(name)
        except (ValueError, FileNotFoundError):
            shard.create_table(name, schema=_keyed(schema))
        return cls.open(shard, name, topic, partition, writes=True)

    @classmethod
    def open(cls, shard: Any, name: str, topic: str, partition: int, *, writes: bool = False) -> LanceTable:
        """The table `name`; say if it is for its writer.

        Raises:
            ViewMissingError: the generation has no such table.
        """
        try:
            table = cls(partial(shard.open_table, name), topic, partition)
        except (ValueError, FileNotFoundError) as error:
            raise ViewMissingError(f"there is no table {name!r} in this shard") from error
        table._presence = Presence() if writes else None
        return table

    @property
    def lance(self) -> Any:
        """The LanceDB table itself, for searches and upkeep."""
        return self._table

    def opened(self) -> Any:
        """A LanceDB handle on the table, for one alone."""
        return self._open()

    def state(self, known: TableState | None = None) -> TableState:
        """The newest state; `known`, an earlier one, makes it cheap to see that nothing changed.

        A folder's time stamp tells that in microseconds. File systems stamp coarsely, so a stamp that was
        fresh when it was read proves nothing, and the names in the folder tell, or the version is read.
        """
        return looked(self._versions_folder, lambda: self._state(known))

    def _state(self, known: TableState | None) -> TableState:
        stamp = self._folder_stamp()
        if known is not None and known.settled and stamp == known.stamp:
            return known
        settled = stamp is not None and time.time_ns() - stamp > _COARSEST_STAMP_NS
        files = None if stamp is None else self._files()  # before the version: one that comes between is seen
        if known is not None and files is not None and files == known.files:
            return TableState(known.version, stamp, settled, files)
        return TableState(self.revision(), stamp, settled, files)

    def _files(self) -> int | None:
        try:
            return hash(frozenset(os.listdir(self._versions_folder)))  # noqa: PTH208 every recall asks
        except OSError:
            return None

    def revision(self) -> int:
        """See `ViewTable.revision`."""
        with reading():
            return int(self._table.version)

    def _folder_stamp(self) -> int | None:
        try:
            return os.stat(self._versions_folder).st_mtime_ns  # noqa: PTH116 every recall asks
        except OSError:
            return None

    def applied(self) -> int:
        """The next offset to apply: all before it are in the rows."""
        version = self.revision()
        if self._applied is None or self._applied[0] != version:
            self._applied = (version, int(self._meta(self._applied_pk).get("_off", -1)) + 1)
        return self._applied[1]

    def reached(self) -> tuple[int, int, int] | None:
        """The newest version, the next offset to apply and the last fill in it; None if it was replaced while
        it was read."""
        version = self.revision()
        reached = int(self._meta(self._applied_pk).get("_off", -1)) + 1
        fill = int(self._meta(self._filled_pk).get("_fill", 0))
        return (version, reached, fill) if self.revision() == version else None

    def _meta(self, pk: str) -> Row:
        found = self.where(is_in("pk", [pk]), ["_off", "_fill"])
        return found.to_pylist()[0] if found.num_rows else {}

    def lookup(self, column: str, values: Collection[str]) -> list[Row]:
        """The rows whose `column` is, or if it is a list holds, one of `values`, tombstones included."""
        wanted = sorted(self._possible(column, list(values)))
        found: dict[str, Row] = {}
        likely = self._presence is not None and self._presence.knows(column)
        among = has_any if pa.types.is_list(self._schema.field(column).type) else is_in
        for start in range(0, len(wanted), _ASKED):
            condition = among(column, wanted[start : start + _ASKED])
            if likely or self.holds(condition):
                found |= {row["pk"]: row for row in from_arrow(self.where(condition))}
        return list(found.values())

    def _possible(self, column: str, values: list[str]) -> list[str]:
        """`values` without those that the column certainly does not hold."""
        known = self._presence
        if known is None:
            return values
        known.at(self.applied())
        if not known.knows(column):
            if not known.ask(column, len(values), self.count("true")):
                return values
            known.learn(column, self._column(column))
        return known.possible(column, values)

    def _column(self, name: str) -> Iterator[list[object]]:
        for batch in stream(self._table.search().select([name])):
            yield batch.column(0).to_pylist()

    def holds(self, condition: str) -> bool:
        """Whether an SQL condition holds for any row, which takes a third of the time of a read."""
        return self.count(condition) > 0

    def count(self, condition: str) -> int:
        """How many rows an SQL condition holds for; build it with `storage.sql`."""
        return int(read(partial(self._table.count_rows, condition)))

    def select(self, namespace: str, node: Node = EVERYTHING) -> list[Row]:
        """The live rows of a namespace that the filter selects."""
        sql, exact = to_sql(node)
        rows = from_arrow(self.where(f"namespace = {literal(namespace)} AND NOT deleted AND {sql}"))
        return rows if exact else [row for row in rows if matches(node, row)]

    def scan(self) -> Iterator[Row]:
        """Every row of the view, tombstones included, in no order; a few thousand at once are in memory."""
        condition = f"namespace <> {literal(META_NAMESPACE)}"
        with reading(), pinned(self._open()) as table:
            for batch in table.search().where(condition).to_batches(_CHUNK):
                yield from from_arrow(pa.Table.from_batches([batch]))

    def pending(self, limit: int, skip: int = 0) -> list[Row]:
        """Up to `limit` live rows that still lack their vector, after the first `skip` of them."""
        query = self._table.search().where("vector IS NULL AND NOT deleted")
        return from_arrow(read(query.limit(limit).offset(skip).to_arrow))

    def where(self, condition: str, columns: list[str] | None = None) -> pa.Table:
        """The rows for which an SQL condition holds; build it with `storage.sql`, never by hand."""
        query = self._table.search().where(condition)
        found: pa.Table = read((query if columns is None else query.select(columns)).to_arrow)
        return found

    def batches(self, condition: str, columns: Sequence[str], size: int, count: int) -> Iterator[pa.Table]:
        """The about `count` rows for which an SQL condition holds, up to about `size` at a time; of `columns`
        those that the table has."""
        names = [name for name in columns if name in self._schema.names]
        if count <= size:
            yield self.where(condition, names)
            return
        with reading(), pinned(self._open()) as table:
            for batch in table.search().where(condition).select(names).to_batches(size):
                yield pa.Table.from_batches([batch])

    def commit(self, rows: Sequence[Row], offset: int) -> None:
        """Write `rows` and the fact that all up to `offset` is applied, in one commit.

        A row that is there already at the same or a later offset stays: a stale writer changes nothing.
        """
        before = self._applied
        version = self._merge([*rows, _meta_row(self._applied_pk, offset, 0)])
        if before is not None and version == before[0] + 1:
            self._applied = (version, max(before[1], offset + 1))
            if self._presence is not None and self._presence.applied == before[1]:
                self._presence.add(rows, self._applied[1])
        self._upkeep.committed(version)

    def unindexed_rows(self) -> int:
        """The rows that some index of the table does not have yet; reads look through them one by one."""
        names = [index.name for index in self._table.list_indices()]
        found = (self._table.index_stats(name) for name in names)
        return max((one.num_unindexed_rows for one in found if one is not None), default=0)

    def due(self, now: float) -> bool:
        """See `ViewTable.due`."""
        return self._upkeep.due(now)

    def tend(self, now: float, alone: bool) -> bool:
        """See `ViewTable.tend`."""
        return self._upkeep.tend(now, alone)

    def fill(self, rows: Sequence[Row]) -> None:
        """Write rows whose vectors came late; a row that changed meanwhile stays."""
        fill = int(self._meta(self._filled_pk).get("_fill", 0)) + 1
        version = self._merge(
            [*({**row, "_fill": fill} for row in rows), _meta_row(self._filled_pk, 0, fill)]
        )
        self._upkeep.committed(version)

    def _merge(self, rows: Sequence[Row]) -> int:
        """Write rows where they are newer; the version that this made."""
        merge = self._table.merge_insert("pk").use_index(False)
        merge = merge.when_matched_update_all(where=_NEWER).when_not_matched_insert_all()
        try:
            return int(merge.execute(to_arrow(rows, self._schema), on_bad_vectors="null").version)
        except (OSError, RuntimeError, ValueError) as error:
            raise ViewError(f"the view could not be written: {error}") from error
