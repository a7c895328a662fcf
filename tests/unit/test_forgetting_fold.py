"""Forgetting in the memories fold: by id, by scope, given twice, and what comes after it."""

from __future__ import annotations

from support.folding import ALICE, BOB, View, forget, forget_scope, given, remember, stored, supersede, update

from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.processors.materialize import fold_batch
from mnemolog.schemas.rows import memory_pk

CONTENT = {"text", "kind", "importance", "tags", "key", "author", "source", "agent_id", "thread_id"}
CONTENT |= {"metadata", "pinned", "occurred_at", "recorded_at", "updated_at", "touched_at", "expires_at"}
CONTENT |= {"superseded_by", "successor", "slot", "origin", "terms", "embed_error", "vector"}


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
    view.unchanged_by(update("m", text="x"), supersede("m", "n"), supersede("n", "m"), forget("m"))


def test_unknown_ids_are_harmless() -> None:
    view = given(remember("m", "a"))
    view.unchanged_by(forget("nobody"), update("nobody", text="x"))
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
    view.unchanged_by(gone)
    assert view.live() == {"m"}


def test_a_redelivered_remember_does_not_bring_back_what_was_forgotten() -> None:
    first = remember("m", "a", key="k")
    given(first, forget("m")).unchanged_by(first)


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
    view.unchanged_by(everything)
    assert view.live() == {"a", "e"}


def test_a_scope_that_selected_nothing_and_comes_again_changes_nothing() -> None:
    scope = forget_scope({"kind": "fact"})
    view = given(remember("a", "x"), scope, remember("b", "y", kind="fact"))
    view.unchanged_by(scope)
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
    assert view.found_by_key("k") == ["a"]


def test_a_scope_of_superseded_memories_only() -> None:
    view = given(*(remember(name, f"text {name}", key="k") for name in "abc"))
    view.when(forget_scope({"superseded": True}))
    assert view.live() == view.active() == {"c"}


def test_a_scope_with_a_filter_that_is_none_is_rejected_and_nothing_else_is() -> None:
    view = View(MemoriesFold())

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
