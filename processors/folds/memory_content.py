"""A row of the memories view as an event makes it: its content, its words, its first state."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Any

from mnemolog.processors.folds.memory_rows import change_by, connected
from mnemolog.processors.folds.port import Stamp
from mnemolog.schemas import events as ev
from mnemolog.schemas.analysis import analyze
from mnemolog.schemas.details import columns_of, dump_detail
from mnemolog.schemas.events import Event
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.rows import MEMORY_FIELDS, Row, blank, embed_text, memory_pk, slot_of

DERIVED = ("timeline", "rank", "rests_on")
"""The columns that only what consolidation made has."""

_BLANK: Row = {**blank(MEMORY_FIELDS), "vector": None}
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))

_TOLD = sorted(
    {"text", "kind", "importance", "key", "author", "source", "pinned", "valid_from", "valid_to"}
    | {"tags", "metadata", "sources"}
)
_told_of = itemgetter(*_TOLD)
_NULL = {"detail", "expires_at", *columns_of(None)}
_UNDETAILED = (
    "{" + ",".join(f'"{name}":{"%s" if name in _TOLD else "null"}' for name in sorted({*_TOLD, *_NULL})) + "}"
)
"""The JSON of a content without detail, with gaps for the values of `_TOLD`."""


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
    row = _BLANK.copy()
    row.update(told or content(event))
    if event.detail is not None:
        row.update(columns_of(event.detail))
    row.update(derived or {})
    row["pk"] = memory_pk(event.namespace, event.memory_id)
    row["namespace"] = encode_namespace(event.namespace)
    row["deleted"] = False
    row["id"] = event.memory_id
    row["agent_id"] = event.agent_id
    row["thread_id"] = event.thread_id
    row["occurred_at"] = row["updated_at"] = event.occurred_at
    row["recorded_at"] = stamp.recorded_at
    row["slot"] = None if event.key is None else slot_of(event.namespace, event.key)
    row["origin"] = origin
    row["links"] = []
    row["terms"] = _terms(row)
    row["repeats"], row["history"] = [], [change_by(cause or event, stamp)]
    if known:
        row["repeats"], row["connected"] = known["repeats"], known["connected"]
        row["history"] = known["history"] + row["history"]
    row["connected"] = connected(row)
    row["_off"], row["_fill"] = stamp.offset, 0
    return row


def content(event: ev.MemoryRemembered) -> Row:
    """The columns that say what is remembered, but for those that follow from the detail."""
    said = vars(event)  # a display of it: every event of a replay comes through here
    return {
        "text": said["text"],
        "kind": said["kind"],
        "importance": said["importance"],
        "key": said["key"],
        "author": said["author"],
        "source": said["source"],
        "pinned": said["pinned"],
        "expires_at": said["expires_at"],
        "valid_from": said["valid_from"],
        "valid_to": said["valid_to"],
        "tags": [*said["tags"]],
        "metadata": canonical(said["metadata"]),
        "sources": [*said["sources"]],
        "detail": None if said["detail"] is None else dump_detail(said["detail"]),
    }


def same_content(known: Row, told: Row) -> bool:
    """Whether the row says what a `content` says; when it expires does not count."""
    return all(known[name] == value for name, value in told.items() if name != "expires_at")


def fingerprint(event: ev.MemoryRemembered, told: Row) -> str:
    """Names the `content` of an event; when it expires does not count, so that a retry matches.

    It is a hash of all that it says as JSON. Nearly always most of that is null, and the rest is put between.
    """
    if event.detail is None:
        values = [
            "null" if one is None else encode_basestring(one) if type(one) is str else _as_json(one)
            for one in _told_of(told)
        ]
        document = _UNDETAILED % tuple(values)
    else:
        begin, end = (time and time.isoformat() for time in (told["valid_from"], told["valid_to"]))
        named = {**told, "expires_at": None, "valid_from": begin, "valid_to": end}
        document = canonical(named | columns_of(event.detail))
    return hashlib.sha256(document.encode()).hexdigest()[:32]


def _as_json(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return f'"{value.isoformat()}"'
    return canonical(value)


def canonical(value: Any) -> str:
    """JSON, always the same for equal values."""
    if not value and isinstance(value, dict | list):  # what nearly all are, told in one step
        return "{}" if isinstance(value, dict) else "[]"
    return _JSON.encode(value)


def indexed(row: Row) -> Row:
    """`row` with the words that it is found by."""
    return {**row, "terms": _terms(row)}


def _terms(row: Row) -> str:
    return " ".join(analyze(embed_text(row)))


def reindexed(known: Row, row: Row) -> Row:
    """`row`, which was `known`, with words of its own, and without a vector, if its text is another."""
    if embed_text(known) == embed_text(row):
        return row
    return indexed({**row, "vector": None, "embed_error": None})
