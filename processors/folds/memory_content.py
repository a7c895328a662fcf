"""A row of the memories view as an event makes it: its content, its words, its first state."""

from __future__ import annotations

import hashlib
import json
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


def new_row(
    known: Row | None,
    event: ev.MemoryRemembered,
    stamp: Stamp,
    origin: str,
    *,
    cause: Event | None = None,
    derived: Row | None = None,
) -> Row:
    """The row of a memory that was not there; `known` is its tombstone, if any.

    `cause` is the event that history names, if it is another one; `derived` gives the columns `DERIVED`.
    """
    row: Row = {
        "pk": memory_pk(event.namespace, event.memory_id),
        "namespace": encode_namespace(event.namespace),
        "deleted": False,
        "id": event.memory_id,
        **content(event),
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
    found: Row = {name: getattr(event, name) for name in _CONTENT}
    found["tags"] = list(event.tags)
    found["metadata"] = canonical(event.metadata)
    found["sources"] = list(event.sources)
    return found | {"detail": dump_detail(event.detail)} | columns_of(event.detail)


def same_content(known: Row, event: ev.MemoryRemembered) -> bool:
    """Whether the row says what the event says; when it expires does not count."""
    return all(known[name] == value for name, value in content(event).items() if name != "expires_at")


def fingerprint(event: ev.MemoryRemembered) -> str:
    """Names the content as remembered; when it expires does not count, so that a retry matches."""
    told = {**content(event), "expires_at": None}
    told |= {name: told[name] and told[name].isoformat() for name in ("valid_from", "valid_to")}
    return hashlib.sha256(canonical(told).encode()).hexdigest()[:32]


def canonical(value: Any) -> str:
    """JSON, always the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def indexed(row: Row) -> Row:
    """`row` with the words that it is found by."""
    return {**row, "terms": " ".join(analyze(embed_text(row)))}


def reindexed(known: Row, row: Row) -> Row:
    """`row`, which was `known`, with words of its own, and without a vector, if its text is another."""
    if embed_text(known) == embed_text(row):
        return row
    return indexed({**row, "vector": None, "embed_error": None})
