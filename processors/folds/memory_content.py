"""A row of the memories view as an event makes it: its content, its words, its first state."""

from __future__ import annotations

import hashlib
import json
from operator import itemgetter
from typing import Any

from mnemolog.processors.folds.memory_rows import stamped
from mnemolog.processors.folds.port import Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas.analysis import analyze
from mnemolog.schemas.details import columns_of, dump_detail
from mnemolog.schemas.events import Event
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import Row, embed_text, memory_pk, slot_of

DERIVED = ("timeline", "rank", "rests_on")
"""The columns that only what consolidation made has."""

_CONTENT = (
    "text",
    "kind",
    "importance",
    "key",
    "author",
    "source",
    "pinned",
    "expires_at",
    "valid_from",
    "valid_to",
)


_content_of = itemgetter(*_CONTENT)
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def new_row(
    known: Row | None,
    event: ev.MemoryRemembered,
    stamp: Stamp,
    origin: str,
    *,
    told: Row | None = None,
    cause: Event | None = None,
    derived: Row | None = None,
) -> Row:
    """The row of a memory that was not there; `known` is its tombstone, if any.

    `told` is the event's `content`, where it is at hand. `cause` is the event that history names, if it is
    another one; `derived` gives the columns `DERIVED`.
    """
    row: Row = {
        "pk": memory_pk(event.namespace, event.memory_id),
        "namespace": encode_namespace(event.namespace),
        "deleted": False,
        "id": event.memory_id,
        **(told or content(event)),
        "agent_id": event.agent_id,
        "thread_id": event.thread_id,
        "occurred_at": event.occurred_at,
        "recorded_at": stamp.recorded_at,
        "updated_at": event.occurred_at,
        "touched_at": None,
        "superseded_by": None,
        "successor": None,
        "slot": None if event.key is None else slot_of(event.namespace, event.key),
        "origin": origin,
        "history": known["history"] if known else [],
        "repeats": known["repeats"] if known else [],
        "embed_error": None,
        "vector": None,
        "links": [],
        "connected": known["connected"] if known else None,
        **(derived or dict.fromkeys(DERIVED)),
    }
    return stamped(indexed(row), cause or event, stamp)


def content(event: ev.MemoryRemembered) -> Row:
    """The columns that say what is remembered."""
    found: Row = dict(zip(_CONTENT, _content_of(vars(event)), strict=True))
    found["tags"] = list(event.tags)
    found["metadata"] = canonical(event.metadata)
    found["sources"] = list(event.sources)
    return found | {"detail": dump_detail(event.detail)} | columns_of(event.detail)


def same_content(known: Row, told: Row) -> bool:
    """Whether the row says what a `content` says; when it expires does not count."""
    return all(known[name] == value for name, value in told.items() if name != "expires_at")


def fingerprint(told: Row) -> str:
    """Names a `content` as remembered; when it expires does not count, so that a retry matches."""
    begin, end = (time and time.isoformat() for time in (told["valid_from"], told["valid_to"]))
    named = {**told, "expires_at": None, "valid_from": begin, "valid_to": end}
    return hashlib.sha256(canonical(named).encode()).hexdigest()[:32]


def canonical(value: Any) -> str:
    """JSON, always the same for equal values."""
    return "{}" if value == {} else _JSON.encode(value)


def indexed(row: Row) -> Row:
    """`row` with the words that it is found by."""
    return {**row, "terms": " ".join(analyze(embed_text(row)))}


def reindexed(known: Row, row: Row) -> Row:
    """`row`, which was `known`, with words of its own, and without a vector, if its text is another."""
    if embed_text(known) == embed_text(row):
        return row
    return indexed({**row, "vector": None, "embed_error": None})
