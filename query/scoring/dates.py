"""Dates that a question names, against when memories happened."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial

import numpy as np
from numpy.typing import NDArray

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


Fits = Callable[[Calendar], Floats]


def date_match(
    calendar: Calendar,
    asks: Asks,
    every: Calendar | None = None,
    share_of: Callable[[Floats], tuple[int, int]] | None = None,
) -> Floats:
    """How well each memory fits the months, years and days that a question names; 0 where it names none.

    A day fits fully within a day of it and by 0.6 within three. Each date is damped by how many memories fit:
    one that fits them all says nothing. Where `calendar` has only some of the memories, `every` has the days
    of all, and `share_of` counts the memories on those that fit, and all.
    """
    total = np.zeros(len(calendar.day))
    for fit in _dates(calendar if every is None else every, asks):
        fits = fit(calendar)
        matching, count = (
            (int((fits > 0).sum()), len(fits)) if every is None or share_of is None else share_of(fit(every))
        )
        total += fits * _damping(matching, count)
    return total


def _dates(every: Calendar, asks: Asks) -> Iterator[Fits]:
    """How well a calendar fits each date that is named."""
    for month in asks.months:
        yield partial(_month_fits, asks, month)
    if asks.years and not asks.months:
        yield partial(_year_fits, asks)
    for day in sorted({number for named in asks.days for number in _day_numbers(named, every, asks)}):
        yield partial(_day_fits, day)


def _month_fits(asks: Asks, month: int, calendar: Calendar) -> Floats:
    fits: Floats = ((calendar.month == month) & _in_years(calendar, asks)).astype(np.float64)
    return fits


def _year_fits(asks: Asks, calendar: Calendar) -> Floats:
    return _in_years(calendar, asks).astype(np.float64)


def _day_fits(day: int, calendar: Calendar) -> Floats:
    distance = np.abs(calendar.day - day)
    near: Floats = np.where(distance <= NEAR_DAYS, NEAR, np.where(distance <= FAR_DAYS, FAR, 0.0))
    return near


def _in_years(calendar: Calendar, asks: Asks) -> NDArray[np.bool_]:
    in_years: NDArray[np.bool_] = (
        np.isin(calendar.year, asks.years) if asks.years else np.ones(len(calendar.year), dtype=bool)
    )
    return in_years


def _day_numbers(named: Day, calendar: Calendar, asks: Asks) -> list[int]:
    year, month, day = named
    years = [year] if year else asks.years or np.unique(calendar.year).tolist()
    return [date(one, month, day).toordinal() for one in years if is_day(one, month, day)]


def _damping(matching: int, every: int) -> float:
    """min(1, ln(N / n) / ln 8), where n of N memories fit."""
    return min(1.0, math.log(every / matching) / math.log(8)) if matching else 1.0
