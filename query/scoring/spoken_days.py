"""Which day a text speaks of when it says "yesterday", "last Friday" or "two months ago". English rules."""

from __future__ import annotations

import re
from datetime import date

_WEEKDAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_NEAR = {"yesterday": -1, "last night": -1, "tomorrow": 1}
_DAYS = {"day": 1, "week": 7, "weekend": 7}
_COUNTS = {
    **dict.fromkeys(("a", "an", "one"), 1),
    **dict.fromkeys(("two", "couple"), 2),
    **dict.fromkeys(("three", "few"), 3),
    **{
        word: number
        for number, word in enumerate(("four", "five", "six", "seven", "eight", "nine", "ten"), 4)
    },
}
_MOST = 1_200
_SPOKEN = re.compile(
    rf"\b(?:(?P<near>{'|'.join(_NEAR)})"
    rf"|(?P<which>last|next) (?:(?P<unit>week|weekend|month|year)|(?P<weekday>{'|'.join(_WEEKDAYS)})day)"
    rf"|(?:a )?(?P<count>\d{{1,4}}|{'|'.join(_COUNTS)}) (?:of )?"
    r"(?P<units>day|week|weekend|month|year)s? ago)\b"
)
"""Of text in small letters: who ignores case takes "ſunday" for a day too, and `lower` leaves it."""


def spoken_day(text: str, day: int) -> int:
    """The day that a text of `day` (counted from year 1) speaks of first; `day` itself where it names none.

    A month is meant by its middle, a year by the same day in it; "last" and "next" of a weekday are those
    before and after `day`.
    """
    found = _SPOKEN.search(text.lower())
    if found is None:
        return day
    if found["near"]:
        return day + _NEAR[found["near"]]
    sign = 1 if found["which"] == "next" else -1
    if found["weekday"]:
        return day + _to_weekday(day, _WEEKDAYS.index(found["weekday"]), sign)
    unit = found["unit"] or found["units"]
    count = sign * _count(found["count"])
    if unit in _DAYS:
        return max(day + count * _DAYS[unit], 1)
    return _months_away(day, count) if unit == "month" else max(day + 365 * count, 1)


def _count(word: str | None) -> int:
    if word is None:
        return 1
    return min(int(word), _MOST) if word.isdecimal() else _COUNTS[word]


def _to_weekday(day: int, weekday: int, sign: int) -> int:
    """How far it is to the next or the last such day, from 1 to 7 days away; day 1 is a Monday."""
    away = (weekday - (day - 1)) % 7
    return (away or 7) if sign > 0 else away - 7


def _months_away(day: int, count: int) -> int:
    then = date.fromordinal(day)
    months = max(then.year * 12 + then.month - 1 + count, 12)
    return date(min(months // 12, 9_999), months % 12 + 1, 15).toordinal()
