"""Empty view tables of every kind, and rows to put into them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from mnemolog.schemas.ports import ViewTable
from mnemolog.schemas.rows import MEMORY_FIELDS, Row, memories_schema
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.memory_table import MemoryTable
from mnemolog.storage.table import LanceTable, connect_shard

DIM = 8
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
KINDS = ("memory", "lance")
OpenTable: TypeAlias = Callable[[], ViewTable]


def opener(kind: str, folder: Path) -> OpenTable:
    """Makes one more empty memories table of a kind at every call."""
    if kind == "memory":
        return MemoryTable
    shard = connect_shard(folder)
    return lambda: LanceTable.create(shard, uuid.uuid4().hex, memories_schema(DIM), MEMORIES, 0)


def lance_handle(folder: Path, partition: int = 0) -> LanceTable:
    """One more handle on the one table in `folder`."""
    return LanceTable.create(connect_shard(folder), "t", memories_schema(DIM), MEMORIES, partition)


def row(pk: str, offset: int = 0, **changes: Any) -> Row:
    """A live row with a value in most columns."""
    change = {"event_id": "e", "type": "MemoryRemembered", "occurred_at": NOON, "offset": offset}
    blank: Row = dict.fromkeys((field.name for field in MEMORY_FIELDS), None)
    return {
        **blank,
        "pk": pk,
        "namespace": "acme",
        "deleted": False,
        "_off": offset,
        "_fill": 0,
        "id": pk,
        "text": f"text of {pk}",
        "kind": "note",
        "importance": 0.1,
        "tags": ["a", "b"],
        "metadata": '{"x":1}',
        "pinned": False,
        "occurred_at": NOON,
        "recorded_at": NOON + timedelta(microseconds=1),
        "updated_at": NOON,
        "history": [{**change, "agent_id": None, "reason": "why"}],
        "terms": "text of",
        "vector": None,
        **changes,
    }


def pks(found: Iterable[Row]) -> list[str]:
    """The keys of rows, sorted."""
    return sorted(one["pk"] for one in found)
