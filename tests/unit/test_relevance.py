"""Relevance: each term where it belongs, and nothing where its metadata is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.scoring import DAY, HOUR, START, found, made

from mnemolog.query.scoring.dates import calendar_of, date_match
from mnemolog.query.scoring.english import asks_of, take_out_names
from mnemolog.query.scoring.relevance import Sought, Texts, relevance
from mnemolog.query.scoring.sequence import sequence_of
from mnemolog.query.scoring.terms import Beside, Holding
from mnemolog.query.scoring.weights import Weights


def terms_of(
    texts: Texts, bm25: list[float], question: str, authors: tuple[int, ...] = ()
) -> dict[str, list[float]]:
    total, terms = relevance(found(bm25, texts), texts, Sought(asks_of(question), authors), Weights())
    assert total == pytest.approx(np.maximum(sum(terms.values()), 1e-3))
    return {name: [round(float(value), 6) for value in values] for name, values in terms.items()}


def test_both_searches_are_blended_by_their_weights() -> None:
    texts = made(["a", "b", "c"], [-1, -1, -1])
    _, terms = relevance(found([4, 2, 0], texts, [0.1, 0.5, 0.3]), texts, Sought(asks_of("x")), Weights())
    assert terms["keyword"].tolist() == [0.5, 0.25, 0.0]
    assert terms["vector"] == pytest.approx([0.0, 0.7, 0.35])


def test_a_memory_without_a_vector_counts_by_keyword_alone() -> None:
    texts = made(["a", "b"], [-1, -1])
    _, terms = relevance(found([1, 1], texts, [0.4, np.nan]), texts, Sought(asks_of("x")), Weights())
    assert terms["vector"].tolist() == [0.7, 0.0]


def test_a_named_author_counts() -> None:
    texts = made(["I like tea", "I like tea"], [0, 1])
    assert terms_of(texts, [1, 1], "what does Ann like?", authors=(1,))["author"] == [0.0, 0.2]


def test_a_reply_gains_from_the_question_before_it() -> None:
    texts = made(["where did you go?", "to the lake"], [0, 1])
    terms = terms_of(texts, [1, 0], "lake")
    assert terms["before"] == [0.0, 0.55]
    assert terms["asking"] == [-0.2, 0.0]


def test_a_remark_gains_from_the_reply_to_it() -> None:
    terms = terms_of(made(["I was away", "at the lake"], [0, 1]), [0, 1], "lake")
    assert terms["after"] == [0.1, 0.0]


def test_ones_own_next_remark_is_no_reply() -> None:
    terms = terms_of(made(["where is it?", "here it is"], [0, 0]), [1, 0], "x")
    assert "before" not in terms


def test_a_long_question_is_no_question() -> None:
    long = " ".join(["word"] * 41) + "?"
    terms = terms_of(made([long, "a reply"], [0, 1]), [1, 0], "x")
    assert terms["before"] == [0.0, 0.15]


def test_chats_with_an_assistant_gate_what_is_between_peers() -> None:
    texts = made(["what is my name?", "you are Ann"] * 4, [0, 1] * 4, roles=True)
    terms = terms_of(texts, [1, 0] * 4, "what did I say?")
    assert terms["person"] == [0.15, 0.0] * 4
    assert not {"before", "asking", "length", "opening"} & set(terms)


def test_without_authors_only_what_needs_none_counts() -> None:
    terms = terms_of(made(["one note?", "two notes"], [-1, -1]), [1, 0], "Ann said I did what?")
    assert set(terms) <= {"keyword", "vector", "session_keyword"}


def notes(count: int = 50, days: float = 28, text: str = "The user plans a trip", author: int = -1) -> Texts:
    """A note every so often, over so many days."""
    times = [START + days * DAY * place / (count - 1) for place in range(count)]
    return made([text] * count, [author] * count, times)


def test_among_notes_kept_over_weeks_the_last_ones_count_more() -> None:
    fresh = terms_of(notes(), [1.0] * 50, "trip")["fresh"]
    assert fresh == sorted(fresh)
    assert (fresh[0], fresh[-1]) == (0.1, 0.4)


@pytest.mark.parametrize(
    "others",
    [
        notes(count=49),
        notes(days=27),
        notes(text="I plan a trip"),
        notes(text="Where does the user go?"),
        notes(author=0),
    ],
    ids=["few", "of few days", "first person", "questions", "with authors"],
)
def test_what_is_no_running_record_has_no_fresh_and_no_old(others: Texts) -> None:
    assert not {"fresh", "continued"} & set(terms_of(others, [1.0] * len(others.author), "trip"))


def test_a_note_loses_as_the_next_one_of_its_sitting_goes_on_with_it() -> None:
    texts = made(["The user plans a trip"] * 50, [-1] * 50, [START + at // 2 * 30 * HOUR for at in range(50)])
    continued = terms_of(texts, [2.0, 2.0, 2.0, 1.0] + [0.0] * 46, "trip")["continued"]
    assert continued == [-0.4, 0.0, -0.2, *[0.0] * 47]


@pytest.mark.parametrize(("author", "roles"), [(0, False), (-1, False), (0, True)])
def test_a_remark_between_peers_gains_from_what_it_holds_with_the_one_before(
    author: int, roles: bool
) -> None:
    texts = made(["the lake", "in May"], [author, author + 1 if author >= 0 else author], roles=roles)
    own = Holding(np.array([3.0, 1.0]), np.array([[True, False], [False, True]]))
    before = Holding(own.rarity, np.array([[False, True], [False, False]]))
    total, terms = relevance(
        found([1, 1], texts), texts, Sought(asks_of("x")), Weights(), held=Beside(own, before)
    )
    assert total == pytest.approx(np.maximum(sum(terms.values()), 1e-3))
    if author < 0 or roles:
        assert "joined" not in terms
    else:
        assert terms["joined"] == pytest.approx([0.6 * (0.75 - 0.4 * 0.75), 0.6 * (1.0 - 0.4 * 0.25)])


def test_a_session_is_cut_by_a_pause_and_by_the_thread() -> None:
    times = np.array([0.0, 60.0, 5 * HOUR, 5 * HOUR + 60, 30.0])
    sequence = sequence_of(np.array([0, 0, 0, 0, 1]), times)
    assert sequence.session.tolist() == [0, 0, 1, 1, 2]
    assert sequence.before.tolist() == [-1, 0, -1, 2, -1]
    assert sequence.after.tolist() == [1, -1, 3, -1, -1]


def test_sequence_follows_the_times_and_not_the_order_of_arrival() -> None:
    sequence = sequence_of(np.zeros(3, dtype=np.int64), np.array([120.0, 0.0, 60.0]))
    assert sequence.before.tolist() == [2, -1, 1]
    assert sequence.after.tolist() == [-1, 2, 0]


def test_an_empty_namespace_has_a_sequence() -> None:
    assert sequence_of(np.zeros(0, dtype=np.int64), np.zeros(0)).session.tolist() == []


def test_only_longer_sessions_open() -> None:
    assert (
        sequence_of(np.zeros(6, dtype=np.int64), np.arange(6.0)).opens.tolist() == [True, True] + [False] * 4
    )
    assert not sequence_of(np.zeros(5, dtype=np.int64), np.arange(5.0)).opens.any()


def test_a_named_day_fits_itself_and_the_days_around_it() -> None:
    days = np.array([START + number * DAY for number in range(31)])
    fits = date_match(calendar_of(days), replace(asks_of("x"), days=((None, 3, 10),)))
    damped = np.log(31 / 7) / np.log(8)
    expected = np.array([0.6, 0.6, 1.0, 1.0, 1.0, 0.6, 0.6]) * damped
    assert fits[6:13] == pytest.approx(expected)
    assert not fits[:6].any()
    assert not fits[13:].any()


def test_a_month_that_covers_everything_says_nothing() -> None:
    days = np.array([START + number * DAY for number in range(20)])
    assert not date_match(calendar_of(days), asks_of("what happened in March?")).any()


def test_a_rare_month_counts_fully() -> None:
    days = np.array([START + number * 31 * DAY for number in range(12)])
    fits = date_match(calendar_of(days), asks_of("what happened in March 2024?"))
    assert fits[0] == pytest.approx(1.0)
    assert not fits[1:].any()


@pytest.mark.parametrize(
    ("question", "months", "years", "days"),
    [
        ("What did Ann do on 7 May 2023?", (5,), (2023,), ((2023, 5, 7),)),
        ("What happened on May 7th, 2023?", (5,), (2023,), ((2023, 5, 7),)),
        ("in june or July", (6, 7), (), ()),
        ("may I ask something", (), (), ()),
        ("on 31 February", (2,), (), ()),
        ("no date at all", (), (), ()),
        ("on 3 auguſt", (), (), ()),
        ("on AuguſT 3rd", (), (), ()),
    ],
)
def test_dates_in_questions(question: str, months: object, years: object, days: object) -> None:
    asks = asks_of(question)
    assert (asks.months, asks.years, asks.days) == (months, years, days)


@pytest.mark.parametrize(
    ("question", "when", "number", "first_person"),
    [
        ("When did they meet?", True, False, False),
        ("what year was it", True, False, False),
        ("How many dogs do I have?", False, True, True),
        ("Who said it, and when?", False, False, False),
        ("何時ですか", False, False, False),
    ],
)
def test_what_a_question_is_after(question: str, when: bool, number: bool, first_person: bool) -> None:
    asks = asks_of(question)
    assert (asks.when, asks.number, asks.first_person) == (when, number, first_person)


def test_names_are_taken_out_of_a_question() -> None:
    named = take_out_names("When did Ann's dog meet Bo?", ["Bo", "Ann", "user"])
    assert named.authors == (0, 1)
    assert "Ann" not in named.keywords
    assert "Bo" not in named.keywords
    assert named.sentence == "When did I's dog meet I?"


def test_a_name_inside_a_word_is_no_name_and_neither_is_a_role() -> None:
    assert take_out_names("Annual user reports", ["Ann", "user"]).authors == ()


def test_a_name_with_characters_of_patterns_is_only_itself() -> None:
    assert take_out_names("what did A.B say?", ["A.B", "A*"]).authors == (0,)


def test_relevance_never_falls_to_nothing() -> None:
    texts = made(["?"], [0])
    total, _ = relevance(found([0.0], texts), texts, Sought(asks_of("x")), replace(Weights(), length=0.0))
    assert total.tolist() == [1e-3]
