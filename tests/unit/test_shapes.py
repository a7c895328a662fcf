"""Texts that speak of dates and times are known by each word that does, in any case and anywhere."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.query.scoring.english import MONTHS, SHAPE_PATTERNS, shape_of

DATES = (
    *MONTHS,
    *(month[:3] for month in MONTHS),
    "sept",
    "2024",
    "3rd",
    "21st",
    "2nd",
    "4th",
    "5/7",
    "12/31",
)
PERIODS = ("week", "month", "year", "night", "weekend", "morning", "afternoon", "evening")
SEASONS = ("spring", "summer", "fall", "autumn", "winter")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
RELATIVE = (
    *("yesterday", "today", "tonight", "tomorrow", "ago", "recently", "weekend"),
    *(f"{which} {period}" for which in ("last", "next", "this") for period in PERIODS + SEASONS),
    *WEEKDAYS,
)


@pytest.mark.parametrize("word", DATES)
def test_every_date_is_one(word: str) -> None:
    for text in (word, word.upper(), f"we met ({word}), didn't we"):
        assert shape_of(text).has_date
    assert not shape_of(f"x{word}x").has_date


@pytest.mark.parametrize("word", RELATIVE)
def test_every_relative_time_is_one(word: str) -> None:
    for text in (word, word.upper(), f"we met ({word}), didn't we"):
        assert shape_of(text).has_relative_time
    assert not shape_of(f"x{word}x").has_relative_time


@examples(300)
@given(
    st.lists(st.sampled_from(["?", "？", "[", "]", " ", "\n", "\x1c", "é", "photo"]), max_size=12).map(
        "".join
    )
)
def test_a_text_asks_that_ends_in_a_question_but_for_brackets(text: str) -> None:
    assert shape_of(text).asks == bool(re.search(SHAPE_PATTERNS["asks"], text))


@pytest.mark.parametrize(
    "text",
    ["é?" + " " * 64_000 + "x", "é" + "?[" * 32_000, "é" + "? " * 32_000 + "]", "é" + "last " * 13_000],
)
def test_no_text_takes_long(text: str) -> None:
    """The longest memory there may be: a pattern that took its square took most of a minute."""
    begun = process_time()
    assert not shape_of(text).asks
    assert process_time() - begun < 2
