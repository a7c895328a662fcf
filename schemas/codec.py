"""The one seam between events and bytes.

A record's value is the event as JSON; its headers repeat what routing needs, so that a later codec may
encrypt the value. Older versions are lifted by upcasters, one step at a time, before they are validated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mnemolog.schemas import events as ev
from mnemolog.schemas import topics
from mnemolog.schemas.errors import CodecError, UnknownEventTypeError
from mnemolog.schemas.events import Event
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.records import Record, StoredRecord

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Lifts the JSON object of one version to the next."""

Upcasters = Mapping[tuple[str, int], Upcaster]
"""(event type, version it lifts from) → upcaster."""

UPCASTERS: Upcasters = {}

_TOPICS: dict[str, tuple[str, ...]] = {
    "MemoryRemembered": (topics.MEMORIES,),
    "MemoryUpdated": (topics.MEMORIES,),
    "MemorySuperseded": (topics.MEMORIES,),
    "MemoriesLinked": (topics.MEMORIES,),
    "MemoriesUnlinked": (topics.MEMORIES,),
    "MemoryForgotten": (topics.MEMORIES, topics.FEEDBACK),
    "MemoryEvicted": (topics.MEMORIES, topics.FEEDBACK),
    "ScopeForgotten": (topics.MEMORIES, topics.FEEDBACK),
    "FactsAsserted": (topics.MEMORIES,),
    "SummaryWritten": (topics.MEMORIES,),
    "ConsolidationRequested": (topics.MEMORIES,),
    "RecallServed": (topics.FEEDBACK,),
    "FeedbackGiven": (topics.FEEDBACK,),
    "ModelRefitted": (topics.FEEDBACK,),
    "ContextSet": (topics.CONTEXT,),
    "ContextTouched": (topics.CONTEXT,),
    "ContextDeleted": (topics.CONTEXT,),
    "ContextScopeDeleted": (topics.CONTEXT,),
    "CacheCounted": (topics.CONTEXT,),
    "ConfigChanged": (topics.CONFIG,),
    "RecordDeadLettered": (topics.DEADLETTERS,),
    "DeadLetterResolved": (topics.DEADLETTERS,),
}

EVENT_TYPES = frozenset(_TOPICS)


def encode(event: ev.Envelope) -> list[Record]:
    """The records of an event: one for each topic that it concerns, all with its one event id."""
    value = event.__pydantic_serializer__.to_json(event)
    kind: str = event.type  # type: ignore[attr-defined]
    type_header, version_header = _constant_headers(kind, event.schema_version)
    headers = (type_header, ("event_id", event.event_id.encode()), version_header)
    key = record_key(event)
    return [Record(topic, key, value, headers) for topic in _TOPICS[kind]]


def record_key(event: ev.Envelope) -> bytes:
    """The key of an event's records; see `schemas.records.Record`."""
    within = event.compaction_key()
    namespace = encode_key(event.namespace)
    return namespace if within is None else namespace + b"|" + within.encode()


@lru_cache(maxsize=65_536)
def encode_key(namespace: Namespace) -> bytes:
    """The record key of a namespace."""
    return encode_namespace(namespace).encode()


@cache
def _constant_headers(kind: str, version: int) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    return ("type", kind.encode()), ("version", b"%d" % version)


def decode(record: StoredRecord, upcasters: Upcasters = UPCASTERS) -> Event:
    """The event of a record.

    Raises:
        UnknownEventTypeError: the envelope is sound, its type or version is not known here.
        CodecError: no value, no JSON, a wrong field, or a key that is not the event's namespace.
    """
    if record.value is None:
        raise CodecError("the record has no value")
    event = decode_value(record.value, upcasters)
    if record.key != record_key(event):
        raise CodecError(f"the record's key {record.key!r} is not that of the namespace {event.namespace!r}")
    return event


def decode_value(value: bytes, upcasters: Upcasters = UPCASTERS) -> Event:
    """The event that a record's value holds; see `decode`."""
    try:
        event: Event = _validator().validate_json(value)
    except ValidationError as error:
        return _decode_old(value, error, upcasters)
    return event


@cache
def _validator() -> Any:
    """What the adapter asks, without a step between for each of very many records."""
    return _adapter().validator


@cache
def _adapter() -> TypeAdapter[Event]:
    """Made when it is first needed: who only writes never does."""
    return TypeAdapter(Event)


def _decode_old(value: bytes, error: ValidationError, upcasters: Upcasters) -> Event:
    document = _parse(value)
    lifted = _lift(document, upcasters)
    if lifted is document:
        raise _explain(document, error) from error
    try:
        return _adapter().validate_python(lifted)
    except ValidationError as again:
        raise _explain(lifted, again) from again


def _parse(value: bytes) -> dict[str, Any]:
    try:
        document = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"the value is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CodecError("the value is not a JSON object")
    return document


def _lift(document: dict[str, Any], upcasters: Upcasters) -> dict[str, Any]:
    kind, version = document.get("type"), document.get("schema_version", 1)
    while isinstance(kind, str) and isinstance(version, int) and (kind, version) in upcasters:
        document = {**upcasters[kind, version](document), "schema_version": version + 1}
        kind, version = document.get("type"), version + 1
    return document


def _explain(document: dict[str, Any], error: ValidationError) -> CodecError:
    kind, version = document.get("type"), document.get("schema_version")
    if kind not in EVENT_TYPES:
        return UnknownEventTypeError(f"unknown event type {kind!r}")
    first = error.errors(include_url=False)[0]
    if first["loc"][-1:] == ("schema_version",):
        return UnknownEventTypeError(f"{kind} has version {version!r}, which this release does not know")
    field = ".".join(str(part) for part in first["loc"][1:])
    return CodecError(f"{kind} is not valid: {field}: {first['msg']}")
