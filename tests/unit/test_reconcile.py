"""Reconciling facts: newest date first, whatever the order, and nothing for what is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.processors.reconcile import (
    Add,
    Delete,
    Noop,
    Operation,
    UnmatchedTombstone,
    Update,
    reconcile,
)
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.facts import Assertion, Fact, Said, assertion, moment_of, parse_date, subject_key

HERE = ("acme", "alice")
START = datetime(2026, 1, 1, tzinfo=UTC)


def said(
    subject: str, statement: str, date: Any = None, at: int = 0, place: int = 0, **more: Any
) -> Assertion:
    """An assertion of a memory that happened on day `at`."""
    source = Said(f"m{at}", START + timedelta(days=at))
    return assertion(HERE, Fact(subject, statement, date, **more), [source], place)


def kinds(known: Sequence[Assertion], *found: Assertion) -> list[str]:
    return [type(one).__name__ for one in reconcile(known, found)]


def current(known: Sequence[Assertion]) -> dict[str, str]:
    """Subject → what holds, told apart from the order by brute force."""
    newest: dict[str, Assertion] = {}
    for one in known:
        key = subject_key(one.subject)
        if key not in newest or (one.rank, one.id) > (newest[key].rank, newest[key].id):
            newest[key] = one
    return {key: one.statement.casefold() for key, one in newest.items() if not one.tombstone}


def test_the_first_of_a_subject_is_added() -> None:
    fact = said("home", "Paris")
    assert reconcile([], [fact]) == [Add(fact)]


def test_a_newer_date_updates_and_an_older_one_is_added_to_the_past() -> None:
    paris, berlin = said("home", "Paris", "2026-01-05"), said("HOME", "Berlin", "2026-02-01")
    assert reconcile([paris], [berlin]) == [Update(berlin, paris)]
    assert reconcile([berlin], [paris]) == [Add(paris, current=False)]


def test_the_same_statement_refreshes_only_if_newer() -> None:
    known = said("home", "Paris", "2026-01-05")
    newer = said("home", " PARIS ", "2026-02-01")
    assert reconcile([known], [newer]) == [Update(newer, known, refreshes=True)]
    assert kinds([known], known, said("Home", "paris", date(2026, 1, 5))) == ["Noop", "Noop"]


def test_the_same_statement_of_another_source_is_kept_for_when_the_first_is_forgotten() -> None:
    assert kinds([said("home", "Paris", "2026-01-05", at=9)], said("home", "Paris", "2026-01-05", at=8)) == [
        "Add"
    ]


def test_a_dateless_fact_counts_from_when_it_was_said() -> None:
    dated, early, late = (
        said("home", "Paris", "2026-01-05"),
        said("home", "Rome", at=1),
        said("home", "Oslo", at=9),
    )
    assert kinds([dated], early, late) == ["Add", "Update"]


def test_of_equal_dates_the_one_said_last_holds() -> None:
    first, second = said("home", "Rome", "2026-01-05", at=5), said("home", "Oslo", "2026-01-05", at=6)
    for order in ([first, second], [second, first]):
        assert current(order) == {"home": "oslo"}
    assert kinds([], said("home", "Rome", place=0), said("home", "Oslo", place=1)) == ["Add", "Update"]


def test_a_tombstone_ends_what_holds_before_it() -> None:
    paris = said("home", "Paris", "2026-01-05")
    end, before = (said("home", "", day, tombstone=True) for day in ("2026-02-01", "2025-01-01"))
    assert reconcile([paris], [end]) == [Delete(end, paris)]
    assert reconcile([paris], [before]) == [UnmatchedTombstone(before)]
    assert reconcile([], [end]) == [UnmatchedTombstone(end)]
    assert kinds([end], paris) == ["Add"]
    assert reconcile([end], [paris]) == [Add(paris, current=False)]
    assert kinds([paris, end], end) == ["Noop"]


def test_spellings_of_a_subject_are_one() -> None:
    assert subject_key("  Straße\t7 ") == subject_key("STRASSE 7")
    assert subject_key("ﬁne") == subject_key("fine")
    assert said(" Home ", "Paris").subject == "Home"
    assert len({said(name, "Paris").id for name in ("Home", "home ", "HOME")}) == 1


def test_duplicates_of_a_subject_heal() -> None:
    known = [said("home", "Paris", "2026-01-05", at=1), said("Home", "paris", "2026-01-05", at=2)]
    newer = said("home", "Oslo", "2026-03-01")
    (operation,) = reconcile(known, [newer])
    assert isinstance(operation, Update)
    assert current([*known, newer]) == {"home": "oslo"}


def test_an_id_names_content_and_sources() -> None:
    ids = {
        said("home", "Paris").id,
        said("home", "Paris", at=1).id,
        said("home", "Paris", "2026-01-02").id,
        said("home", "", tombstone=True).id,
        assertion(("acme", "bob"), Fact("home", "Paris"), [Said("m0", START)]).id,
    }
    assert len(ids) == 5


def _facts() -> st.SearchStrategy[list[Assertion]]:
    fact = st.builds(
        lambda subject, text, day, at, dead: said(subject, text, day, at, tombstone=dead),
        st.sampled_from(["home", "Home", "pet", "ﬁne"]),
        st.sampled_from(["Paris", "paris", "Rome"]),
        st.sampled_from([None, "2026-01-01", "2026-01-03", "2026-01-05"]),
        st.integers(0, 6),
        st.sampled_from([False, False, False, True]),
    )
    return st.lists(fact, max_size=20)


def _apply(known: list[Assertion], done: list[Operation]) -> list[Assertion]:
    return known + [one.fact for one in done if not isinstance(one, Noop)]


@examples(150)
@given(_facts(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_any_order_and_batching_ends_in_the_same_view_and_a_rerun_writes_nothing(
    facts: list[Assertion], random: Any, size: int
) -> None:
    at_once = _apply([], reconcile([], facts))
    shuffled = random.sample(facts, len(facts))
    batched: list[Assertion] = []
    for start in range(0, len(shuffled), size):
        batched = _apply(batched, reconcile(batched, shuffled[start : start + size]))
    assert {one.id for one in batched} == {one.id for one in at_once}
    assert current(batched) == current(at_once) == current(facts)
    assert all(isinstance(one, Noop) for one in reconcile(at_once, facts))


@examples(100)
@given(_facts(), _facts())
def test_operations_say_what_becomes_of_what_holds(known: list[Assertion], found: list[Assertion]) -> None:
    known = _apply([], reconcile([], known))
    for operation in reconcile(known, found):
        before = current(known)
        known = _apply(known, [operation])
        key, after = subject_key(operation.fact.subject), current(known)
        match operation:
            case Noop() | Add(current=False):
                assert after == before
            case Add():
                assert (key in before, after[key]) == (False, operation.fact.statement.casefold())
            case Update(replaces=old):
                assert before[key] == old.statement.casefold()
                assert after[key] == operation.fact.statement.casefold()
            case Delete() | UnmatchedTombstone():
                assert after.get(key) in (None, before.get(key))


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-05", datetime(2024, 5, 1, tzinfo=UTC)),
        (" 2024-05-07 ", datetime(2024, 5, 7, tzinfo=UTC)),
        ("2024-05-07T10:00:00+02:00", datetime(2024, 5, 7, 8, tzinfo=UTC)),
        ("2024-05-07T10:00:00Z", datetime(2024, 5, 7, 10, tzinfo=UTC)),
        (date(2024, 5, 7), datetime(2024, 5, 7, tzinfo=UTC)),
        (datetime(2024, 5, 7, 1), datetime(2024, 5, 7, 1, tzinfo=UTC)),
    ],
)
def test_dates_are_moments_in_utc(date: Any, moment: datetime) -> None:
    assert parse_date(date) == moment
    assert moment_of(said("home", "Paris", date).rank) == moment


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("", "text"), "subject"),
        ((" \t", "text"), "subject"),
        (("a\nb", "text"), "subject"),
        ((None, "text"), "subject"),
        (("x" * 257, "text"), "subject"),
        (("\ud83d", "text"), "subject"),
        (("home", ""), "statement"),
        (("home", None), "statement"),
        (("home", "a\x07"), "statement"),
        (("home", "\udc00"), "statement"),
        (("home", "x" * 70_000), "statement"),
        (("home", "text", "2024-02-30"), "date"),
        (("home", "text", "yesterday"), "date"),
        (("home", "text", "2024-13"), "date"),
        (("home", "text", 2024), "date"),
        (("home", "text", "0000"), "date"),
        (("home", "text", None, "yes"), "tombstone"),
        (("home", "text", None, False, 1.5), "confidence"),
        (("home", "text", None, False, True), "confidence"),
        (("home", "text", None, False, 1.0, "m"), "sources"),
        (("home", "text", None, False, 1.0, [1]), "sources"),
    ],
)
def test_what_is_no_fact_is_refused(arguments: tuple[Any, ...], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Fact(*arguments)
    assert caught.value.field == field


def test_texts_in_any_language_are_facts() -> None:
    for text in ("咖啡", 'O\'Brien "quoted"', "two\nlines", "👩‍👩‍👧", "İstanbul"):
        assert Fact(text.replace("\n", " "), text).statement == text
