"""The usage fold: given feedback, when more comes, then these counts. Every case also in one batch."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.folding import ALICE, BOB, START, View, feedback, forget, forget_scope, given_usage, remember

from mnemolog.processors.folds.port import Stamp
from mnemolog.schemas.events import Event
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.rows import USAGE_FIELDS


def counts(view: View, memory_id: str, namespace: Namespace = ALICE) -> tuple[int, int] | None:
    """Used, ignored; None without a live row."""
    row = view.row(memory_id, namespace)
    return None if row is None or row["deleted"] else (row["use_count"], row["ignore_count"])


def test_what_was_used_and_ignored_is_counted() -> None:
    said = feedback("r1", used=["a", "b"], ignored=["c"])
    view = given_usage(said, feedback("r2", used=["a"], ignored=["b"]))
    assert [counts(view, name) for name in "abc"] == [(2, 0), (1, 1), (0, 1)]
    assert view["b"]["last_used_at"] == said.occurred_at
    assert view["c"]["last_used_at"] is None


def test_the_same_feedback_twice_counts_once() -> None:
    """E1."""
    said = feedback("r1", used=["a"], ignored=["b"])
    view = given_usage(said)
    view.unchanged_by(said, feedback("r1", used=["a"], ignored=["b"]), feedback("r1", used=["a"]))
    assert (counts(view, "a"), counts(view, "b")) == ((1, 0), (0, 1))


def test_a_changed_outcome_moves_the_count() -> None:
    view = given_usage(feedback("r1", used=["a"]), feedback("r1", ignored=["a"]))
    assert counts(view, "a") == (0, 1)
    view.when(feedback("r1", used=["a"]))
    assert counts(view, "a") == (1, 0)


def test_other_recalls_count_on_their_own() -> None:
    view = given_usage(*(feedback(f"r{n}", used=["a"]) for n in range(5)), feedback("r9", ignored=["a"]))
    assert counts(view, "a") == (5, 1)


def test_feedback_without_a_recall_counts_each_time_but_not_when_redelivered() -> None:
    said = feedback(None, used=["a"])
    view = given_usage(said, feedback(None, used=["a"]))
    view.unchanged_by(said)
    assert counts(view, "a") == (2, 0)


def test_the_last_use_does_not_step_back() -> None:
    late = feedback("r2", used=["a"], occurred_at=START - timedelta(days=9))
    first = feedback("r1", used=["a"])
    assert given_usage(first, late)["a"]["last_used_at"] == first.occurred_at


def test_namespaces_count_apart() -> None:
    view = given_usage(feedback("r", used=["a"]), feedback("r", ignored=["a"], namespace=BOB))
    assert counts(view, "a", ALICE) == (1, 0)
    assert counts(view, "a", BOB) == (0, 1)


def test_forget_drops_the_counts_and_what_was_said() -> None:
    view = given_usage(feedback("r", used=["a", "b"]), forget("a"))
    assert (counts(view, "a"), counts(view, "b")) == (None, (1, 0))
    assert [row for row in view.table.lookup("memory_pk", ["acme/alice|a"]) if not row["deleted"]] == []
    assert all(row["outcome"] is None for row in view.table.lookup("memory_pk", ["acme/alice|a"]))


def test_forgetting_reaches_only_its_namespace() -> None:
    """M2."""
    view = given_usage(feedback("r", used=["a"]), feedback("r", used=["a"], namespace=BOB))
    view.when(forget("a"))
    assert (counts(view, "a", ALICE), counts(view, "a", BOB)) == (None, (1, 0))
    view.when(forget_scope(namespace=BOB))
    assert counts(view, "a", BOB) is None


def test_a_whole_namespace_drops_every_count() -> None:
    view = given_usage(
        feedback("r", used=["a", "b"]), feedback("q", used=["a"], namespace=BOB), forget_scope()
    )
    assert [counts(view, name) for name in "ab"] == [None, None]
    assert counts(view, "a", BOB) == (1, 0)


def test_a_scope_with_a_filter_is_not_for_this_table_to_resolve() -> None:
    view = given_usage(feedback("r", used=["a"]))
    view.unchanged_by(forget_scope({"kind": "note"}))


@pytest.mark.parametrize("gone", [forget("a"), forget_scope()])
def test_a_redelivered_forget_spares_what_was_counted_since(gone: Event) -> None:
    view = given_usage(feedback("r1", used=["a"]), gone, feedback("r2", used=["a"]))
    view.unchanged_by(gone)
    assert counts(view, "a") == (1, 0)


def test_redelivered_feedback_does_not_bring_back_what_was_forgotten() -> None:
    said = feedback("r1", used=["a"], ignored=["b"])
    given_usage(said, forget("a", "b")).unchanged_by(said)


def test_feedback_on_a_recall_from_before_the_forgetting_does_not_count_for_what_came_since() -> None:
    view = given_usage(feedback("r1", used=["a"]), forget("a"), feedback("r2", used=["a"]))
    view.when(feedback("r1", ignored=["a"]))
    assert counts(view, "a") == (1, 0)


def test_unknown_ids_and_events_of_other_topics_are_harmless() -> None:
    view = given_usage(forget("nobody"))
    assert view.live() == set()
    assert View(view.fold).fold.evolve({}, remember("a", "x"), Stamp(1, START)) == {}


def test_every_column_of_a_row_is_in_the_schema() -> None:
    columns = {field.name for field in USAGE_FIELDS}
    view = given_usage(feedback("r", used=["a"]), forget("a"), forget_scope())
    assert all(row.keys() == columns for row in view.table.scan())
