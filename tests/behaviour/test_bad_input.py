"""Bad input is refused before anything is appended; odd input that is good gives exactly the right rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from support.stores import OpenMemory, Store, texts

from mnemolog import Memory
from mnemolog.schemas.errors import FilterError, InvalidInputError, NotFoundError

Call = Callable[[Memory], object]
NAN, INFINITE = math.nan, math.inf
DEEP: Any = {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": 1}}}}}}}}}

REMEMBER: list[tuple[str, dict[str, Any]]] = [
    ("text", {"text": ""}),
    ("text", {"text": " \n\t"}),
    ("text", {"text": "x" * (64 * 1024 + 1)}),
    ("text", {"text": "é" * (32 * 1024 + 1)}),
    ("text", {"text": "half of a pair \ud83d"}),
    ("text", {"text": None}),
    ("importance", {"importance": -0.01}),
    ("importance", {"importance": 1.01}),
    ("importance", {"importance": NAN}),
    ("importance", {"importance": INFINITE}),
    ("importance", {"importance": True}),
    ("id", {"id": ""}),
    ("id", {"id": "a\x00b"}),
    ("id", {"id": "a\nb"}),
    ("id", {"id": "x" * 257}),
    ("id", {"id": 7}),
    ("key", {"key": "\x1b[31m"}),
    ("kind", {"kind": ""}),
    ("kind", {"kind": " "}),
    ("ttl_seconds", {"ttl_seconds": 0}),
    ("ttl_seconds", {"ttl_seconds": -1}),
    ("ttl_seconds", {"ttl_seconds": NAN}),
    ("ttl_seconds", {"ttl_seconds": INFINITE}),
    ("ttl_seconds", {"ttl_seconds": True}),
    ("ttl_seconds", {"ttl_seconds": 1e300}),
    ("expires_at", {"ttl_seconds": 1, "expires_at": datetime(2999, 1, 1)}),
    ("occurred_at", {"occurred_at": "not a time"}),
    ("tags", {"tags": "a string"}),
    ("tags", {"tags": [""]}),
    ("tags", {"tags": [1]}),
    ("metadata", {"metadata": {"x": object()}}),
    ("metadata", {"metadata": {"x": NAN}}),
    ("metadata", {"metadata": {1: "x"}}),
    ("metadata", {"metadata": DEEP}),
    ("metadata", {"metadata": {"x": "y" * (64 * 1024 + 1)}}),
    ("metadata", {"metadata": ["x"]}),
]
READ: list[tuple[str, Call]] = [
    ("query", lambda mem: mem.recall(" ")),
    ("k", lambda mem: mem.recall("x", k=0)),
    ("k", lambda mem: mem.recall("x", k=1_001)),
    ("k", lambda mem: mem.recall("x", k=True)),
    ("k", lambda mem: mem.recall("x", k=2.5)),  # type: ignore[call-overload]
    ("weights", lambda mem: mem.recall("x", weights={"relevence": 1.0})),
    ("weights", lambda mem: mem.recall("x", weights={"recency": -1.0})),
    ("weights", lambda mem: mem.recall("x", weights={"recency": NAN})),
    ("threshold", lambda mem: mem.recall("x", threshold=NAN)),
    ("min_score", lambda mem: mem.recall("x", min_score=INFINITE)),
    ("kinds", lambda mem: mem.recall("x", kinds="note")),
    ("tags", lambda mem: mem.recall("x", tags="ui")),
    ("filters", lambda mem: mem.recall("x", filters={"colour": "red"})),
    ("filters", lambda mem: mem.list(filters={"kind": {"like": "n%"}})),
    ("filters", lambda mem: mem.list(filters={"importance": {"gte": "high"}})),
    ("filters", lambda mem: mem.forget_scope({"colour": "red"})),
    ("filters", lambda mem: mem.forget_scope()),
    ("limit", lambda mem: mem.list(limit=-1)),
    ("limit", lambda mem: mem.list(limit=10_001)),
    ("offset", lambda mem: mem.list(offset=-1)),
]
WRITE: list[tuple[str | None, Call]] = [
    (None, lambda mem: mem.update("m")),
    ("text", lambda mem: mem.update("m", text=" ")),
    ("importance", lambda mem: mem.update("m", importance=2)),
    ("tags", lambda mem: mem.update("m", tags="ui")),
    ("ttl_seconds", lambda mem: mem.update("m", ttl_seconds=0)),
    ("id", lambda mem: mem.remember_many([{"text": "good"}, {"text": "bad", "id": ""}])),
    ("text", lambda mem: mem.remember_many(["good", {"kind": "note"}])),
    ("txt", lambda mem: mem.remember_many([{"text": "good", "txt": "x"}])),
    ("by", lambda mem: mem.supersede("m", "m")),
    ("ids", lambda mem: mem.forget([])),
    ("ids", lambda mem: mem.forget(["good", "a\nb"])),
    ("used", lambda mem: mem.feedback("r")),
    ("ignored", lambda mem: mem.feedback("r", used=["m"], ignored=["m"])),
    ("reason", lambda mem: mem.forget("m", reason="x" * 2_001)),
]


def named(cases: list[tuple[Any, Any]]) -> list[Any]:
    return [pytest.param(*case, id=f"{case[0]}-{number}") for number, case in enumerate(cases)]


def refused(store: Store, mem: Memory, field: str | None, call: Call) -> None:
    """The call is an error that names the field, and leaves no trace."""
    kept = mem.remember("kept", id="m")
    mem.wait(kept.position, 60)
    before = store.ends()
    with pytest.raises(InvalidInputError) as caught:
        call(mem)
    assert caught.value.field == field
    assert store.ends() == before
    assert texts(mem.list().items) == ["kept"]


@pytest.mark.parametrize(("field", "fields"), named(REMEMBER))
def test_what_cannot_be_remembered(
    shared_store: Store, place: Memory, field: str, fields: dict[str, Any]
) -> None:
    refused(shared_store, place, field, lambda mem: mem.remember(**{"text": "good", **fields}))


@pytest.mark.parametrize(("field", "call"), named(READ))
def test_what_cannot_be_asked(shared_store: Store, place: Memory, field: str, call: Call) -> None:
    refused(shared_store, place, field, call)


@pytest.mark.parametrize(("field", "call"), named(WRITE))
def test_what_cannot_be_written(shared_store: Store, place: Memory, field: str | None, call: Call) -> None:
    refused(shared_store, place, field, call)


@pytest.mark.parametrize("parts", [(), ("",), ("a", " "), ("a\nb",), ("a\x00",), ("\ud800",), ("x" * 257,)])
def test_a_bad_namespace_is_refused(open_memory: OpenMemory, parts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_memory(parts or ["x"] * 16)
    assert caught.value.field == "namespace"


def test_an_unknown_filter_is_an_error_that_tells_what_there_is(mem: Memory) -> None:
    with pytest.raises(FilterError, match=r"unknown field 'colour'.*'kind'.*metadata"):
        mem.recall("x", filters={"colour": "red"})
    with pytest.raises(FilterError, match=r"operator 'like' is unknown.*'contains'"):
        mem.recall("x", filters={"text": {"like": "x"}})


def test_what_is_not_there_cannot_be_changed(store: Store) -> None:
    mem = store.open()
    mem.remember("kept", id="m")
    mem.list()
    before = store.ends()
    calls: list[Callable[[], object]] = [
        lambda: mem.update("unknown", text="x"),
        lambda: mem.supersede("unknown", "m"),
        lambda: mem.supersede("m", "unknown"),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match="unknown"):
            call()
    assert store.ends() == before


def test_a_cycle_of_supersedes_is_refused(mem: Memory) -> None:
    mem.remember_many([{"text": name, "id": name} for name in "abc"])
    mem.supersede("a", "b")
    mem.supersede("b", "c")
    with pytest.raises(InvalidInputError, match="superseded by 'c'"):
        mem.supersede("c", "a")
    assert texts(mem.list().items) == ["c"]


def test_the_greatest_text_is_kept_whole(mem: Memory) -> None:
    text = "é" * (32 * 1024)
    item = mem.get(mem.remember(text).id)
    assert item is not None
    assert item.text == text


def test_a_naive_time_is_utc(mem: Memory) -> None:
    naive = datetime(2026, 5, 1, 23, 30)
    receipt = mem.remember("late", occurred_at=naive, expires_at=datetime(2999, 1, 1))
    item = mem.get(receipt.id)
    assert item is not None
    assert item.occurred_at == naive.replace(tzinfo=UTC)
    assert item.expires_at == datetime(2999, 1, 1, tzinfo=UTC)
    for spelling in (naive, "2026-05-01T23:30:00", "2026-05-02T01:30:00+02:00", "2026-05-01"):
        assert mem.list(filters={"occurred_at": spelling}).total == 1


@pytest.mark.parametrize("part", ["a/b", "a%2Fb", "100%", "*", "_", "ünï", "a b", "a'b", "🦊", "a|b", ".."])
def test_odd_namespace_parts_are_kept_as_they_are(open_memory: OpenMemory, part: str) -> None:
    mem, other = open_memory(("acme", part)), open_memory(("acme", "other"))
    receipt = mem.remember("here")
    item = mem.get(receipt.id)
    assert item is not None
    assert item.namespace[-2:] == ("acme", part)
    assert (mem.list().total, other.list().total) == (1, 0)


@pytest.mark.parametrize(
    "odd", ["last frıday", "yeſterday", "ſix days ago", "on 3 auguſt", "whıch", "\ud83d"]
)
def test_letters_that_only_look_like_others_stop_no_recall(mem: Memory, odd: str) -> None:
    said = mem.remember(f"we met {odd}".encode(errors="replace").decode())
    for query in ("what was on 3 May 2024?", odd, f"we met {odd}"):
        assert mem.recall(query).ids == [said.id]


@pytest.mark.parametrize("odd", ["it's", '"', "`", "a\\b", "x; DROP TABLE memories", "a/b|c", "é", "中", "0"])
def test_odd_ids_are_kept_as_they_are(mem: Memory, odd: str) -> None:
    mem.remember("other", id="other")
    mem.remember("odd", id=odd, key=odd)
    mem.update(odd, text="odd again")
    assert mem.recall("odd again", k=1).ids == [odd]
    mem.feedback("r", used=[odd])
    item = mem.get(odd)
    assert item is not None
    assert (item.text, item.key, item.use_count) == ("odd again", odd, 1)
    mem.forget(odd)
    assert texts(mem.list().items) == ["other"]
