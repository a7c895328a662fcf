"""From arguments to events: ids, times, what is refused and how it is said."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemolog.producers.commands import Commands
from mnemolog.producers.ids import derived_id, new_id
from mnemolog.schemas.errors import InvalidInputError

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
COMMANDS = Commands(("acme", "alice"), agent_id="agent", thread_id="thread", clock=lambda: NOW)


def test_a_memory_has_its_own_id_unless_something_tells_which_it_is() -> None:
    assert COMMANDS.remember("x").memory_id != COMMANDS.remember("x").memory_id
    assert COMMANDS.remember("x", id="mine", key="k").memory_id == "mine"
    assert COMMANDS.remember("x", dedupe=True).memory_id == COMMANDS.remember("x", dedupe=True).memory_id
    assert COMMANDS.remember("x", key="k").memory_id == COMMANDS.remember("x", key="k", kind="fact").memory_id


def test_derived_ids_differ_by_all_that_makes_them() -> None:
    other = Commands(("acme/alice",))
    ids = {
        COMMANDS.remember("x", dedupe=True).memory_id,
        COMMANDS.remember("x", key="k").memory_id,
        COMMANDS.remember("x", key="K").memory_id,
        COMMANDS.remember("x ", key="k").memory_id,
        other.remember("x", dedupe=True).memory_id,
        other.remember("x", key="k").memory_id,
    }
    assert len(ids) == 6


def test_the_same_text_again_touches_only_where_that_was_asked_for() -> None:
    assert not COMMANDS.remember("x").touch
    assert COMMANDS.remember("x", dedupe=True).touch
    assert COMMANDS.remember("x", key="k").touch


def test_fresh_ids_rise_with_time() -> None:
    first = new_id()
    time.sleep(0.002)
    assert first < new_id()
    assert first[14] == "7"
    assert derived_id("a", 1)[14] == "8"


def test_defaults_of_the_handle_and_of_the_call() -> None:
    event = COMMANDS.remember("x")
    assert (event.agent_id, event.thread_id, event.occurred_at) == ("agent", "thread", NOW)
    event = COMMANDS.remember(
        "x", agent_id="a", thread_id="t", occurred_at=datetime(2020, 1, 1), event_id="e"
    )
    assert (event.agent_id, event.thread_id, event.event_id) == ("a", "t", "e")
    assert event.occurred_at == datetime(2020, 1, 1, tzinfo=UTC)


def test_time_to_live_counts_from_now() -> None:
    assert COMMANDS.remember("x", ttl_seconds=60).expires_at == NOW + timedelta(minutes=1)
    assert COMMANDS.remember("x", expires_at=NOW).expires_at == NOW
    assert COMMANDS.update("m", ttl_seconds=1.5).changes == {"expires_at": NOW + timedelta(seconds=1.5)}
    assert COMMANDS.update("m", ttl_seconds=None).changes == {"expires_at": None}


def test_an_update_holds_what_was_given_and_nothing_else() -> None:
    event = COMMANDS.update("m", text="new", importance=None, tags=["a", "a"], reason="why")
    assert event.changes == {"text": "new", "importance": None, "tags": ("a",)}
    assert event.reason == "why"


def test_the_callers_metadata_is_not_shared() -> None:
    metadata: dict[str, Any] = {"a": 1}
    event = COMMANDS.remember("x", metadata=metadata)
    metadata["a"] = 2
    assert event.metadata == {"a": 1}


def test_the_same_feedback_on_one_recall_is_one_event() -> None:
    first = COMMANDS.feedback("r", used=["b", "a", "a"], ignored=["c"])
    again = COMMANDS.feedback("r", used=["a", "b"], ignored="c")
    assert first.event_id == again.event_id
    assert (first.used, first.ignored) == (("a", "b"), ("c",))
    assert COMMANDS.feedback("r", used=["a"]).event_id != first.event_id
    assert COMMANDS.feedback("r", ignored=["a"]).event_id != COMMANDS.feedback("r", used=["a"]).event_id
    assert COMMANDS.feedback(used=["a"]).event_id != COMMANDS.feedback(used=["a"]).event_id


BAD: list[tuple[str, str | None, Callable[[], object]]] = [
    ("blank text", "text", lambda: COMMANDS.remember(" \n")),
    ("no text", "text", lambda: COMMANDS.remember(None, key="k")),  # type: ignore[arg-type]
    ("half a surrogate pair", "text", lambda: COMMANDS.remember("\ud800", dedupe=True)),
    ("a text that is too long", "text", lambda: COMMANDS.remember("ü" * 40_000)),
    ("importance over 1", "importance", lambda: COMMANDS.remember("x", importance=1.1)),
    ("importance that is a bool", "importance", lambda: COMMANDS.remember("x", importance=True)),
    ("importance that is no number", "importance", lambda: COMMANDS.remember("x", importance=math.nan)),
    ("one string as tags", "tags", lambda: COMMANDS.remember("x", tags="ui")),
    ("no list as tags", "tags", lambda: COMMANDS.remember("x", tags=5)),  # type: ignore[arg-type]
    ("too many tags", "tags", lambda: COMMANDS.remember("x", tags=map(str, range(65)))),
    ("an empty id", "id", lambda: COMMANDS.remember("x", id="")),
    ("an id with a line break", "id", lambda: COMMANDS.update("a\nb", text="x")),
    ("a key that is no string", "key", lambda: COMMANDS.remember("x", key=1)),  # type: ignore[arg-type]
    ("metadata that is a list", "metadata", lambda: COMMANDS.remember("x", metadata=[1])),  # type: ignore[arg-type]
    ("metadata with NaN", "metadata", lambda: COMMANDS.remember("x", metadata={"a": [math.nan]})),
    ("a ttl of 0", "ttl_seconds", lambda: COMMANDS.remember("x", ttl_seconds=0)),
    ("a ttl that is a bool", "ttl_seconds", lambda: COMMANDS.remember("x", ttl_seconds=True)),
    ("a ttl without end", "ttl_seconds", lambda: COMMANDS.remember("x", ttl_seconds=math.inf)),
    ("a ttl past the year 9999", "ttl_seconds", lambda: COMMANDS.remember("x", ttl_seconds=10**400)),
    ("ttl and expiry", "expires_at", lambda: COMMANDS.remember("x", ttl_seconds=1, expires_at=NOW)),
    ("ttl and expiry on update", "expires_at", lambda: COMMANDS.update("m", ttl_seconds=1, expires_at=None)),
    ("an update of nothing", None, lambda: COMMANDS.update("m", reason="none")),
    ("an update to a blank text", "text", lambda: COMMANDS.update("m", text="")),
    ("a memory that replaces itself", "by", lambda: COMMANDS.supersede("m", "m")),
    ("forgetting nothing", "ids", lambda: COMMANDS.forget([])),
    ("no feedback", "used", lambda: COMMANDS.feedback("r")),
    ("used and ignored", "ignored", lambda: COMMANDS.feedback("r", used=["a", "b"], ignored=["b"])),
    ("ids that are numbers", "used", lambda: COMMANDS.feedback("r", used=[1])),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("field", "call"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_is_refused_names_the_argument(field: str | None, call: Callable[[], object]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert caught.value.field == field
    assert len(str(caught.value)) < 400
