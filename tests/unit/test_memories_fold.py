"""The memories fold: given events, when one more comes, then these rows. Every case also in one batch."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.folding import ALICE, BOB, START, forget, forget_scope, given, remember, supersede, update

from mnemolog.schemas.details import COLUMNS
from mnemolog.schemas.events import Event
from mnemolog.schemas.rows import MEMORY_FIELDS


def test_a_remembered_memory_has_every_field() -> None:
    event = remember(
        "m",
        "Alice likes tea",
        kind="preference",
        importance=0.8,
        tags=["drinks", "ui"],
        key="drink",
        author="Alice",
        source="chat",
        metadata={"city": "Paris", "b": [1, 2.5, None, True]},
        pinned=True,
        expires_at=START + timedelta(days=400),
        agent_id="agent",
        thread_id="thread",
    )
    row = given(event)["m"]
    assert {name: row[name] for name in row if name not in ("history", "vector", "origin", "terms")} == {
        "pk": "acme/alice|m",
        "namespace": "acme/alice",
        "deleted": False,
        "_off": 0,
        "_fill": 0,
        "id": "m",
        "text": "Alice likes tea",
        "kind": "preference",
        "importance": 0.8,
        "tags": ["drinks", "ui"],
        "key": "drink",
        "author": "Alice",
        "source": "chat",
        "agent_id": "agent",
        "thread_id": "thread",
        "metadata": '{"b":[1,2.5,null,true],"city":"Paris"}',
        "pinned": True,
        "occurred_at": event.occurred_at,
        "recorded_at": START,
        "updated_at": event.occurred_at,
        "touched_at": None,
        "expires_at": START + timedelta(days=400),
        "superseded_by": None,
        "successor": None,
        "slot": "acme/alice|drink",
        "embed_error": None,
        "repeats": [],
        "detail": None,
        **dict.fromkeys(COLUMNS),
        "valid_from": None,
        "valid_to": None,
        "sources": [],
        "links": [],
        "connected": None,
        "timeline": None,
        "rank": None,
        "rests_on": None,
    }
    assert row["terms"].split()[0] == "alic"
    assert "tea" in row["terms"].split()
    assert [change["type"] for change in row["history"]] == ["MemoryRemembered"]
    assert row["history"][0]["agent_id"] == "agent"


def test_every_column_of_a_row_is_in_the_schema() -> None:
    columns = {field.name for field in MEMORY_FIELDS} | {"vector"}
    view = given(remember("m", "a", key="k"), remember("n", "b", key="k"), forget("m"), forget_scope())
    assert all(row.keys() <= columns for row in view.table.scan())


def test_the_same_event_twice_changes_nothing() -> None:
    event = remember("m", "text", key="k", tags=["a"], touch=True)
    given(event).unchanged_by(event, event)


@pytest.mark.parametrize("between", [update("m", text="new"), supersede("m", "n"), forget("n")])
def test_the_same_event_later_changes_nothing(between: Event) -> None:
    event = remember("m", "text", touch=True)
    given(event, remember("n", "other"), between).unchanged_by(event)


def test_a_retry_with_its_id_and_content_changes_nothing() -> None:
    view = given(remember("m", "text", tags=["a"], importance=0.5, metadata={"x": 1, "y": 2}))
    view.unchanged_by(remember("m", "text", tags=["a"], importance=0.5, metadata={"y": 2, "x": 1}))


def test_a_retry_after_an_update_does_not_undo_it() -> None:
    view = given(remember("m", "text"), update("m", text="better"))
    view.unchanged_by(remember("m", "text"))
    assert view["m"]["text"] == "better"


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "other"},
        {"tags": ["b"]},
        {"importance": 0.9},
        {"metadata": {"x": 2}},
        {"kind": "fact"},
        {"author": "Bob"},
        {"source": "mail"},
        {"pinned": True},
        {"key": "k"},
    ],
)
def test_the_same_id_with_other_content_puts_the_memory_anew(fields: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"text": "text", "tags": ["a"], "importance": 0.5, "metadata": {"x": 1}}
    first = remember("m", **plain)
    again = remember("m", **{**plain, **fields})
    view = given(first, again)
    row = view["m"]
    assert view.live() == {"m"}
    expected = {**fields, "metadata": '{"x":2}'} if "metadata" in fields else fields
    assert {name: row[name] for name in expected} == expected
    assert row["occurred_at"] == first.occurred_at
    assert row["updated_at"] == again.occurred_at
    assert len(row["history"]) == 2


def test_a_put_without_the_old_fields_drops_them() -> None:
    row = given(remember("m", "a", tags=["t"], importance=1.0, author="Al", key="k"), remember("m", "b"))["m"]
    assert (row["tags"], row["importance"], row["author"], row["key"], row["slot"]) == (
        [],
        None,
        None,
        None,
        None,
    )


def test_a_changed_text_loses_its_vector_and_an_unchanged_one_keeps_it() -> None:
    view = given(remember("m", "text"))
    vector = object()
    view.table.commit([{**view["m"], "vector": vector, "_off": 1}], 1)
    view.when(update("m", importance=0.9))
    assert view["m"]["vector"] is vector
    view.when(update("m", author="Alice"))
    assert view["m"]["vector"] is None  # the author is part of what is embedded
    assert view["m"]["terms"].split()[0] == "alic"


def test_dedupe_touches_the_memory() -> None:
    """M1: the same text twice is one memory; the second call refreshes it."""
    first, second = remember("m", "text", touch=True), remember("m", "text", touch=True)
    row = given(first, second)["m"]
    assert row["touched_at"] == second.occurred_at
    assert (row["occurred_at"], row["updated_at"]) == (first.occurred_at, first.occurred_at)
    assert [change["type"] for change in row["history"]] == ["MemoryRemembered", "MemoryRemembered"]


def test_dedupe_of_a_text_that_was_changed_since_puts_it_there_again() -> None:
    """The last word wins: a text that was just remembered is never missing."""
    row = given(remember("m", "old", touch=True), update("m", text="new"), remember("m", "old", touch=True))[
        "m"
    ]
    assert (row["text"], len(row["history"])) == ("old", 3)


def test_dedupe_of_a_text_that_is_there_leaves_what_was_changed_beside_it() -> None:
    first, second = remember("m", "a", touch=True), remember("m", "a", touch=True)
    row = given(first, update("m", importance=0.9, tags=["t"]), second)["m"]
    assert (row["importance"], row["tags"], row["touched_at"]) == (0.9, ["t"], second.occurred_at)


def test_a_keyed_memory_said_again_without_a_touch_changes_nothing() -> None:
    given(remember("m", "fish", key="diet")).unchanged_by(remember("m", "fish", key="diet"))


def test_a_keyed_memory_said_again_after_another_one_holds_its_key_again() -> None:
    view = given(remember("m", "a", key="k"), remember("n", "b", key="k"), remember("m", "a", key="k"))
    assert (view.slot_holders("k"), view.active()) == (["m"], {"m"})
    assert view["m"]["touched_at"] is None


def test_a_touch_that_arrives_late_does_not_step_back() -> None:
    row = given(
        remember("m", "a", touch=True), remember("m", "a", touch=True, occurred_at=START - timedelta(9))
    )["m"]
    assert row["touched_at"] == row["occurred_at"]


def test_a_touch_takes_the_new_expiry() -> None:
    later = START + timedelta(days=30)
    view = given(remember("m", "a", touch=True, expires_at=START + timedelta(days=1)))
    view.when(remember("m", "a", touch=True, expires_at=later))
    assert view["m"]["expires_at"] == later


def test_an_expired_memory_remembered_again_is_a_new_one() -> None:
    """M24: what expired before any sweep is over, also for the fold; the history goes on."""
    view = given(remember("m", "a", expires_at=START - timedelta(days=1), importance=0.9))
    again = remember("m", "a", expires_at=START + timedelta(days=99))
    view.when(again)
    row = view["m"]
    assert (row["occurred_at"], row["importance"]) == (again.occurred_at, None)
    assert row["expires_at"] == START + timedelta(days=99)
    assert len(row["history"]) == 2


def test_the_same_id_in_two_namespaces_is_two_memories() -> None:
    view = given(remember("m", "of Alice", key="k"), remember("m", "of Bob", key="k", namespace=BOB))
    assert (view.row("m", ALICE) or {})["text"] == "of Alice"
    assert (view.row("m", BOB) or {})["text"] == "of Bob"
    assert view.active(ALICE) == view.active(BOB) == {"m"}


def test_a_text_update_leaves_all_else() -> None:
    """M13."""
    event = remember(
        "m",
        "a",
        tags=["t"],
        metadata={"x": 1},
        importance=0.7,
        kind="fact",
        key="k",
        author="Al",
        pinned=True,
        source="s",
        expires_at=START + timedelta(days=9),
        thread_id="th",
        agent_id="ag",
    )
    before, patch = given(event), update("m", text="b", reason="typo")
    after = given(event, patch)
    changed = {name for name in after["m"] if after["m"][name] != before["m"][name]}
    assert changed == {"text", "terms", "updated_at", "history", "_off"}
    assert after["m"]["updated_at"] == patch.occurred_at
    assert after["m"]["history"][-1]["reason"] == "typo"


def test_an_update_sets_and_clears_fields() -> None:
    view = given(remember("m", "a", tags=["t"], importance=0.7, metadata={"x": 1}, author="Al"))
    view.when(update("m", importance=None, tags=[], metadata={"y": [1]}, author=None, kind="fact"))
    row = view["m"]
    assert (row["importance"], row["tags"], row["metadata"], row["author"]) == (None, [], '{"y":[1]}', None)
    assert (row["kind"], row["text"]) == ("fact", "a")


def test_the_same_update_twice_changes_nothing() -> None:
    patch = update("m", text="b")
    given(remember("m", "a"), patch, update("m", text="c")).unchanged_by(patch)


def test_scope_words_in_metadata_are_plain_metadata() -> None:
    """M12."""
    view = given(remember("m", "a", metadata={"namespace": "acme/bob", "user_id": "bob"}))
    view.when(update("m", metadata={"namespace": ["x"], "id": "n"}))
    assert (view["m"]["namespace"], view["m"]["id"]) == ("acme/alice", "m")
    assert view.live(BOB) == set()
