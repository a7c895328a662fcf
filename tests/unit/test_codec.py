"""The seam between events and bytes: round trips, published versions, and bytes that are no event."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from mnemolog.producers.commands import Commands
from mnemolog.schemas.codec import EVENT_TYPES, decode, encode
from mnemolog.schemas.errors import CodecError, UnknownEventTypeError
from mnemolog.schemas.events import Envelope, Event, MemoryRemembered, build
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record, StoredRecord
from mnemolog.schemas.topics import FEEDBACK, MEMORIES

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "v1").glob("*.json"))
NOW = datetime(2024, 5, 1, 2, tzinfo=UTC)

part = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(str.strip)
sentence = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
label = part.filter(lambda value: all(ord(char) > 31 for char in value))
scalar = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
)
value = st.recursive(
    scalar | part,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(part, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def remembered(draw: st.DrawFn) -> MemoryRemembered:
    return Commands(tuple(draw(st.lists(part, min_size=1, max_size=4)))).remember(
        draw(sentence),
        kind=draw(label),
        importance=draw(st.none() | st.floats(0, 1)),
        tags=draw(st.lists(label, max_size=4)),
        key=draw(st.none() | label),
        author=draw(st.none() | label),
        metadata=draw(st.dictionaries(part, value, max_size=3)),
        occurred_at=draw(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))),
    )


def stored(record: Record) -> StoredRecord:
    return StoredRecord(Position(record.topic, 0, 0), 0, record.key, record.value, record.headers)


def with_value(event: Envelope, **changes: Any) -> StoredRecord:
    record = encode(event)[0]
    document = {**json.loads(record.value or b""), **changes}
    return StoredRecord(Position(MEMORIES, 0, 0), 0, record.key, json.dumps(document).encode())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(remembered())
def test_what_is_encoded_is_decoded(event: MemoryRemembered) -> None:
    (record,) = encode(event)
    assert decode(stored(record)) == event


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_version_1_stays_readable_to_the_letter(path: Path) -> None:
    document = json.loads(path.read_text())
    key, held = document["key"].encode(), document["value"].encode()
    event = decode(StoredRecord(Position(MEMORIES, 0, 0), 0, key, held))
    assert type(event).__name__ == path.stem.partition(".")[0]
    assert encode(event)[0].value == held
    assert dict(encode(event)[0].headers)["version"] == b"1"


def test_every_type_of_version_1_has_a_golden_file() -> None:
    assert {path.stem.partition(".")[0] for path in GOLDEN} == EVENT_TYPES


def test_routing_needs_no_value() -> None:
    event = Commands(("acme", "a/b")).remember("text")
    (record,) = encode(event)
    headers = dict(record.headers)
    assert record.key == b"acme/a%2Fb"
    assert headers == {"type": b"MemoryRemembered", "event_id": event.event_id.encode(), "version": b"1"}


def test_what_concerns_two_topics_has_one_event_id() -> None:
    records = encode(Commands(("n",)).forget(["a", "b"]))
    assert [record.topic for record in records] == [MEMORIES, FEEDBACK]
    assert len({dict(record.headers)["event_id"] for record in records}) == 1


def test_a_naive_time_is_utc_and_another_zone_is_turned_to_it() -> None:
    base = {"event_id": "e", "namespace": ("n",), "memory_id": "m", "text": "t"}
    naive = build(MemoryRemembered, **base, occurred_at=datetime(2024, 5, 1, 2))
    eastern = build(
        MemoryRemembered, **base, occurred_at=datetime(2024, 4, 30, 22, tzinfo=timezone(timedelta(hours=-4)))
    )
    assert naive.occurred_at == eastern.occurred_at == NOW


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no value"),
        (b"\xff\xfe", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b'{"type": "MemoryRemembered", "schema_version": 1}', "not valid"),
    ],
)
def test_bytes_that_are_no_event_say_why(value: bytes | None, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        decode(StoredRecord(Position(MEMORIES, 0, 0), 0, b"n", value))


def test_an_unknown_type_and_a_newer_version_are_told_apart_from_garbage() -> None:
    event = Commands(("n",)).remember("text")
    with pytest.raises(UnknownEventTypeError, match="unknown event type 'MemoryDreamt'"):
        decode(with_value(event, type="MemoryDreamt"))
    with pytest.raises(UnknownEventTypeError, match="version 9"):
        decode(with_value(event, schema_version=9))


def test_an_unknown_field_is_no_event() -> None:
    with pytest.raises(CodecError, match="mood"):
        decode(with_value(Commands(("n",)).remember("text"), mood="good"))


def test_a_key_that_is_not_the_namespace_is_refused() -> None:
    record = encode(Commands(("alice",)).remember("text"))[0]
    with pytest.raises(CodecError, match="namespace"):
        decode(StoredRecord(Position(MEMORIES, 0, 0), 0, b"bob", record.value))


def test_older_versions_are_lifted_one_step_at_a_time() -> None:
    def from_minus_one(document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "body": document["words"]} | {"words": None}

    def from_zero(document: dict[str, Any]) -> dict[str, Any]:
        lifted = {name: held for name, held in document.items() if name not in ("words", "body")}
        return {**lifted, "text": document["body"]}

    event = Commands(("n",)).remember("text")
    document = json.loads(encode(event)[0].value or b"")
    old = {name: held for name, held in document.items() if name != "text"} | {
        "words": "old",
        "schema_version": -1,
    }
    record = StoredRecord(Position(MEMORIES, 0, 0), 0, b"n", json.dumps(old).encode())
    lifted = decode(record, {("MemoryRemembered", -1): from_minus_one, ("MemoryRemembered", 0): from_zero})
    assert isinstance(lifted, MemoryRemembered)
    assert lifted.text == "old"
    with pytest.raises(CodecError):
        decode(record)


def test_the_union_knows_every_type() -> None:
    schema = TypeAdapter(Event).json_schema()
    assert set(schema["discriminator"]["mapping"]) == EVENT_TYPES
