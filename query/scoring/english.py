"""English rules: what a text or a question speaks of. In other languages they find little: neutral."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
Day: TypeAlias = tuple[int | None, int, int]
"""(year or None, month, day)."""

_NAMED_MONTH = "|".join([*MONTHS, *(month[:3] for month in MONTHS if month != "may"), "sept"])
_ASKS_WHEN = re.compile(
    r"\s*(?:when\b|what (?:date|day|year|month|time)\b|how long ago\b"
    r"|(?:in|on|during) (?:which|what) (?:year|month|day|date|week)\b)",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|old|long|often)\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|myself)\b", re.IGNORECASE)
_DATE = rf"(?:{_NAMED_MONTH}|\d{{4}}|\d{{1,2}}(?:st|nd|rd|th)|\d{{1,2}}/\d{{1,2}})\b"
_RELATIVE = (
    r"(?:yesterday|today|tonight|tomorrow|ago|recently|weekend"
    r"|(?:last|next|this) (?:week|month|year|night|weekend|morning|afternoon|evening)"
    r"|(?:last|next|this) (?:spring|summer|fall|autumn|winter)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)
_NUMBER = (
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|couple|few|several"
    r"|once|twice|first|second|third)\b"
)
_SELF = r"\b(?:I|my|me|we|our)\b"
_QUESTION = r"[?？؟]\s*(?:\[[^\]]*\])?\s*$"
# Looking for the first letters first halves the time of a search.
_HAS_DATE = re.compile(rf"\b(?=[\djfmasond]){_DATE}", re.IGNORECASE)
_HAS_RELATIVE = re.compile(rf"\b(?=[ytarwlnmfs]){_RELATIVE}", re.IGNORECASE)
_HAS_NUMBER = re.compile(_NUMBER, re.IGNORECASE)
_HAS_ENTITY = re.compile(r"(?<=[\w,;] )[A-Z][a-z]+")
_SPEAKS_OF_SELF = re.compile(_SELF)
_ASKS_BEFORE_BRACKETS = re.compile(r"[?？؟]\s*\[")
SHAPE_PATTERNS = {
    "asks": _QUESTION,
    "has_date": rf"(?i)\b{_DATE}",
    "has_relative_time": rf"(?i)\b{_RELATIVE}",
    "has_number": rf"(?i){_NUMBER}",
    "has_entity": r"[\w,;] [A-Z][a-z]",
    "first_person": _SELF,
}
"""The same for RE2, which looks neither ahead nor behind, by flag of the shape."""
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_MONTH = {month: re.compile(rf"\b{month}\b", re.IGNORECASE) for month in MONTHS if month != "may"}
_MONTH["may"] = re.compile(r"\bMay\b(?! (?:i|we|you|he|she|they|it)\b)")
_ANY_MONTH = re.compile("|".join(MONTHS))
_DAY = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{'|'.join(MONTHS)})\b(?:,? *(?P<year>\d{{4}}))?"
    rf"|\b(?P<month2>{'|'.join(MONTHS)}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? *(?P<year2>\d{{4}}))?"
)
"""Both of text in small letters: who ignores case takes "auguſt" for a month too, which `lower` leaves."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a memory's text is like. `words` are separated by spaces."""

    asks: bool
    words: int
    has_date: bool
    has_relative_time: bool
    has_number: bool
    has_entity: bool
    first_person: bool


def shape_of(text: str) -> Shape:
    """The shape of a memory's text."""
    return Shape(
        _ends_in_question(text),
        len(text.split()),
        bool(_HAS_DATE.search(text)),
        bool(_HAS_RELATIVE.search(text)),
        bool(_HAS_NUMBER.search(text)),
        bool(_HAS_ENTITY.search(text)),
        bool(_SPEAKS_OF_SELF.search(text)),
    )


def _ends_in_question(text: str) -> bool:
    """What `_QUESTION` says, in time that grows as the text does: the pattern takes its square."""
    end = text.rstrip()
    if end.endswith(("?", "？", "؟")):
        return True
    if not end.endswith("]"):
        return False
    last = end[end.rfind("]", 0, -1) + 1 :]
    return _ASKS_BEFORE_BRACKETS.search(last) is not None


@dataclass(frozen=True, slots=True)
class Asks:
    """What a question is after, and the dates it names."""

    when: bool
    number: bool
    first_person: bool
    years: tuple[int, ...]
    months: tuple[int, ...]
    days: tuple[Day, ...]


def asks_of(question: str) -> Asks:
    """What a question is after."""
    dated = _ANY_MONTH.search(question.lower()) is not None
    return Asks(
        bool(_ASKS_WHEN.match(question)),
        bool(_ASKS_NUMBER.search(question)),
        bool(_FIRST_PERSON.search(question)),
        tuple(sorted({int(year) for year in _YEAR.findall(question)})),
        _months(question) if dated else (),
        tuple(dict.fromkeys(_days(question))) if dated else (),
    )


def _months(question: str) -> tuple[int, ...]:
    return tuple(number for number, month in enumerate(MONTHS, 1) if _MONTH[month].search(question))


def _days(question: str) -> list[Day]:
    found = []
    for match in _DAY.finditer(question.lower()):
        month = MONTHS.index(match["month"] or match["month2"]) + 1
        year, day = match["year"] or match["year2"], int(match["day"] or match["day2"])
        if is_day(2000, month, day):
            found.append((int(year) if year else None, month, day))
    return found


def is_day(year: int, month: int, day: int) -> bool:
    """Whether the calendar has that day."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


ROLES = frozenset({"user", "human", "assistant", "ai", "agent", "bot", "system", "tool", "function", "model"})
HUMANS = frozenset({"user", "human"})


@dataclass(frozen=True, slots=True)
class Named:
    """A question with the participants' names taken out.

    `keywords` lacks the names, since they say who and not what; `sentence` has "I" in their place, as the
    memories of those people say it; `authors` are the named ones, by number.
    """

    keywords: str
    sentence: str
    authors: tuple[int, ...]


def take_out_names(question: str, authors: Sequence[str]) -> Named:
    """`question` without the names of `authors`; roles such as "user" are no names."""
    named = []
    keywords = sentence = question
    lower = question.islower()
    for number, author in enumerate(authors):
        if author.lower() in ROLES or not (lower or author in question):
            continue
        pattern = re.compile(rf"\b{re.escape(author)}\b", re.IGNORECASE if lower else 0)
        if pattern.search(question):
            named.append(number)
            keywords, sentence = pattern.sub(" ", keywords), pattern.sub("I", sentence)
    return Named(keywords, sentence, tuple(named))
