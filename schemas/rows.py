"""The rows of the views: their columns, and the keys that tie them to events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import intern
from typing import Any, TypeAlias

import pyarrow as pa

from mnemolog.schemas.details import COLUMNS, NUMBERS
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.topics import CONFIG, CONTEXT, FEEDBACK, MEMORIES

Row: TypeAlias = dict[str, Any]
"""One row of a view: column → value. `vector` is a float32 array of shape [dim], or None."""

Rows: TypeAlias = Mapping[str, Row]
"""Rows by their primary key."""

META_NAMESPACE = "@"
"""The namespace column of rows that are about the view itself."""

TIME = pa.timestamp("us", tz="UTC")

CHANGE = pa.struct(
    [
        pa.field("event_id", pa.string()),
        pa.field("type", pa.string()),
        pa.field("occurred_at", TIME),
        pa.field("offset", pa.int64()),
        pa.field("agent_id", pa.string()),
        pa.field("reason", pa.string()),
    ]
)

LINK = pa.struct([pa.field("target", pa.string()), pa.field("relation", pa.string())])

_GUARD = [
    pa.field("pk", pa.string(), nullable=False),
    pa.field("namespace", pa.string(), nullable=False),
    pa.field("deleted", pa.bool_(), nullable=False),
    pa.field("_off", pa.int64(), nullable=False),
    pa.field("_fill", pa.int64(), nullable=False),
]
"""What every view has. `_off`: the offset that last changed the row; `_fill`: counts late vectors."""

MEMORY_FIELDS = [
    *_GUARD,
    pa.field("id", pa.string()),
    pa.field("text", pa.string()),
    pa.field("kind", pa.string()),
    pa.field("importance", pa.float64()),
    pa.field("tags", pa.list_(pa.string())),
    pa.field("key", pa.string()),
    pa.field("author", pa.string()),
    pa.field("source", pa.string()),
    pa.field("agent_id", pa.string()),
    pa.field("thread_id", pa.string()),
    pa.field("metadata", pa.string()),
    pa.field("pinned", pa.bool_()),
    pa.field("occurred_at", TIME),
    pa.field("recorded_at", TIME),
    pa.field("updated_at", TIME),
    pa.field("touched_at", TIME),
    pa.field("expires_at", TIME),
    pa.field("superseded_by", pa.string()),
    pa.field("successor", pa.string()),
    pa.field("slot", pa.string()),
    pa.field("origin", pa.string()),
    pa.field("history", pa.list_(CHANGE)),
    pa.field("repeats", pa.list_(pa.string())),
    pa.field("terms", pa.string()),
    pa.field("embed_error", pa.string()),
    pa.field("detail", pa.string()),
    *(pa.field(name, pa.float64() if name in NUMBERS else pa.string()) for name in COLUMNS),
    pa.field("valid_from", TIME),
    pa.field("valid_to", TIME),
    pa.field("sources", pa.list_(pa.string())),
    pa.field("links", pa.list_(LINK)),
    pa.field("connected", pa.bool_()),
    pa.field("timeline", pa.string()),
    pa.field("rank", pa.string()),
    pa.field("rests_on", pa.list_(pa.string())),
]
"""`successor` is the pk of the memory that superseded this one, `slot` the key it holds while active,
`origin` the fingerprint of the content as remembered, `repeats` the ids of events that only said it again,
`terms` the analyzed words, joined by spaces. `detail` is all that a structured kind says, as JSON, and its
scalar fields have columns; `connected` says that the row has, or once had, edges in the graph. What
consolidation made has the pks of its sources in `rests_on`; a fact also has the `timeline` of its subject,
and its `rank` there."""

USAGE_FIELDS = [
    *_GUARD,
    pa.field("id", pa.string()),
    pa.field("memory_pk", pa.string()),
    pa.field("recall_id", pa.string()),
    pa.field("outcome", pa.string()),
    pa.field("events", pa.list_(pa.string())),
    pa.field("use_count", pa.int64()),
    pa.field("ignore_count", pa.int64()),
    pa.field("last_used_at", TIME),
]
"""Two sorts of rows: one a memory with its counts, and one a (recall, memory) with its `outcome`
and the ids of the `events` that said so."""


USEFULNESS_FIELDS = [
    *_GUARD,
    pa.field("id", pa.string()),
    pa.field("memory_pk", pa.string()),
    pa.field("recall_id", pa.string()),
    pa.field("place", pa.int64()),
    pa.field("query_type", pa.string()),
    pa.field("shape", pa.list_(pa.string())),
    pa.field("feature_set", pa.string()),
    pa.field("features", pa.list_(pa.float32())),
    pa.field("rating", pa.int64()),
    pa.field("events", pa.list_(pa.string())),
    pa.field("sum", pa.int64()),
    pa.field("count", pa.int64()),
    pa.field("evidence", pa.int64()),
    pa.field("gain", pa.float64()),
    pa.field("served", pa.bool_()),
]
"""Three sorts of rows: one a (recall, memory) that was shown, with its `rating` in thousandths once it has
one; one a (query type, shape), a link, with the `sum` of ratings in thousandths and their `count`; and the
model, whose weights are its `features`."""


EDGE = pa.struct(
    [
        pa.field("form", pa.string()),
        pa.field("relation", pa.string()),
        pa.field("source", pa.string()),
        pa.field("target", pa.string()),
        pa.field("confidence", pa.float64()),
        pa.field("reward", pa.float64()),
    ]
)

EDGES_FIELDS = [
    *_GUARD,
    pa.field("id", pa.string()),
    pa.field("kind", pa.string()),
    pa.field("policy", pa.string()),
    pa.field("expires_at", TIME),
    pa.field("valid_from", TIME),
    pa.field("valid_to", TIME),
    pa.field("superseded", pa.bool_()),
    pa.field("edges", pa.list_(EDGE)),
]
"""One row a memory that has edges in the graph, or once had: all of them, and what says when they show."""

CONTEXT_FIELDS = [
    *_GUARD,
    pa.field("tier", pa.string()),
    pa.field("agent_id", pa.string()),
    pa.field("thread_id", pa.string()),
    pa.field("key", pa.string()),
    pa.field("origin", pa.string()),
    pa.field("value", pa.string()),
    pa.field("revision", pa.string()),
    pa.field("set_expires_at", TIME),
    pa.field("expires_at", TIME),
    pa.field("ttl_seconds", pa.float64()),
    pa.field("occurred_at", TIME),
    pa.field("recorded_at", TIME),
]
"""One row an entry, and one a source of counts, in the tier "counts". `value` is JSON. `revision` is the
event that gave it, `set_expires_at` what that one said, which holds again after a renewal that speaks of
another revision."""


CONFIG_FIELDS = [
    *_GUARD,
    pa.field("setting", pa.string()),
    pa.field("value", pa.string()),
    pa.field("agent_id", pa.string()),
    pa.field("occurred_at", TIME),
]
"""One row a setting of a namespace; those for all have the empty namespace. `value` is JSON."""


TABLES: Mapping[str, str] = {
    "memories": MEMORIES,
    "context": CONTEXT,
    "edges": MEMORIES,
    "usage": FEEDBACK,
    "usefulness": FEEDBACK,
    "config": CONFIG,
}
"""Table → the one topic that feeds it."""

PROJECTED = frozenset({"edges"})
"""Tables written before the one that they follow: what is applied there is applied in them, whatever offset
they name themselves."""


def blank(fields: Sequence[pa.Field]) -> Row:
    """A row with nothing in these columns. Its keys are the strings that code names columns by, which are
    found in fewer steps than equal ones."""
    return dict.fromkeys(intern(field.name) for field in fields)


def memories_schema(dim: int | None) -> pa.Schema:
    """Columns of the memories view; `vector` (float32 [dim]) only where there is an embedder."""
    vector = [] if dim is None else [pa.field("vector", pa.list_(pa.float32(), dim))]
    return pa.schema(MEMORY_FIELDS + vector)


def usefulness_schema() -> pa.Schema:
    """Columns of the usefulness view."""
    return pa.schema(USEFULNESS_FIELDS)


def edges_schema() -> pa.Schema:
    """Columns of the edges view."""
    return pa.schema(EDGES_FIELDS)


def context_schema() -> pa.Schema:
    """Columns of the context view."""
    return pa.schema(CONTEXT_FIELDS)


def config_schema() -> pa.Schema:
    """Columns of the config view."""
    return pa.schema(CONFIG_FIELDS)


def usage_schema() -> pa.Schema:
    """Columns of the usage view."""
    return pa.schema(USAGE_FIELDS)


def memory_pk(namespace: Namespace, memory_id: str) -> str:
    """The primary key of a memory: an encoded namespace has no `|`, so no two memories share one."""
    return f"{encode_namespace(namespace)}|{memory_id}"


def config_pk(namespace: Namespace, setting: str) -> str:
    """The primary key of a setting."""
    return f"{encode_namespace(namespace)}|{setting}"


def outcome_pk(namespace: Namespace, recall_id: str, memory_id: str) -> str:
    """The primary key of what one recall's feedback said of one memory.

    An encoded namespace has no `@`, so this is never the key of a memory.
    """
    return f"@outcome|{encode_namespace(namespace)}|{len(recall_id)}|{recall_id}|{memory_id}"


def shown_pk(namespace: Namespace, recall_id: str, memory_id: str) -> str:
    """The primary key of one memory as one recall showed it."""
    return f"@shown|{encode_namespace(namespace)}|{len(recall_id)}|{recall_id}|{memory_id}"


def link_pk(namespace: Namespace, query_type: str, shape: str) -> str:
    """The primary key of what is known of memories of one shape, asked for with one type of query."""
    return f"@link|{encode_namespace(namespace)}|{len(query_type)}|{query_type}|{shape}"


def model_pk(namespace: Namespace) -> str:
    """The primary key of the usefulness model."""
    return f"@model|{encode_namespace(namespace)}"


def event_pk(event: Envelope) -> str:
    """The primary key of the mark that an event was applied, where its rows can't tell."""
    return f"@event|{encode_namespace(event.namespace)}|{event.event_id}"


def applied_pk(topic: str, partition: int) -> str:
    """The primary key of the row that holds the last applied offset of a partition."""
    return f"@applied|{topic}|{partition}"


def filled_pk(topic: str, partition: int) -> str:
    """The primary key of the row that numbers the late vectors."""
    return f"@filled|{topic}|{partition}"


def slot_of(namespace: Namespace, key: str) -> str:
    """What a memory holds while it is the active one of `key`."""
    return f"{encode_namespace(namespace)}|{key}"


def embed_text(row: Mapping[str, Any]) -> str:
    """The text that is embedded and indexed: with its author, or a fact's subject, to be found by."""
    lead = row.get("author") or (row["subject"] if row.get("timeline") else None)
    return f"{lead}: {row['text']}" if lead else str(row["text"])
