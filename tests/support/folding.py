"""Given events, when more come, then rows: folds over a table in memory, as the shell runs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np

from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.processors.folds.port import Fold
from mnemolog.processors.folds.usage import UsageFold
from mnemolog.processors.folds.usefulness import UsefulnessFold
from mnemolog.processors.materialize import fold_batch
from mnemolog.schemas import events as ev
from mnemolog.schemas.codec import encode
from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import parse_filter
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.ports import ViewTable
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.rows import Row, memory_pk, slot_of
from mnemolog.storage.memory_table import MemoryTable

ALICE: Namespace = ("acme", "alice")
BOB: Namespace = ("acme", "bob")
START = datetime(2026, 1, 1, tzinfo=UTC)
_SAYS_WHAT_CAME = ("_off", "events", "repeats")
MINUTE = timedelta(minutes=1)

_numbers = count()


def _envelope(fields: dict[str, Any]) -> dict[str, Any]:
    number = next(_numbers)
    return {"event_id": f"e{number}", "namespace": ALICE, "occurred_at": START + number * MINUTE, **fields}


def remember(memory_id: str, text: str, **fields: Any) -> ev.MemoryRemembered:
    """An event with an id and a time of its own; `fields` name others, the namespace ALICE among them."""
    return ev.MemoryRemembered(**_envelope({"memory_id": memory_id, "text": text, **fields}))


def update(memory_id: str, reason: str | None = None, event_id: str | None = None, **changes: Any) -> Event:
    """A patch of the fields in `changes`."""
    own = {} if event_id is None else {"event_id": event_id}
    return ev.MemoryUpdated(
        **_envelope({"memory_id": memory_id, "changes": changes, "reason": reason, **own})
    )


def supersede(memory_id: str, by: str, **fields: Any) -> Event:
    """`memory_id` is replaced by `by`."""
    return ev.MemorySuperseded(**_envelope({"memory_id": memory_id, "by": by, **fields}))


def forget(*memory_ids: str, **fields: Any) -> Event:
    """These memories are forgotten."""
    return ev.MemoryForgotten(**_envelope({"memory_ids": memory_ids, **fields}))


def forget_scope(filter: dict[str, Any] | None = None, **fields: Any) -> Event:  # noqa: A002 the field's name
    """What the filter selects is forgotten; all, without one."""
    return ev.ScopeForgotten(**_envelope({"filter": filter or {}, **fields}))


def feedback(recall_id: str | None, **fields: Any) -> Event:
    """What a recall's memories were good for."""
    return ev.FeedbackGiven(**_envelope({"recall_id": recall_id, **fields}))


def served(recall_id: str, query_type: str, shown: dict[str, dict[str, Any]], **fields: Any) -> Event:
    """A recall showed the memories in `shown`: id → its shape and features."""
    each = [{"id": name, **one} for name, one in shown.items()]
    return ev.RecallServed(
        **_envelope({"recall_id": recall_id, "query_type": query_type, "shown": each, **fields})
    )


def refitted(weights: list[float], **fields: Any) -> Event:
    """The usefulness model was fitted again."""
    values = {"feature_set": "1", "evidence": 10, "gain": 0.1, "weights": weights, **fields}
    return ev.ModelRefitted(**_envelope(values))


def stored(event: Event, offset: int, topic: str) -> StoredRecord:
    """The record of an event as the log has it, stamped a second after the one before."""
    (record,) = [record for record in encode(event) if record.topic == topic]
    stamp = int(START.timestamp() * 1000) + offset * 1000
    return StoredRecord(Position(topic, 0, offset), stamp, record.key, record.value, record.headers)


class View:
    """One fold's table, fed by hand."""

    def __init__(self, fold: Fold, table: ViewTable | None = None) -> None:
        self.fold = fold
        self.table: ViewTable = MemoryTable() if table is None else table

    def when(self, *events: Event) -> dict[str, Row]:
        """Apply events in one batch; the rows that they changed."""
        start = self.table.applied()
        decoded = [(stored(event, start + at, self.fold.topic), event) for at, event in enumerate(events)]
        rows, rejected = fold_batch(self.fold, self.table, decoded)
        assert rejected == []
        self.table.commit(rows, start + len(events) - 1)
        return {row["pk"]: row for row in rows}

    def row(self, memory_id: str, namespace: Namespace = ALICE) -> Row | None:
        """The row of a memory, a tombstone too."""
        found = self.table.lookup("pk", [memory_pk(namespace, memory_id)])
        return found[0] if found else None

    def __getitem__(self, memory_id: str) -> Row:
        row = self.row(memory_id)
        assert row is not None
        return row

    def live(self, namespace: Namespace = ALICE) -> set[str]:
        """The ids of the memories that are not forgotten."""
        return {
            row["id"]
            for row in self.table.scan()
            if not row["deleted"] and row["pk"] == memory_pk(namespace, str(row["id"]))
        }

    def active(self, namespace: Namespace = ALICE) -> set[str]:
        """The ids of the memories that are neither forgotten nor superseded."""
        live = self.live(namespace)
        rows = {
            row["id"]: row for row in self.table.scan() if row["pk"] == memory_pk(namespace, str(row["id"]))
        }
        return {memory_id for memory_id in live if rows[memory_id]["superseded_by"] is None}

    def slot_holders(self, key: str) -> list[str]:
        """The ids that hold a key of ALICE."""
        return [row["id"] for row in self.table.lookup("slot", [slot_of(ALICE, key)])]

    def found_by_key(self, key: str) -> list[str]:
        """The active memories of a key of ALICE, as a user asks for them."""
        rows = self.table.select(encode_namespace(ALICE), parse_filter({"key": key, "superseded": False}))
        return sorted(row["id"] for row in rows)

    def unchanged_by(self, *events: Event) -> None:
        """Apply events that may leave no more than that they came, and nothing when they come again."""
        before = self._content()
        self.when(*events)
        assert self._content() == before
        assert self.when(*events) == {}

    def _content(self) -> dict[str, Row]:
        return {
            pk: {name: value for name, value in row.items() if name not in _SAYS_WHAT_CAME}
            for pk, row in self.snapshot().items()
            if not pk.startswith("@event|")
        }

    def snapshot(self) -> dict[str, Row]:
        """Every row in a form that compares exactly."""
        return snapshot(self.table.scan())


def given(*events: Event) -> View:
    """The memories view after `events`, the same one by one and in one batch."""
    return _given(MemoriesFold(), events)


def given_usage(*events: Event) -> View:
    """The usage view after `events`, the same one by one and in one batch."""
    return _given(UsageFold(), events)


def given_usefulness(*events: Event) -> View:
    """The usefulness view after `events`, the same one by one and in one batch."""
    return _given(UsefulnessFold(), events)


def _given(fold: Fold, events: Sequence[Event]) -> View:
    stepwise, at_once = View(fold), View(fold)
    for event in events:
        stepwise.when(event)
    if events:
        at_once.when(*events)
    assert stepwise.snapshot() == at_once.snapshot()
    return stepwise


def snapshot(rows: Iterable[Row]) -> dict[str, Row]:
    """Rows by key without their nulls, vectors as bytes; duplicates are an error."""
    found: dict[str, Row] = {}
    for row in rows:
        assert row["pk"] not in found, f"two rows of {row['pk']}"
        found[row["pk"]] = {name: _plain(value) for name, value in row.items() if value is not None}
    return found


def _plain(value: Any) -> Any:
    """Lists of floats, as arrays, are 32 bits wide in a table."""
    if isinstance(value, np.ndarray) or (isinstance(value, list) and value and isinstance(value[0], float)):
        return np.asarray(value, dtype=np.float32).tobytes()
    return value
