"""The extractor of English patterns: what it finds, when, of whom, and what it leaves alone."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from mnemolog.extractors import RuleExtractor

FRIDAY = datetime(2026, 5, 1, 12, tzinfo=UTC)


def found(text: str, author: str | None = "Alice") -> list[tuple[str, str]]:
    return [(fact.subject, fact.statement) for fact in extraction(text, author)]


def extraction(text: str, author: str | None = "Alice") -> Any:
    memory: Any = SimpleNamespace(id="m", text=text, author=author, occurred_at=FRIDAY)
    return RuleExtractor()([memory]).facts


@pytest.mark.parametrize(
    ("text", "subject", "statement"),
    [
        ("I live in Berlin now.", "Alice's home", "Alice lives in Berlin"),
        ("Big news, I just moved to New York City!", "Alice's home", "Alice lives in New York City"),
        ("I'm originally from Sweden.", "Alice's origin", "Alice is from Sweden"),
        ("I grew up in Lyon and I miss it.", "Alice's origin", "Alice is from Lyon"),
        ("I work as a nurse at Saint Mary.", "Alice's employer", "Alice works at Saint Mary"),
        ("I got a job as a pastry chef!", "Alice's job", "Alice's job is pastry chef"),
        ("I'm a software engineer.", "Alice's job", "Alice's job is software engineer"),
        ("I’m 34 years old.", "Alice's age", "Alice is 34 years old"),
        ("I'm vegetarian.", "Alice's diet", "Alice is vegetarian"),
        ("Careful, I'm allergic to peanuts.", "Alice's allergy to peanuts", "Alice is allergic to peanuts"),
        ("I love hiking, it's great.", "Alice: hiking", "Alice likes hiking"),
        ("I really don't like loud music.", "Alice: loud music", "Alice dislikes loud music"),
        ("I can't stand cilantro!", "Alice: cilantro", "Alice dislikes cilantro"),
        ("My sister Anna is visiting.", "Alice's sister", "Alice's sister is Anna"),
        ("I have a dog named Rex.", "Alice's dog", "Alice's dog is Rex"),
        ("I have two kids.", "Alice's kids", "Alice has two kids"),
        (
            "My favorite color is dark green.",
            "Alice's favorite color",
            "Alice's favorite color is dark green",
        ),
        ("I play the violin.", "Alice plays violin", "Alice plays violin"),
        ("I adopted a kitten yesterday.", "Alice adopted a kitten", "Alice adopted a kitten"),
        (
            "I took my kids to the zoo.",
            "Alice took Alice's kids to the zoo",
            "Alice took Alice's kids to the zoo",
        ),
        ("Bob loves chess.", "Bob: chess", "Bob likes chess"),
        ("My birthday is on May 3.", "Alice's birthday", "Alice's birthday is May 3"),
    ],
)
def test_plain_sentences_become_facts(text: str, subject: str, statement: str) -> None:
    assert (subject, statement) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello there!",
        "Do I live in Berlin?",
        "I would love to live in Paris.",
        "If I lived in Rome, I'd be happy.",
        "I love it!",
        "I like that about you.",
        "He loves hiking.",
        "Almost like flying.",
        "Ich wohne in Berlin.",
        "I" * 5_000,
        "\ud83d I",
        "I love \x00\x01",
        "One of my favorite colors is green.",
    ],
)
def test_what_says_nothing_certain_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I adopted a kitten yesterday.", (2026, 4, 30)),
        ("Last week I adopted a kitten.", (2026, 4, 24)),
        ("I adopted a kitten two weeks ago.", (2026, 4, 17)),
        ("I adopted a kitten last Friday.", (2026, 4, 24)),
        ("I adopted a kitten on Tuesday.", (2026, 4, 28)),
        ("I adopted a kitten last weekend.", (2026, 4, 25)),
        ("I adopted a kitten last month.", (2026, 4, 1)),
        ("I adopted a kitten last year.", (2025, 1, 1)),
        ("I adopted a kitten on 7 May 2023.", (2023, 5, 7)),
        ("I adopted a kitten on June 3.", (2025, 6, 3)),
        ("I adopted a kitten in March.", (2026, 3, 1)),
        ("I adopted a kitten in 2019.", (2019, 1, 1)),
        ("I adopted a kitten on 2024-02-29.", (2024, 2, 29)),
    ],
)
def test_dates_count_from_when_it_was_said(text: str, day: tuple[int, int, int]) -> None:
    (fact,) = extraction(text)
    assert (fact.date.year, fact.date.month, fact.date.day) == day
    assert fact.statement == "Alice adopted a kitten"


@pytest.mark.parametrize("when", ["ſeven days ago", "last ſunday", "on frıday", "on 3 auguſt"])
def test_letters_that_only_look_alike_name_no_date(when: str) -> None:
    assert [fact.date for fact in extraction(f"I adopted a kitten {when}.")] in ([None], [])


@pytest.mark.parametrize("text", ["I adopted a kitten.", "I adopted a kitten on 31 April 2023."])
def test_no_date_and_an_impossible_one_are_none(text: str) -> None:
    assert [fact.date for fact in extraction(text)] == [None]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("I no longer live in Berlin.", "Alice's home"),
        ("I don't live in Berlin anymore.", "Alice's home"),
        ("I lost my job last month.", "Alice's job"),
        ("I no longer like hiking.", "Alice: hiking"),
    ],
)
def test_what_is_over_is_a_tombstone(text: str, subject: str) -> None:
    (fact,) = extraction(text)
    assert (fact.subject, fact.tombstone) == (subject, True)


def test_who_speaks_is_the_author() -> None:
    assert found("I live in Berlin.", None) == [("the user's home", "the user lives in Berlin")]
    assert found("I live in Berlin.", "user") == [("the user's home", "the user lives in Berlin")]
    assert found("I live in the cloud. I love Berlin.", "assistant") == []


def test_a_fact_rests_on_the_memory_that_says_it() -> None:
    (fact,) = extraction("I live in Berlin. I live in Berlin!")
    assert fact.sources == ("m",)


def test_long_texts_take_no_long() -> None:
    found("I love " + "a " * 290 + ". " + "I live in Berlin and " * 3_000)
    found("my favorite " * 10_000)
