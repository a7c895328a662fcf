"""Evictions in the folds: carried out once, on what has not changed since they were decided."""

from __future__ import annotations

from typing import Any

import pytest
from support.folding import ALICE, View, feedback, given, given_usage, remember, supersede, update
from support.folding import _envelope as envelope

from mnemolog.schemas import events as ev
from mnemolog.schemas.events import Event
from mnemolog.schemas.evictions import eviction_counts, evictions_pk, last_eviction
from mnemolog.schemas.rows import memory_pk


def evict(*memory_ids: str, on: View | None = None, **fields: Any) -> ev.MemoryEvicted:
    """An eviction that was decided on what `on` shows; `fields` say otherwise."""
    kept = fields.get("kept")
    named = [*memory_ids, *([kept] if kept else [])]
    last = on.table.lookup("pk", [evictions_pk(ALICE)]) if on else []
    made = {
        "memory_ids": memory_ids,
        "rule": "near_duplicate" if kept else "capacity",
        "revisions": {one: on[one]["history"][-1]["event_id"] for one in named} if on else {},
        "previous": last_eviction(last[0] if last else None),
    }
    return ev.MemoryEvicted(**envelope({**made, **fields}))


def counts(view: View) -> dict[str, int]:
    (row,) = view.table.lookup("pk", [evictions_pk(ALICE)])
    return eviction_counts(row)


def three() -> View:
    return given(*(remember(name, name) for name in "abc"))


def test_over_the_capacity_memories_are_forgotten_with_the_reason() -> None:
    view = three()
    view.when(evict("a", "b", on=view, reason="over 1"))
    assert view.live() == {"c"}
    assert (view["a"]["text"], view["a"]["deleted"]) == (None, True)
    last = view["a"]["history"][-1]
    assert (last["type"], last["reason"]) == ("MemoryEvicted", "over 1")
    assert counts(view) == {"capacity": 2}


def test_a_near_duplicate_is_superseded_and_comes_back_with_its_like_forgotten() -> None:
    view = three()
    view.when(evict("a", on=view, kept="b", reason="cosine 0.99"))
    assert (view["a"]["superseded_by"], view.active()) == ("b", {"b", "c"})
    assert view["a"]["history"][-1]["reason"] == "cosine 0.99"
    view.when(evict("b", on=view))
    assert (view.live(), view.active(), counts(view)) == (
        {"a", "c"},
        {"a", "c"},
        {"capacity": 1, "near_duplicate": 1},
    )


def test_the_same_decision_twice_changes_nothing() -> None:
    view = three()
    decision = evict("a", on=view)
    view.when(decision)
    view.unchanged_by(decision)
    view.unchanged_by(decision.model_copy(update={"event_id": "another"}))


def test_of_two_decisions_on_one_state_the_first_is_carried_out() -> None:
    """Two owners, or one that was killed before its commit, evict no more than one would."""
    view = three()
    first, second = evict("a", on=view), evict("b", "c", on=view)
    view.when(first, second)
    assert view.live() == {"b", "c"}
    assert counts(view) == {"capacity": 1}


@pytest.mark.parametrize(
    "between",
    [update("a", importance=0.9), update("a", pinned=True), remember("a", "put anew"), supersede("a", "c")],
)
def test_what_changed_since_the_decision_is_spared(between: Event) -> None:
    view = three()
    decision = evict("a", "b", on=view)
    view.when(between, decision)
    assert view.live() == {"a", "c"}


def test_pinned_memories_are_never_evicted() -> None:
    view = given(remember("a", "a", pinned=True), remember("b", "b"))
    view.when(evict("a", "b", on=view))
    assert view.live() == {"a"}
    duplicate = given(remember("a", "a", pinned=True), remember("b", "a"))
    duplicate.when(evict("a", on=duplicate, kept="b"))
    assert duplicate.active() == {"a", "b"}


def test_a_memory_with_a_key_is_no_duplicate() -> None:
    view = given(remember("a", "a", key="k"), remember("b", "a"))
    view.unchanged_by(evict("a", on=view, kept="b"))
    assert view.found_by_key("k") == ["a"]


@pytest.mark.parametrize("gone", [supersede("b", "c"), update("b", text="other"), evict("b")])
def test_a_duplicate_of_what_is_no_more_stays(gone: Event) -> None:
    view = three()
    decision = evict("a", on=view, kept="b")
    if isinstance(gone, ev.MemoryEvicted):
        gone = evict("b", on=view)
    view.when(gone, decision)
    assert view["a"]["superseded_by"] is None


def test_nothing_to_do_is_no_eviction() -> None:
    view = three()
    view.unchanged_by(evict("nobody", revisions={"nobody": "e"}))
    view.when(evict("a", on=view))
    assert view.live() == {"b", "c"}


def test_an_evicted_key_goes_to_the_one_before() -> None:
    view = given(remember("a", "old", key="k"), remember("b", "new", key="k"))
    view.when(evict("b", on=view))
    assert view.found_by_key("k") == ["a"]


def test_evictions_of_other_namespaces_do_not_meet() -> None:
    view = three()
    view.when(remember("a", "bob's", namespace=("acme", "bob")))
    view.when(evict("a", on=view))
    assert view.live(("acme", "bob")) == {"a"}
    assert view.row("a", ("acme", "bob"))


def test_what_was_learned_of_a_memory_goes_with_it_unless_it_stays_as_a_duplicate() -> None:
    view = given_usage(feedback("r", used=["a", "b"]))
    view.when(evict("a"), evict("b", kept="c"))
    assert view.live() == {"b"}
    assert memory_pk(ALICE, "a") in view.snapshot()
