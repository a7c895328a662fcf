"""Redaction: what is taken out of which parts of an event, how it is counted, and what it leaves alone."""

from __future__ import annotations

import re
import threading
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.folding import ALICE, START
from support.properties import examples

from mnemolog.producers.redaction import CONTENT, Redactor, _cut, make_redactor
from mnemolog.schemas import events as ev
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import InvalidInputError

BASE: dict[str, Any] = {"event_id": "e", "namespace": ALICE, "occurred_at": START}
PIN = {"pin": r"\b\d{4}\b"}
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA3"


def remembered(text: str, **fields: Any) -> ev.MemoryRemembered:
    return ev.MemoryRemembered(**BASE, memory_id="m1234", text=text, **fields)


def test_every_text_of_a_memory_is_redacted_and_what_names_things_is_not() -> None:
    redactor = Redactor(PIN)
    event = remembered(
        "the pin is 1234 or 5678",
        kind="9876",
        key="4321",
        tags=["1111", "ui"],
        author="bot 2222",
        source="call 3333",
        metadata={"4444": {"deep": ["x 5555", 6666, None, True]}},
        detail={"form": "triple", "subject": "Al", "predicate": "has pin", "object": "7777"},
        sources=["8888"],
    )
    after = redactor.event(event)
    assert after.text == "the pin is [REDACTED:pin] or [REDACTED:pin]"
    assert after.tags == ("[REDACTED:pin]", "ui")
    assert (after.author, after.source) == ("bot [REDACTED:pin]", "call [REDACTED:pin]")
    assert after.metadata == {"4444": {"deep": ["x [REDACTED:pin]", 6666, None, True]}}
    assert after.detail is not None
    assert after.detail.model_dump()["object"] == "[REDACTED:pin]"
    assert (after.memory_id, after.kind, after.key, after.sources) == ("m1234", "9876", "4321", ("8888",))
    assert redactor.counts == {"pin": 7}


def test_updates_context_queries_and_reasons_are_redacted() -> None:
    redactor = Redactor(PIN)
    cases: list[ev.Envelope] = [
        ev.MemoryUpdated(**BASE, memory_id="m", changes={"text": "pin 1234", "metadata": {"a": "1234"}}),
        ev.ContextSet(**BASE, key="1234", value={"a": ["pin 1234"]}),
        ev.RecallServed(**BASE, recall_id="r", query="is the pin 1234?"),
        ev.MemoryForgotten(**BASE, memory_ids=("m",), reason="held 1234"),
    ]
    for event in cases:
        (record, *_) = encode(redactor.event(event))
        said = (record.value or b"").replace(b'"key":"1234"', b"")
        assert b"1234" not in said, event.type  # type: ignore[attr-defined]
        assert b"[REDACTED:pin]" in said


def test_an_event_without_anything_to_redact_is_the_same() -> None:
    event = remembered("hello", metadata={"a": [1, {"b": "c"}]}, tags=["x"])
    redactor = Redactor(PIN)
    assert redactor.event(event) is event
    assert redactor.counts == {}


def test_bytes_that_could_not_be_read_stay_as_they_are() -> None:
    letter = ev.RecordDeadLettered(**BASE, topic="t", partition=0, offset=1, reason="1234", value="1234")
    assert Redactor(PIN).event(letter) is letter


def test_a_function_redacts_and_is_counted() -> None:
    redactor = Redactor(lambda text: text.replace("Alice", "A."))
    assert redactor.event(remembered("Alice met Alice")).text == "A. met A."
    assert redactor.counts == {"custom": 1}


@pytest.mark.parametrize("function", [lambda text: 1 / 0, lambda text: None, lambda text: ""])
def test_a_function_that_fails_lets_nothing_through(function: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Redactor(function).event(remembered("secret"))
    assert caught.value.field in ("redact", "text")


@pytest.mark.parametrize(
    "spec", ["tokens", b"x", 7, [], {}, [""], ["("], [7], {"": "x"}, {7: "x"}, [re.compile(b"x")]]
)
def test_a_spec_that_makes_no_sense_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make_redactor(spec)
    assert caught.value.field == "redact"


def test_none_redacts_nothing() -> None:
    assert make_redactor(None) is None


def test_secrets_are_found_wherever_they_stand() -> None:
    redactor = Redactor("secrets")
    after = redactor.event(remembered(f"naïve 日本 🦊: {TOKEN} é", metadata={"deep": [{"token": TOKEN}]}))
    assert after.text == "naïve 日本 🦊: [REDACTED:github-pat] é"
    assert after.metadata == {"deep": [{"token": "[REDACTED:github-pat]"}]}
    assert redactor.counts == {"github-pat": 2}
    assert redactor.event(remembered("the token is in the drawer")).text == "the token is in the drawer"


def test_a_private_key_goes_whole() -> None:
    lines = "\n".join("MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiZ1BjP5CE" + str(at) * 10 for at in range(9))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"
    assert Redactor("secrets").event(remembered(f"before {key} after")).text == (
        "before [REDACTED:private-key] after"
    )


SPANS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda two: (min(two), max(two), "k")), max_size=6
)


@examples(100)
@given(spans=SPANS)
def test_nothing_of_a_span_is_left_whatever_overlaps(spans: list[tuple[int, int, str]]) -> None:
    text = "abcdefghijkl"
    cut, kinds = _cut(text, spans)
    covered = {at for start, end, _ in spans for at in range(start, end)}
    left = re.sub(r"\[REDACTED:k\]", "", cut)
    assert left == "".join(char for at, char in enumerate(text) if at not in covered)
    assert len(kinds) == cut.count("[REDACTED:k]")


def test_threads_count_all() -> None:
    redactor = Redactor(PIN)
    threads = [
        threading.Thread(target=lambda: [redactor.event(remembered("1234")) for _ in range(50)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert redactor.counts == {"pin": 400}


NAMING = {
    "action",
    "agent_id",
    "by",
    "consolidated",
    "counts",
    "event_id",
    "evidence",
    "expires_at",
    "feature_set",
    "filter",
    "gain",
    "ignored",
    "importance",
    "kept",
    "key",
    "kind",
    "made_by",
    "memory_id",
    "memory_ids",
    "namespace",
    "occurred_at",
    "offset",
    "origin",
    "partition",
    "pinned",
    "previous",
    "query_type",
    "ratings",
    "read",
    "recall_id",
    "relation",
    "revision",
    "revisions",
    "rule",
    "run",
    "schema_version",
    "served",
    "setting",
    "shown",
    "sources",
    "target_id",
    "thread_id",
    "tier",
    "tiers",
    "topic",
    "touch",
    "ttl_seconds",
    "type",
    "used",
    "valid_from",
    "valid_to",
    "weights",
}


def test_every_field_of_every_event_is_either_redacted_or_a_name() -> None:
    """Who adds a field decides here whether it can hold what must not enter the log."""
    for event_class in get_args(get_args(ev.Event)[0]):
        undecided = event_class.model_fields.keys() - NAMING - CONTENT
        assert not undecided, f"{event_class.__name__}: {undecided}"
