"""Facts and summaries in the memories view: what counts, what holds when, and what goes with its sources."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from support.consolidating import asserted, evicted, fact, requested, summed_up
from support.folding import ALICE, BOB, View, forget, forget_scope, given, remember, supersede, update
from support.properties import examples

from mnemolog.schemas.consolidation import consolidation_pk, progress_of
from mnemolog.schemas.events import Event
from mnemolog.schemas.facts import digest_of, timeline_of


def day(number: int) -> datetime:
    return datetime(2026, 3, number, tzinfo=UTC)


def told(view: View, subject: str = "home") -> list[tuple[str, int | None, int | None, bool]]:
    """What was said of a subject: (statement, first day, last day, whether it holds now)."""
    rows = [row for row in view.table.lookup("timeline", [timeline_of(ALICE, subject)]) if not row["deleted"]]
    return [
        (
            row["text"],
            row["valid_from"] and row["valid_from"].day,
            row["valid_to"] and row["valid_to"].day,
            row["superseded_by"] is None,
        )
        for row in sorted(rows, key=lambda row: (row["rank"], row["pk"]))
    ]


def test_a_fact_is_a_memory_that_links_to_its_sources() -> None:
    view = given(remember("m", "m"), asserted(fact("home", "Paris", day(1), "m"), importance=0.7))
    (row,) = view.table.lookup("rests_on", ["acme/alice|m"])
    assert (row["text"], row["kind"], row["source"], row["importance"]) == ("Paris", "fact", "fact", 0.7)
    assert (row["subject"], row["confidence"], row["sources"]) == ("home", 1.0, ["m"])
    assert (row["valid_from"], row["occurred_at"], row["valid_to"]) == (day(1), day(1), None)
    assert {"home", "pari"} <= set(row["terms"].split())
    assert [change["type"] for change in row["history"]] == ["FactsAsserted"]


def test_the_newest_date_holds_whatever_came_last() -> None:
    sources = [remember("m", "m"), remember("n", "n")]
    new, old = fact("home", "Berlin", day(5), "m"), fact("Home ", "Paris", day(1), "n")
    for order in ([new, old], [old, new]):
        view = given(*sources, *(asserted(one) for one in order))
        assert told(view) == [("Paris", 1, 5, False), ("Berlin", 5, None, True)]


def test_a_statement_between_two_others_cuts_their_period() -> None:
    view = given(
        remember("m", "m"),
        asserted(fact("home", "Paris", day(1), "m"), fact("home", "paris", day(9), "m")),
        asserted(fact("home", "Berlin", day(5), "m")),
    )
    assert told(view) == [("Paris", 1, 5, False), ("Berlin", 5, 9, False), ("paris", 9, None, True)]


def test_the_same_statement_again_goes_on_with_its_period() -> None:
    view = given(
        remember("m", "m"),
        asserted(fact("home", "Paris", day(1), "m")),
        asserted(fact("home", "PARIS", day(9), "m")),
    )
    assert told(view) == [("Paris", 1, None, False), ("PARIS", 1, None, True)]


@pytest.mark.parametrize("first", [True, False])
def test_a_tombstone_ends_what_was_said_before_it(first: bool) -> None:
    events = [
        asserted(fact("home", "", day(5), "m", tombstone=True)),
        asserted(fact("home", "Paris", day(1), "m")),
    ]
    view = given(remember("m", "m"), *(events if first else reversed(events)))
    assert told(view) == [("Paris", 1, 5, False)]
    view.when(asserted(fact("home", "Berlin", day(7), "m")))
    assert told(view) == [("Paris", 1, 5, False), ("Berlin", 7, None, True)]


def test_what_rests_on_a_forgotten_memory_alone_goes_with_it() -> None:
    both, one = fact("home", "Paris", day(1), "m", "n"), fact("pet", "a cat", day(1), "m")
    view = given(remember("m", "m"), remember("n", "n"), asserted(both, one), forget("m"))
    assert (told(view), told(view, "pet")) == ([("Paris", 1, None, True)], [])
    row = view[both.id]
    assert (row["sources"], row["rests_on"]) == (["n"], ["acme/alice|n"])
    gone = view[one.id]
    assert (gone["deleted"], gone["text"], gone["rests_on"]) == (True, None, None)
    assert gone["history"][-1]["reason"] == "what it rested on was forgotten: m"
    assert view.when(forget("n"))[row["pk"]]["deleted"]


@pytest.mark.parametrize(
    "end",
    [
        forget_scope({"kind": "note"}),
        forget_scope(),
        update("m", text="I never said that"),
        remember("m", "something else"),
    ],
)
def test_a_fact_goes_however_its_source_goes(end: Event) -> None:
    view = given(remember("m", "m"), asserted(fact("home", "Paris", day(1), "m")), end)
    assert told(view) == []


def test_a_fact_goes_with_its_evicted_source() -> None:
    source = remember("m", "m")
    view = given(source, asserted(fact("home", "Paris", day(1), "m")), evicted({"m": source.event_id}))
    assert told(view) == []


@pytest.mark.parametrize(
    "change", [update("m", tags=["x"]), remember("m", "m", tags=["x"]), supersede("m", "n")]
)
def test_a_fact_stays_while_its_source_says_the_same(change: Event) -> None:
    view = given(remember("m", "m"), remember("n", "n"), asserted(fact("home", "Paris", day(1), "m")), change)
    assert told(view) == [("Paris", 1, None, True)]


def test_what_held_before_a_forgotten_fact_holds_again() -> None:
    view = given(
        remember("m", "m"),
        remember("n", "n"),
        asserted(fact("home", "Paris", day(1), "m"), fact("home", "Berlin", day(5), "n")),
        forget("n"),
    )
    assert told(view) == [("Paris", 1, None, True)]


def test_a_forgotten_tombstone_retracts_no_more() -> None:
    retraction = fact("home", "", day(5), "n", tombstone=True)
    view = given(
        remember("m", "m"), remember("n", "n"), asserted(fact("home", "Paris", day(1), "m"), retraction)
    )
    assert told(view) == [("Paris", 1, 5, False)]
    view.when(forget("n"))
    assert told(view) == [("Paris", 1, None, True)]


def test_a_result_counts_only_while_a_source_says_what_was_read() -> None:
    found = [fact("home", "Paris", day(1), "m"), fact("pet", "a cat", day(1), "n")]
    for end in (forget("m"), update("m", text="other"), forget_scope({"id": "m"})):
        view = given(remember("m", "m"), remember("n", "n"), end, asserted(*found))
        assert (told(view), told(view, "pet")) == ([], [("a cat", 1, None, True)])
    assert told(given(asserted(*found))) == []
    assert told(given(remember("m", "m", namespace=BOB), asserted(*found))) == []


def test_a_result_given_again_changes_nothing_whatever_came_between() -> None:
    event = asserted(fact("home", "Paris", day(1), "m"))
    view = given(remember("m", "m"), event)
    view.unchanged_by(event)
    view.when(forget("m"), remember("m", "m"))
    view.unchanged_by(event)
    summary = summed_up("s", "sum", "m")
    view.when(summary)
    view.unchanged_by(summary)


def test_the_same_fact_found_again_is_the_same_one() -> None:
    view = given(remember("m", "m"), asserted(fact("home", "Paris", day(1), "m")))
    view.unchanged_by(asserted(fact("home", "Paris", day(1), "m")))


def test_a_fact_comes_back_with_its_source() -> None:
    found = fact("home", "Paris", day(1), "m")
    view = given(remember("m", "m"), asserted(found), forget("m"), remember("m", "m"), asserted(found))
    assert told(view) == [("Paris", 1, None, True)]


def test_a_summary_stays_when_its_sources_are_let_go_for_it() -> None:
    events: list[Event] = [remember("m", "m"), remember("n", "n"), summed_up("s", "both", "m", "n")]
    view = given(*events, forget("m", "n", consolidated={one: digest_of(one) for one in "mn"}))
    assert (view["s"]["text"], view["s"]["sources"]) == ("both", ["m", "n"])
    assert (view["s"]["kind"], view["s"]["source"]) == ("summary", "summary")
    view.when(forget("m"))
    assert view["s"]["sources"] == ["n"]
    view.when(forget("n"))
    assert view["s"]["deleted"]


def test_a_source_that_says_something_else_by_now_is_not_let_go() -> None:
    view = given(remember("m", "new"), remember("n", "n"))
    view.when(forget("m", "n", consolidated={one: digest_of(one) for one in "mn"}))
    assert view.live() == {"m"}


def test_a_summary_of_what_is_gone_is_none() -> None:
    view = given(remember("m", "m"), forget("m"), summed_up("s", "text", "m"))
    assert view.row("s") is None


def test_a_fact_that_another_memory_replaced_stays_replaced() -> None:
    first = fact("home", "Paris", day(1), "m")
    view = given(remember("m", "m"), remember("n", "n"), asserted(first), supersede(first.id, "n"))
    view.when(asserted(fact("home", "Berlin", day(5), "m")))
    assert view[first.id]["superseded_by"] == "n"
    assert told(view)[1] == ("Berlin", 5, None, True)


def test_an_id_that_a_memory_has_is_not_taken_by_a_fact() -> None:
    found = fact("home", "Paris", day(1), "m")
    view = given(remember("m", "m"), remember(found.id, "mine"), asserted(found))
    assert view[found.id]["text"] == "mine"


def test_a_corrected_fact_keeps_its_place() -> None:
    first = fact("home", "Paris", day(1), "m")
    view = given(remember("m", "m"), asserted(first), update(first.id, text="Paris, Texas"))
    view.when(asserted(fact("home", "Berlin", day(5), "m")))
    assert told(view) == [("Paris, Texas", 1, 5, False), ("Berlin", 5, None, True)]


def test_a_memory_put_under_the_id_of_a_fact_is_a_memory() -> None:
    first = fact("home", "Paris", day(1), "m")
    view = given(remember("m", "m"), asserted(first), remember(first.id, "a note"))
    assert told(view) == []
    assert (view[first.id]["text"], view[first.id]["rests_on"]) == ("a note", None)


def test_steps_of_a_run_count_once_and_in_turn() -> None:
    source, other = remember("m", "m"), remember("n", "n")
    step = asserted(fact("home", "Paris", day(1), "m"), run=None, changes={"m": source.event_id})
    rival = asserted(fact("home", "Rome", day(2), "m"), run=None, changes={"m": source.event_id})
    view = given(source, other, step, rival)
    assert told(view) == [("Paris", 1, None, True)]
    progress = progress_of(view.table.lookup("pk", [consolidation_pk(ALICE)])[0])
    assert (progress.through, progress.runs, progress.read, progress.facts) == (1, 1, 1, 1)
    assert progress.event_id == step.event_id
    then = asserted(fact("pet", "cat", day(1), "n"), run=step.event_id, changes={"n": other.event_id})
    view.when(then)
    assert progress_of(view.table.lookup("pk", [consolidation_pk(ALICE)])[0]).through == 2
    view.unchanged_by(step, rival, then)


def test_memories_asked_to_be_read_again_have_changed() -> None:
    view = given(remember("m", "m"), forget("n"))
    assert view.when(requested("m", "n"))["acme/alice|m"]["_off"] == 2


def _steps() -> st.SearchStrategy[list[Event]]:
    """Independent events: facts of two memories on two subjects; perhaps a memory is forgotten."""
    dates = st.sampled_from([None, day(1), day(2), day(3)])
    sources = st.sampled_from([("m",), ("n",), ("m", "n")])
    facts: Any = st.builds(
        lambda subject, text, date, rests, dead: asserted(fact(subject, text, date, *rests, tombstone=dead)),
        st.sampled_from(["home", "HOME", "pet"]),
        st.sampled_from(["Paris", "paris", "Rome"]),
        dates,
        sources,
        st.sampled_from([False, False, False, True]),
    )
    return st.tuples(st.lists(facts, max_size=7), st.booleans()).map(
        lambda drawn: [*drawn[0], *([forget("n")] if drawn[1] else [])]
    )


@examples(60)
@drawn(_steps(), st.randoms(use_true_random=False))
def test_any_order_ends_in_the_same_facts(steps: list[Event], random: Any) -> None:
    sources = [remember("m", "m", occurred_at=day(2)), remember("n", "n", occurred_at=day(4))]
    shuffled = random.sample(steps, len(steps))
    views = [given(*sources, *order) for order in (steps, shuffled)]
    for subject in ("home", "pet"):
        assert told(views[0], subject) == told(views[1], subject)
