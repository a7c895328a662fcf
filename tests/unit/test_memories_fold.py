"""The memories fold: given events, when one more comes, then these rows. Every case also in one batch."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from support.folding import ALICE, BOB, START, View, forget, forget_scope, given, remember, supersede, update

from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.processors.materialize import fold_batch
from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import parse_filter
from mnemolog.schemas.rows import MEMORY_FIELDS, memory_pk, slot_of

CONTENT = {"text", "kind", "importance", "tags", "key", "author", "source", "agent_id", "thread_id"}
CONTENT |= {"metadata", "pinned", "occurred_at", "recorded_at", "updated_at", "touched_at", "expires_at"}
CONTENT |= {"superseded_by", "successor", "slot", "origin", "terms", "embed_error", "vector"}


def changes_nothing(view: View, *events: Event) -> None:
    before = view.snapshot()
    assert view.when(*events) == {}
    assert view.snapshot() == before


def slot_holders(view: View, key: str) -> list[str]:
    return [row["id"] for row in view.table.lookup("slot", [slot_of(ALICE, key)])]


def found_by_key(view: View, key: str) -> list[str]:
    """The active memories of a key, as a user asks for them."""
    rows = view.table.select("acme/alice", parse_filter({"key": key, "superseded": False}))
    return sorted(row["id"] for row in rows)


# ---- remember


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
    changes_nothing(given(event), event, event)


@pytest.mark.parametrize("between", [update("m", text="new"), supersede("m", "n"), forget("n")])
def test_the_same_event_later_changes_nothing(between: Event) -> None:
    event = remember("m", "text", touch=True)
    changes_nothing(given(event, remember("n", "other"), between), event)


def test_a_retry_with_its_id_and_content_changes_nothing() -> None:
    view = given(remember("m", "text", tags=["a"], importance=0.5, metadata={"x": 1, "y": 2}))
    changes_nothing(view, remember("m", "text", tags=["a"], importance=0.5, metadata={"y": 2, "x": 1}))


def test_a_retry_after_an_update_does_not_undo_it() -> None:
    view = given(remember("m", "text"), update("m", text="better"))
    changes_nothing(view, remember("m", "text"))
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


# ---- keys


def test_a_newer_memory_of_a_key_supersedes_the_older() -> None:
    view = given(remember("a", "tea", key="drink"), remember("b", "coffee", key="drink"))
    assert view.active() == {"b"}
    assert view.live() == {"a", "b"}
    assert (view["a"]["superseded_by"], view["a"]["slot"]) == ("b", None)
    assert slot_holders(view, "drink") == ["b"]


def test_keys_of_other_namespaces_and_other_keys_are_untouched() -> None:
    view = given(remember("a", "tea", key="drink"), remember("b", "x", key="drink", namespace=BOB))
    view.when(remember("c", "y", key="food"))
    assert view.active(ALICE) == {"a", "c"}
    assert view.active(BOB) == {"b"}


def chain() -> View:
    return given(*(remember(name, f"text {name}", key="k") for name in "abc"))


def test_a_chain_has_one_active_memory() -> None:
    view = chain()
    assert view.active() == {"c"}
    assert [view[name]["superseded_by"] for name in "abc"] == ["b", "c", None]


def test_forgetting_the_newest_of_a_key_brings_the_older_back() -> None:
    view = chain()
    view.when(forget("c"))
    assert view.active() == {"b"}
    assert found_by_key(view, "k") == ["b"]
    view.when(remember("d", "text d", key="k"))
    assert view.active() == {"d"}
    assert view["b"]["superseded_by"] == "d"
    assert view["a"]["superseded_by"] == "b"


def test_forgetting_the_middle_relinks() -> None:
    view = chain()
    view.when(forget("b"))
    assert view.active() == {"c"}
    assert view["a"]["superseded_by"] == "c"
    view.when(forget("c"))
    assert view.active() == {"a"}


def test_forgetting_the_newest_two_at_once_brings_the_oldest_back() -> None:
    view = chain()
    view.when(forget("c", "b"))
    assert view.active() == {"a"}
    assert slot_holders(view, "k") == ["a"]


def test_forgetting_all_of_a_chain_leaves_nothing() -> None:
    view = chain()
    view.when(forget("a", "b", "c"))
    assert view.live() == set()
    assert slot_holders(view, "k") == []


def test_a_b_a_makes_the_first_active_again_without_a_cycle() -> None:
    a, b = remember("a", "A", key="k"), remember("b", "B", key="k")
    view = given(a, b, remember("a", "A", key="k", touch=True))
    assert view.active() == {"a"}
    assert (view["a"]["successor"], view["b"]["superseded_by"]) == (None, "a")
    view.when(remember("b", "B", key="k", touch=True))
    assert view.active() == {"b"}
    view.when(forget("b"))
    assert view.active() == {"a"}
    assert found_by_key(view, "k") == ["a"]


def test_a_replayed_source_leaves_the_same_memory_active() -> None:
    """M25: an ingest file loaded twice."""
    names = ["a", "b", "a", "c"]
    view = given(*(remember(name, name, key="k", touch=True) for name in names * 2))
    assert view.active() == {"c"}


def test_a_memory_that_is_put_under_another_key_leaves_the_old_one() -> None:
    view = given(remember("m", "a", key="k"), remember("m", "b", key="l"))
    assert slot_holders(view, "k") == []
    assert slot_holders(view, "l") == ["m"]
    view.when(remember("n", "c", key="k"))
    assert view.active() == {"m", "n"}


# ---- supersede


def test_an_explicit_supersede_keeps_the_older_as_history() -> None:
    view = given(remember("a", "A"), remember("b", "B"), supersede("a", "b", reason="newer"))
    assert view.active() == {"b"}
    assert view["a"]["superseded_by"] == "b"
    assert view["a"]["text"] == "A"
    assert view["a"]["history"][-1]["reason"] == "newer"


def test_forgetting_the_successor_of_an_explicit_supersede_brings_the_older_back() -> None:
    view = given(remember("a", "A", key="k"), remember("b", "B"), supersede("a", "b"), forget("b"))
    assert view.active() == {"a"}
    assert found_by_key(view, "k") == ["a"]
    assert slot_holders(view, "k") == ["a"]


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_a_cycle_is_refused(length: int) -> None:
    names = [f"m{at}" for at in range(length)]
    links = [supersede(old, new) for old, new in pairwise(names)]
    view = given(*(remember(name, name) for name in names), *links)
    changes_nothing(view, supersede(names[-1], names[0]))
    assert view.active() == {names[-1]}


def test_a_supersede_by_an_unknown_or_forgotten_memory_changes_nothing() -> None:
    view = given(remember("a", "A"), remember("b", "B"), forget("b"))
    changes_nothing(view, supersede("a", "b"), supersede("a", "nobody"), supersede("nobody", "a"))


def test_a_supersede_does_not_reach_into_another_namespace() -> None:
    view = given(remember("a", "A"), remember("b", "B", namespace=BOB))
    changes_nothing(view, supersede("a", "b"))


def test_two_memories_may_have_one_successor() -> None:
    view = given(remember("a", "A"), remember("b", "B"), remember("c", "C"))
    view.when(supersede("a", "c"), supersede("b", "c"))
    assert view.active() == {"c"}
    view.when(forget("c"))
    assert view.active() == {"a", "b"}


def test_one_memory_a_key_is_active_when_the_successor_of_an_older_one_is_forgotten() -> None:
    """`a` left its key by an explicit supersede, `w` took it: `a` must not come back beside it."""
    view = given(
        remember("a", "A", key="k"), remember("z", "Z"), supersede("a", "z"), remember("w", "W", key="k")
    )
    view.when(forget("z"))
    assert found_by_key(view, "k") == ["w"]
    assert slot_holders(view, "k") == ["w"]
    assert view["a"]["superseded_by"] == "w"


def test_one_memory_a_key_is_active_when_two_of_it_lose_their_successor_at_once() -> None:
    view = given(remember("a", "A", key="k"), remember("z", "Z"), supersede("a", "z"))
    view.when(remember("b", "B", key="k"), supersede("b", "z"))
    view.when(forget("z"))
    assert found_by_key(view, "k") == ["b"]
    assert view["a"]["superseded_by"] == "b"
    view.when(forget("b"))
    assert found_by_key(view, "k") == ["a"]


# ---- update


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
    changes_nothing(given(remember("m", "a"), patch, update("m", text="c")), patch)


def test_scope_words_in_metadata_are_plain_metadata() -> None:
    """M12."""
    view = given(remember("m", "a", metadata={"namespace": "acme/bob", "user_id": "bob"}))
    view.when(update("m", metadata={"namespace": ["x"], "id": "n"}))
    assert (view["m"]["namespace"], view["m"]["id"]) == ("acme/alice", "m")
    assert view.live(BOB) == set()


# ---- forget


def test_a_forgotten_memory_is_a_tombstone_without_content() -> None:
    event = remember("m", "secret", tags=["s"], metadata={"s": 1}, key="k", author="Al", importance=0.5)
    view = given(event, forget("m", reason="asked to"))
    row = view["m"]
    assert row["deleted"]
    assert {name for name in CONTENT if row.get(name) is not None} == set()
    assert [change["type"] for change in row["history"]] == ["MemoryRemembered", "MemoryForgotten"]
    assert row["history"][-1]["reason"] == "asked to"
    assert "secret" not in str(row)


def test_an_update_or_supersede_of_a_forgotten_memory_changes_nothing() -> None:
    view = given(remember("m", "a"), remember("n", "b"), forget("m"))
    changes_nothing(view, update("m", text="x"), supersede("m", "n"), supersede("n", "m"), forget("m"))


def test_unknown_ids_are_harmless() -> None:
    view = given(remember("m", "a"))
    changes_nothing(view, forget("nobody"), update("nobody", text="x"))
    view.when(forget("nobody", "m"))
    assert view.live() == set()
    assert view.row("nobody") is None


def test_what_is_remembered_again_after_forgetting_is_new() -> None:
    """M46."""
    again = remember("m", "a", importance=0.3)
    view = given(remember("m", "a", tags=["old"], key="k"), forget("m"), again)
    row = view["m"]
    assert (row["deleted"], row["tags"], row["key"], row["importance"]) == (False, [], None, 0.3)
    assert row["occurred_at"] == again.occurred_at
    assert [change["type"] for change in row["history"]] == [
        "MemoryRemembered",
        "MemoryForgotten",
        "MemoryRemembered",
    ]


def test_a_redelivered_forget_spares_what_was_remembered_since() -> None:
    gone = forget("m")
    view = given(remember("m", "a"), gone, remember("m", "a"))
    changes_nothing(view, gone)
    assert view.live() == {"m"}


def test_a_redelivered_remember_does_not_bring_back_what_was_forgotten() -> None:
    first = remember("m", "a", key="k")
    changes_nothing(given(first, forget("m")), first)


def test_forgetting_reaches_only_its_namespace() -> None:
    """M2."""
    view = given(remember("m", "a"), remember("m", "b", namespace=BOB))
    view.when(forget("m"))
    assert view.live(ALICE) == set()
    assert view.live(BOB) == {"m"}


def test_a_forgotten_id_with_the_separator_in_it_is_only_itself() -> None:
    view = given(remember("m", "a", namespace=("x", "y")), remember("y|m", "b", namespace=("x",)))
    view.when(forget("y|m", namespace=("x",)))
    assert view.live(("x", "y")) == {"m"}
    assert view.live(("x",)) == set()


# ---- forget by scope


def populated() -> View:
    return given(
        remember("a", "tea", tags=["drink"], importance=0.2),
        remember("b", "bread", tags=["food"], importance=0.9),
        remember("c", "wine", tags=["drink"], importance=0.9),
        remember("d", "water", tags=["drink"], namespace=BOB),
    )


def test_a_scope_is_forgotten_by_filter() -> None:
    view = populated()
    view.when(forget_scope({"tags": {"contains": "drink"}, "importance": {"gt": 0.5}}, reason="r"))
    assert view.live(ALICE) == {"a", "b"}
    assert view.live(BOB) == {"d"}
    assert view["c"]["history"][-1]["reason"] == "r"
    assert "wine" not in str(view["c"])


def test_a_whole_namespace_is_forgotten_and_no_other() -> None:
    """M2."""
    view = populated()
    view.when(forget_scope())
    assert view.live(ALICE) == set()
    assert view.live(BOB) == {"d"}


def test_a_prefix_of_a_namespace_is_another_namespace() -> None:
    view = given(
        *(remember("m", "a", namespace=name) for name in [("acme",), ("acme", "x"), ("acme/x",), ("acm",)])
    )
    view.when(forget_scope(namespace=("acme",)))
    assert [view.live(name) for name in [("acme",), ("acme", "x"), ("acme/x",), ("acm",)]] == [
        set(), {"m"}, {"m"}, {"m"},
    ]  # fmt: skip


def test_a_scope_given_twice_spares_what_came_since() -> None:
    everything = forget_scope()
    view = populated()
    view.when(everything)
    view.when(remember("e", "new"), remember("a", "tea"))
    changes_nothing(view, everything)
    assert view.live() == {"a", "e"}


def test_a_scope_that_selected_nothing_and_comes_again_changes_nothing() -> None:
    scope = forget_scope({"kind": "fact"})
    view = given(remember("a", "x"), scope, remember("b", "y", kind="fact"))
    changes_nothing(view, scope)
    assert view.live() == {"a", "b"}


def test_a_scope_is_taken_as_of_its_event_within_one_batch() -> None:
    view = given(
        remember("a", "x", tags=["t"]),
        update("a", tags=[]),
        remember("b", "x", tags=["t"]),
        forget_scope({"tags": {"contains": "t"}}),
        remember("c", "x", tags=["t"]),
    )
    assert view.live() == {"a", "c"}


def test_a_scope_relinks_what_its_memories_had_superseded() -> None:
    view = given(
        remember("a", "A", key="k"),
        remember("b", "B", key="k", tags=["x"]),
        remember("c", "C", key="k", tags=["x"]),
    )
    view.when(forget_scope({"tags": {"contains": "x"}}))
    assert view.active() == {"a"}
    assert found_by_key(view, "k") == ["a"]


def test_a_scope_of_superseded_memories_only() -> None:
    view = chain()
    view.when(forget_scope({"superseded": True}))
    assert view.live() == view.active() == {"c"}


def test_a_scope_with_a_filter_that_is_none_is_rejected_and_nothing_else_is() -> None:
    view = View(MemoriesFold())
    from support.folding import stored

    events = [remember("a", "x"), forget_scope({"nonsense": 1}), remember("b", "y")]
    decoded = [(stored(event, at, view.fold.topic), event) for at, event in enumerate(events)]
    rows, rejected = fold_batch(view.fold, view.table, decoded)
    assert [row["id"] for row in rows] == ["a", "b"]
    assert [bad.record.position.offset for bad in rejected] == [1]
    assert "nonsense" in rejected[0].reason


def test_ids_with_quotes_wildcards_and_separators_are_only_themselves() -> None:
    """L9."""
    ids = ["x' OR 1=1 --", "O'Brien", "%", "_", "*", "a|b", "acme/alice|m", '"', "\\", "🦊"]
    view = given(*(remember(name, f"text of {name}") for name in ids))
    for name in ids:
        view.when(forget(name))
        assert name not in view.live()
        view.when(remember(name, "back"))
    assert view.live() == set(ids)
    assert view["O'Brien"]["pk"] == memory_pk(ALICE, "O'Brien")
