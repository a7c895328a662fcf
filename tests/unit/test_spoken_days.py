"""Texts that say "yesterday" or "two weeks ago" speak of the day that this was."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples
from support.scoring import found, made
from support.tables import DIM, row

from mnemolog.query.live import live_at
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.query.scoring.dates import calendar_of
from mnemolog.query.scoring.english import asks_of
from mnemolog.query.scoring.relevance import Sought, relevance
from mnemolog.query.scoring.shapes import shapes_of, spoken_days
from mnemolog.query.scoring.spoken_days import spoken_day
from mnemolog.query.scoring.weights import Weights
from mnemolog.schemas.rows import memories_schema
from mnemolog.storage.arrow import to_arrow

SATURDAY = date(2024, 3, 30)
SAID = {
    "we met yesterday": date(2024, 3, 29),
    "Last night was fun": date(2024, 3, 29),
    "TOMORROW I fly": date(2024, 3, 31),
    "I saw her last week": date(2024, 3, 23),
    "next week we move": date(2024, 4, 6),
    "I ran last weekend": date(2024, 3, 23),
    "last Friday we ate out": date(2024, 3, 29),
    "I came last saturday": date(2024, 3, 23),
    "next Saturday is the fair": date(2024, 4, 6),
    "next Sunday is the fair": date(2024, 3, 31),
    "it was three days ago": date(2024, 3, 27),
    "it was 10 days ago": date(2024, 3, 20),
    "a week ago it rained": date(2024, 3, 23),
    "a couple of weeks ago": date(2024, 3, 16),
    "a few weeks ago": date(2024, 3, 9),
    "two weekends ago": date(2024, 3, 16),
    "we married last month": date(2024, 2, 15),
    "two months ago I quit": date(2024, 1, 15),
    "next month I start": date(2024, 4, 15),
    "four months ago": date(2023, 11, 15),
    "last year in the Alps": SATURDAY - timedelta(days=365),
    "two years ago": SATURDAY - timedelta(days=730),
}


@pytest.mark.parametrize(("text", "day"), SAID.items())
def test_a_text_speaks_of_the_day_it_names(text: str, day: date) -> None:
    assert date.fromordinal(spoken_day(text, SATURDAY.toordinal())) == day


@pytest.mark.parametrize(
    "text", ["", "we met", "long ago", "the last one", "on Friday", "lastly", "ayesterdays"]
)
def test_a_text_that_names_none_speaks_of_its_own(text: str) -> None:
    assert spoken_day(text, 5) == 5


@pytest.mark.parametrize("text", ["last frıday", "next FRİDAY", "yeſterday", "ſix days ago", "fıve days ago"])
def test_letters_that_only_look_alike_name_no_day(text: str) -> None:
    assert spoken_day(text, 5) == 5
    many = pa.array([text, "we met yesterday"])
    assert spoken_days(many, shapes_of(many)[1], np.zeros(2)).tolist() == [0, -1]


@examples(80)
@given(text=st.sampled_from(sorted(SAID)), day=st.dates().map(date.toordinal), count=st.integers(0, 9_999))
def test_any_day_and_count_gives_a_day(text: str, day: int, count: int) -> None:
    for said in (text, f"{count} months ago", f"{count} years ago", f"{count} weeks ago"):
        shift = np.array([spoken_day(said, day) - day])
        calendar_of(np.array([day * 86_400.0]) + 86_400.0 * shift)
        assert abs(int(shift[0])) <= 438_000


def test_many_texts_speak_of_the_same_days_as_each() -> None:
    texts = pa.array(list(SAID))
    seconds = np.full(len(SAID), datetime(2024, 3, 30, 13, tzinfo=UTC).timestamp())
    shifts = spoken_days(texts, shapes_of(texts)[1], seconds)
    assert [SATURDAY + timedelta(days=int(shift)) for shift in shifts] == list(SAID.values())


def test_a_question_that_names_the_day_finds_what_was_said_of_it_later() -> None:
    texts = made(
        ["the fair was yesterday", "hello", "hello again"], [0, 1, 0], [86_400.0 * day for day in (9, 30, 90)]
    )
    spoken = replace(texts, spoken=calendar_of(np.array([86_400.0 * day for day in (5, 30, 90)])))
    asks = asks_of("what was on 6 January 1970?")
    before, after = (
        relevance(found([1, 1, 1], one), one, Sought(asks), Weights())[1]["date"] for one in (texts, spoken)
    )
    assert after[0] - before[0] > 0.4
    assert after[1:].tolist() == before[1:].tolist()


def test_a_cache_knows_the_days_that_its_texts_speak_of() -> None:
    cache = NamespaceCache(DIM)
    rows = [row("m1", text="we met yesterday"), row("m2", text="we met")]
    cache.upsert([to_arrow(rows, memories_schema(DIM))])
    texts = live_at(cache, 0.0).texts
    assert (texts.spoken.day - texts.calendar.day).tolist() == [-1, 0]
