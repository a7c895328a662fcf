"""Histories of context: sets, renewals, deletions and scopes over a few colliding entries; and compaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from hypothesis import strategies as st

from mnemolog.processors.folds.context import ContextFold
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.schemas import events as ev
from mnemolog.schemas.codec import encode
from mnemolog.schemas.context_events import context_pk, entry_key
from mnemolog.schemas.events import Event
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import CONTEXT
from mnemolog.storage.memory_table import MemoryTable
from support.folding import ALICE, BOB, START, View, snapshot

_numbers = count()
HOUR = START + timedelta(hours=1)
DAY = START + timedelta(days=1)


def _envelope(fields: dict[str, Any]) -> dict[str, Any]:
    return {"event_id": f"c{next(_numbers)}", "namespace": ALICE, "occurred_at": START, **fields}


def put(key: str, value: Any, **fields: Any) -> ev.ContextSet:
    """The key gets a value."""
    return ev.ContextSet(**_envelope({"key": key, "value": value, **fields}))


def touch(of: ev.ContextSet, expires_at: datetime | None, **fields: Any) -> ev.ContextTouched:
    """What `of` set expires then."""
    whose = {"tier": of.tier, "agent_id": of.agent_id, "thread_id": of.thread_id, "namespace": of.namespace}
    own = {"key": of.key, "revision": of.event_id, "expires_at": expires_at}
    return ev.ContextTouched(**_envelope({**whose, **own, **fields}))


def delete(key: str, **fields: Any) -> ev.ContextDeleted:
    """The key has no value any more."""
    return ev.ContextDeleted(**_envelope({"key": key, **fields}))


def delete_scope(*tiers: str, **fields: Any) -> ev.ContextScopeDeleted:
    """All of these tiers is deleted."""
    return ev.ContextScopeDeleted(**_envelope({"tiers": tiers, **fields}))


def counted(source: str, hits: int, **fields: Any) -> ev.CacheCounted:
    """So many hits of one tool, all in all."""
    zero = {"tier": "tool", "name": "search", "misses": 0, "stores": 0, "saved_micros": 0}
    return ev.CacheCounted(**_envelope({"source": source, "counts": ({**zero, "hits": hits},), **fields}))


def given_context(*events: Event) -> View:
    """The context view after `events`, the same one by one and in one batch."""
    stepwise, at_once = View(ContextFold()), View(ContextFold())
    for event in events:
        stepwise.when(event)
    if events:
        at_once.when(*events)
    assert stepwise.snapshot() == at_once.snapshot()
    return stepwise


def entry(
    view: View,
    key: str,
    tier: str = "context",
    agent_id: str | None = None,
    thread_id: str | None = None,
) -> Row | None:
    """The row of an entry of ALICE, a tombstone too."""
    found = view.table.lookup("pk", [context_pk(ALICE, entry_key(tier, agent_id, thread_id, key))])
    return found[0] if found else None


def live_rows(rows: Iterable[Row]) -> dict[str, Row]:
    """What readers see: the rows that are there, without the offset that changed them last."""
    return {
        pk: {name: value for name, value in row.items() if name != "_off"}
        for pk, row in snapshot(rows).items()
        if not row["deleted"]
    }


def histories(max_size: int = 30) -> st.SearchStrategy[list[StoredRecord]]:
    """Logs of context with one partition; now and then an event is repeated later, as a retry does."""
    sizes = st.integers(0, max_size)
    return sizes.flatmap(lambda size: st.lists(_steps(), min_size=size, max_size=size)).map(_log)


def _steps() -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    place = {
        "namespace": _mostly(ALICE, BOB),
        "tier": _mostly("tool", "context"),
        "agent_id": _mostly(None, "a"),
        "thread_id": _mostly(None, "t"),
        "key": _mostly("k", "l"),
    }
    expires = st.sampled_from([None, HOUR, DAY])
    scope = {
        "namespace": place["namespace"],
        "tiers": st.sampled_from([(), ("tool",), ("context", "tool")]),
        "agent_id": place["agent_id"],
        "thread_id": place["thread_id"],
        "origin": st.sampled_from([None, "x"]),
    }
    values = {
        **place,
        "value": st.integers(0, 3),
        "expires_at": expires,
        "origin": st.sampled_from([None, "x"]),
    }
    kinds = {
        "put": st.fixed_dictionaries(values),
        "touch": st.fixed_dictionaries({"back": st.integers(0, 4), "expires_at": expires}),
        "delete": st.fixed_dictionaries(place),
        "scope": st.fixed_dictionaries(scope),
        "count": st.fixed_dictionaries({"source": st.sampled_from(["s", "r"]), "hits": st.integers(0, 9)}),
        "again": st.fixed_dictionaries({"back": st.integers(0, 9)}),
    }
    often = [*["put"] * 5, *["touch"] * 4, "delete", "delete", "scope", "count", "again"]
    return st.sampled_from(often).flatmap(lambda kind: st.tuples(st.just(kind), kinds[kind]))


def _mostly(value: Any, other: Any) -> st.SearchStrategy[Any]:
    """The one most of the time, so that entries collide."""
    return st.sampled_from([value] * 7 + [other])


def _log(steps: Sequence[tuple[str, dict[str, Any]]]) -> list[StoredRecord]:
    events: list[Event] = []
    for number, (kind, fields) in enumerate(steps):
        event = _event(kind, dict(fields), events)
        if event is not None:
            events.append(event if kind == "again" else event.model_copy(update={"event_id": f"e{number}"}))
    return [stored(event, offset) for offset, event in enumerate(events)]


def _event(kind: str, fields: dict[str, Any], before: Sequence[Event]) -> Event | None:
    match kind:
        case "put":
            return put(**fields)
        case "delete":
            return delete(**fields)
        case "scope":
            return delete_scope(*fields.pop("tiers"), **fields)
        case "count":
            return counted(**fields)
    back = fields.pop("back")
    if kind == "again":
        return before[-1 - back] if back < len(before) else None
    sets = [event for event in before if isinstance(event, ev.ContextSet)]
    return touch(sets[-1 - back], **fields) if back < len(sets) else None


def stored(event: Event, offset: int) -> StoredRecord:
    """The record of an event as the log has it; all are stamped alike, so that gaps change no time."""
    (record,) = encode(event)
    stamp = int(START.timestamp() * 1000)
    return StoredRecord(Position(CONTEXT, 0, offset), stamp, record.key, record.value, record.headers)


def compacted(records: Sequence[StoredRecord], before: int) -> list[StoredRecord]:
    """The log once compaction has been over all before the offset `before`: the last of each key is left."""
    last = {record.key: record.position.offset for record in records if record.position.offset < before}
    return [
        record
        for record in records
        if record.position.offset >= before or last[record.key] == record.position.offset
    ]


class ContextShard:
    """The context table, fed by writers that may die."""

    def __init__(self, table: MemoryTable | None = None) -> None:
        self.table = MemoryTable() if table is None else table

    def writer(self) -> ShardWriter:
        """A writer as a process makes it when it starts."""
        return ShardWriter([(ContextFold(), self.table)], None, _refuse)

    def follow(
        self, records: Sequence[StoredRecord], sizes: Callable[[int], int] = lambda left: left
    ) -> None:
        """Apply what a reader of the log finds from where the table stands, in batches of `sizes`."""
        while batch := [record for record in records if record.position.offset >= self.table.applied()]:
            self.writer().apply(CONTEXT, batch[: sizes(len(batch))], since=self.table.applied())

    def live(self) -> dict[str, Row]:
        """What readers see."""
        return live_rows(self.table.scan())


def _refuse(rejected: Sequence[Rejected]) -> None:
    raise AssertionError(rejected)


def batches(records: Sequence[StoredRecord], data: st.DataObject) -> Iterator[Sequence[StoredRecord]]:
    """The records in batches of any sizes."""
    at = 0
    while at < len(records):
        size = data.draw(st.integers(1, len(records) - at), label="batch")
        yield records[at : at + size]
        at += size
