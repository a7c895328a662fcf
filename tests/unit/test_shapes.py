"""Texts that speak of dates and times are known by each word that does, in any case and anywhere."""

from __future__ import annotations

import pytest

from mnemolog.query.scoring.english import MONTHS, shape_of

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
