"""Dates that an English sentence names, by the calendar of when it was said."""

# ruff: noqa: ARG005, E501  rules share one signature; patterns are read whole

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from mnemolog.query.scoring.english import MONTHS

WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_FULL_DAYS = {day[:3]: day for day in WEEKDAYS}
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_WORDS, 1)}
_NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "a few": 3, "few": 3}

_MONTH = "|".join(MONTHS)
_DAY = "|".join([*WEEKDAYS, *(day[:3] for day in WEEKDAYS), "tues", "thurs"])
_AMOUNT = r"\d{1,3}|a couple of|a few|few|" + "|".join(_NUMBERS)
_UNIT = {"day": 1, "week": 7, "month": 30, "year": 365}


def _ago(match: re.Match[str], said: date) -> date:
    amount = match["n"].lower()
    days = (int(amount) if amount.isdecimal() else _NUMBERS[amount]) * _UNIT[match["unit"].lower()]
    return said - timedelta(days=days)


def _weekday(match: re.Match[str], said: date) -> date:
    back = (said.weekday() - WEEKDAYS.index(_full_day(match["day"]))) % 7
    return said - timedelta(days=back or 7)


def _full_day(name: str) -> str:
    return _FULL_DAYS[name.lower()[:3]]


def _last(match: re.Match[str], said: date) -> date:
    match match["unit"].lower():
        case "night":
            return said - timedelta(days=1)
        case "week":
            return said - timedelta(days=7)
        case "weekend":
            return said - timedelta(days=(said.weekday() - 5) % 7 or 7)
        case "month":
            return (said.replace(day=1) - timedelta(days=1)).replace(day=1)
    return date(said.year - 1, 1, 1)


def _named(match: re.Match[str], said: date) -> date:
    month, day = MONTHS.index(match["month"].lower()) + 1, int(match["day"])
    if match["year"]:
        return date(int(match["year"]), month, day)
    this_year = date(said.year, month, day)
    return this_year if this_year <= said else date(said.year - 1, month, day)


def _month(match: re.Match[str], said: date) -> date:
    month = MONTHS.index(match["month"].lower()) + 1
    if match["year"]:
        return date(int(match["year"]), month, 1)
    return date(said.year if month <= said.month else said.year - 1, month, 1)


_RULES: list[tuple[re.Pattern[str], Callable[[re.Match[str], date], date]]] = [
    (re.compile(pattern, re.IGNORECASE), rule)
    for pattern, rule in [
        (r"\b(?P<date>\d{4}-\d{2}-\d{2})\b", lambda match, said: date.fromisoformat(match["date"])),
        (
            rf"\b(?:on )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})\b,?(?: (?P<year>\d{{4}}))?",
            _named,
        ),
        (
            rf"\b(?:on )?(?P<month>{_MONTH}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: (?P<year>\d{{4}}))?",
            _named,
        ),
        (
            rf"\b(?:in|since|during) (?:early |late |mid-?)?(?P<month>{_MONTH})\b,?(?: (?P<year>\d{{4}}))?",
            _month,
        ),
        (
            r"\b(?:in|since|back in) (?P<year>(?:19|20)\d\d)\b",
            lambda match, said: date(int(match["year"]), 1, 1),
        ),
        (r"\b(?:the day before yesterday)\b", lambda match, said: said - timedelta(days=2)),
        (r"\byesterday(?: (?:morning|afternoon|evening))?\b", lambda match, said: said - timedelta(days=1)),
        (r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", lambda match, said: said),
        (rf"\b(?:about |around )?(?P<n>{_AMOUNT}) (?P<unit>day|week|month|year)s? ago\b", _ago),
        (r"\b(?:just )?(?:last|this past) (?P<unit>night|week|weekend|month|year)\b", _last),
        (rf"\b(?:last|this past|on) (?P<day>{_DAY})\b", _weekday),
    ]
]

_VAGUE = re.compile(
    r"\b(?:the other day|(?:next|this|this coming) (?:week|weekend|month|year|summer|spring|fall|autumn|winter)"
    r"|tomorrow|soon|\w+ (?:days|weeks|weekends|months) later|(?:in|later) (?:a|two) (?:weeks?|months?))\b",
    re.IGNORECASE,
)


def date_in(sentence: str, said: date) -> tuple[date | None, str]:
    """The date that a sentence names, and the sentence without it, as without times that are no date.

    None for no date, or an impossible one.
    """
    sentence = " ".join(_VAGUE.sub("", sentence).split())
    for pattern, rule in _RULES:
        match = pattern.search(sentence)
        if match is None:
            continue
        try:
            found = rule(match, said)
        except (ValueError, OverflowError, LookupError):  # "ſunday" and "frıday" match, and are no day's name
            continue
        return found, f"{sentence[: match.start()].rstrip()} {sentence[match.end() :].lstrip()}".strip()
    return None, sentence
