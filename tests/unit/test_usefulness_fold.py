"""The usefulness fold: given what was shown and said, then these links. Every case also in one batch."""

from __future__ import annotations

from typing import Any

from support.folding import (
    ALICE,
    BOB,
    View,
    feedback,
    forget,
    forget_scope,
    given_usefulness,
    refitted,
    served,
)

from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.rows import link_pk, model_pk, shown_pk

DATED, PLAIN = {"shape": ("date:yes",)}, {"shape": ("date:no",)}


def link(view: View, shape: str, query_type: str = "when", namespace: Namespace = ALICE) -> Any:
    """(sum of ratings in thousandths, count); None without a live link."""
    found = view.table.lookup("pk", [link_pk(namespace, query_type, shape)])
    return (found[0]["sum"], found[0]["count"]) if found and not found[0]["deleted"] else None


def shown(recall_id: str = "r", **fields: Any) -> Any:
    return served(recall_id, "when", {"a": DATED, "b": PLAIN}, **fields)


def test_what_is_said_of_shown_memories_counts_for_their_shapes() -> None:
    view = given_usefulness(shown(), feedback("r", used=["a"], ignored=["b"]))
    assert link(view, "date:yes") == (1000, 1)
    assert link(view, "date:no") == (0, 1)
    assert link(view, "*") == (1000, 2)


def test_ratings_grade() -> None:
    view = given_usefulness(shown(), feedback("r", ratings={"a": 0.25, "b": 1.0}))
    assert (link(view, "date:yes"), link(view, "date:no")) == ((250, 1), (1000, 1))


def test_the_later_word_wins_and_the_same_word_counts_once() -> None:
    """E1."""
    first = feedback("r", used=["a"])
    view = given_usefulness(shown(), first, feedback("r", ignored=["a"]))
    assert link(view, "date:yes") == (0, 1)
    view.unchanged_by(first, feedback("r", ignored=["a"]))


def test_a_recall_shown_twice_is_shown_once() -> None:
    view = given_usefulness(shown(), feedback("r", used=["a"]))
    view.unchanged_by(shown())


def test_feedback_on_a_recall_that_was_not_shown_teaches_nothing() -> None:
    early = feedback("r", used=["a"])
    view = given_usefulness(early, feedback(None, used=["a"]))
    assert link(view, "*") is None
    view.when(shown())
    view.unchanged_by(early)
    assert link(view, "*") is None


def test_forgetting_a_memory_takes_back_exactly_what_it_brought() -> None:
    said = feedback("r", used=["a"], ratings={"b": 0.3})
    view = given_usefulness(shown(), said, forget("a"))
    assert link(view, "date:yes") is None
    assert (link(view, "date:no"), link(view, "*")) == ((300, 1), (300, 1))
    view.when(forget("b"))
    assert link(view, "*") is None
    assert all(row["deleted"] for row in view.table.scan())


def test_a_forgotten_memory_learns_nothing_more_from_the_recall_that_showed_it() -> None:
    view = given_usefulness(shown(), forget("a"))
    view.unchanged_by(feedback("r", used=["a"]))


def test_forgetting_a_namespace_leaves_the_others_alone() -> None:
    others = [shown("q", namespace=BOB), feedback("q", used=["b"], namespace=BOB)]
    view = given_usefulness(shown(), feedback("r", used=["a"]), *others)
    view.when(forget_scope())
    assert link(view, "*") is None
    assert link(view, "date:no", namespace=BOB) == (1000, 1)
    assert view.table.lookup("pk", [shown_pk(ALICE, "r", "a")])[0]["features"] is None


def test_the_newest_model_counts() -> None:
    first = refitted([1.0], served=True)
    view = given_usefulness(first, refitted([2.0], served=False))
    (model,) = view.table.lookup("pk", [model_pk(ALICE)])
    assert (list(model["features"]), model["served"]) == ([2.0], False)
    view.unchanged_by(first)
