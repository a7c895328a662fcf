"""Dates that a question names, against when memories happened."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date

import numpy as np

from mnemolog.query.scoring.english import Asks, Day, is_day
from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.sequence import Integers

NEAR_DAYS, NEAR = 1, 1.0
FAR_DAYS, FAR = 3, 0.6


@dataclass(frozen=True, slots=True)
class Calendar:
    """When each memory happened, in UTC: `day` counts from year 1, `month` is 1…12."""

    day: Integers
    month: Integers
    year: Integers


def calendar_of(seconds: Floats) -> Calendar:
    """The calendar of times in seconds since 1970."""
    moments = np.nan_to_num(seconds).astype("datetime64[s]")
    months = moments.astype("datetime64[M]").astype(np.int64)
    days = moments.astype("datetime64[D]").astype(np.int64) + date(1970, 1, 1).toordinal()
    return Calendar(days, months % 12 + 1, months // 12 + 1970)


def date_match(calendar: Calendar, asks: Asks) -> Floats:
    """How well each memory fits the months, years and days that a question names; 0 where it names none.

    A day fits fully within a day of it and by 0.6 within three. Each date is damped by how many memories fit:
    one that fits them all says nothing.
    """
    total = np.zeros(len(calendar.day))
    in_years = np.isin(calendar.year, asks.years) if asks.years else np.ones(len(total), dtype=bool)
    for month in asks.months:
        total += _damped(((calendar.month == month) & in_years).astype(np.float64))
    if asks.years and not asks.months:
        total += _damped(in_years.astype(np.float64))
    for day in sorted({number for named in asks.days for number in _day_numbers(named, calendar, asks)}):
        distance = np.abs(calendar.day - day)
        total += _damped(np.where(distance <= NEAR_DAYS, NEAR, np.where(distance <= FAR_DAYS, FAR, 0.0)))
    return total


def _day_numbers(named: Day, calendar: Calendar, asks: Asks) -> list[int]:
    year, month, day = named
    years = [year] if year else asks.years or np.unique(calendar.year).tolist()
    return [date(one, month, day).toordinal() for one in years if is_day(one, month, day)]


def _damped(fits: Floats) -> Floats:
    """`fits` times min(1, ln(N / n) / ln 8), where n of N memories fit."""
    matching, every = int((fits > 0).sum()), len(fits)
    return fits * min(1.0, math.log(every / matching) / math.log(8)) if matching else fits
