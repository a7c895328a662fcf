"""Facts: what is said of a subject, and since when. Pure."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.fields import MAX_TEXT_BYTES, as_utc, check_identifier
from mnemolog.schemas.ids import hashed_id
from mnemolog.schemas.namespaces import Namespace, encode_namespace

FactDate: TypeAlias = dt.datetime | dt.date | str

MAX_SUBJECT = 256
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNIT = "\x1f"  # none of the parts of a fact can hold it
_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2}))?")


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about a subject, such as ("Alice's home", "Alice lives in Berlin").

    One statement holds of a subject at a time: the one with the newest `date`. That is a datetime (naive is
    UTC), a date, or an ISO 8601 string, of which a year or a month alone means its beginning. A fact without
    a date counts from when it was said: when the newest memory it rests on happened. Of equal ones the one
    that was said last holds. A `tombstone` says that nothing holds any more; its statement may be empty.

    `confidence` is 0…1. `sources` are the ids of the memories that it rests on, among those that the
    extractor was given; none means all of these.

    Raises:
        InvalidInputError: an empty subject or statement, control characters, an impossible date, or a value
            of the wrong type; `field` names it.
    """

    subject: str
    statement: str
    date: FactDate | None = None
    tombstone: bool = False
    confidence: float = 1.0
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_subject(self.subject)
        _check_statement(self.statement, self.tombstone)
        if self.date is not None:
            parse_date(self.date)
        sure = self.confidence
        if not isinstance(sure, int | float) or isinstance(sure, bool) or not 0 <= sure <= 1:
            raise InvalidInputError(
                f"confidence is a number from 0 to 1, not {sure!r:.80}", field="confidence"
            )
        if self.sources:
            object.__setattr__(self, "sources", _ids(self.sources))

    @property
    def key(self) -> str:
        """What spellings of one subject have in common."""
        return subject_key(self.subject)


def _check_statement(statement: object, tombstone: object) -> None:
    if not isinstance(tombstone, bool):
        raise InvalidInputError(f"tombstone is true or false, not {tombstone!r:.80}", field="tombstone")
    if not isinstance(statement, str):
        raise InvalidInputError(f"statement is a string, not {statement!r:.80}", field="statement")
    if not statement.strip() and not tombstone:
        raise InvalidInputError("the statement of a fact is empty", field="statement")
    if statement.isascii() and statement.isprintable():
        size = len(statement)
    elif _CONTROL.search(statement):
        raise InvalidInputError(f"statement: control characters in {statement!r:.80}", field="statement")
    else:
        size = len(_utf8("statement", statement))
    if size > MAX_TEXT_BYTES:
        raise InvalidInputError(f"the statement is over {MAX_TEXT_BYTES} bytes", field="statement")


def _utf8(field: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{field}: half of a surrogate pair in {text!r:.80}", field=field) from None


def _ids(sources: object) -> tuple[str, ...]:
    listed = isinstance(sources, Iterable) and not isinstance(sources, str | bytes)
    given: tuple[object, ...] = tuple(sources) if listed else ()  # type: ignore[arg-type]
    if not listed or not all(isinstance(one, str) for one in given):
        raise InvalidInputError(f"sources: give a list of ids, not {sources!r:.80}", field="sources")
    return given  # type: ignore[return-value]  # just checked


def check_subject(subject: object) -> str:
    """`subject`, if it can name one.

    Raises:
        InvalidInputError: it is no string, empty, too long, or holds control characters.
    """
    if not isinstance(subject, str):
        raise InvalidInputError(f"subject is a string, not {subject!r:.80}", field="subject")
    if len(subject) > MAX_SUBJECT:
        raise InvalidInputError(f"the subject is over {MAX_SUBJECT} characters", field="subject")
    try:
        check_identifier(subject)
    except ValueError as error:
        raise InvalidInputError(f"subject: {error}: {subject!r:.80}", field="subject") from error
    if not subject_key(subject):
        raise InvalidInputError("the subject of a fact is empty", field="subject")
    return subject


@lru_cache(maxsize=65_536)
def subject_key(subject: str) -> str:
    """What spellings of one subject have in common: no matter the case, the spaces, the form of letters."""
    return normalized(subject)


def normalized(text: str) -> str:
    """`text` without what does not count when two texts are compared."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    folded = text.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", folded)
    return " ".join(folded.split())


def parse_date(date: FactDate) -> dt.datetime:
    """The moment that a date means, in UTC; a day, month or year alone means its beginning.

    Raises:
        InvalidInputError: it is no date.
    """
    try:
        if isinstance(date, dt.datetime):
            return as_utc(date)
        if isinstance(date, dt.date):
            return dt.datetime(date.year, date.month, date.day, tzinfo=dt.UTC)
        if isinstance(date, str):
            return _parse(date.strip())
    except ValueError as error:
        raise InvalidInputError(f"date: {date!r:.80} is impossible: {error}", field="date") from error
    raise InvalidInputError(f"date is a date or an ISO 8601 string, not {date!r:.80}", field="date")


@lru_cache(maxsize=8_192)
def _parse(date: str) -> dt.datetime:
    if partial := _PARTIAL.fullmatch(date):
        return dt.datetime(int(partial[1]), int(partial[2] or 1), 1, tzinfo=dt.UTC)
    return as_utc(dt.datetime.fromisoformat(date))


@dataclass(frozen=True, slots=True)
class Said:
    """A memory that a fact rests on: its id, and when what it tells happened."""

    id: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Assertion:
    """A fact with what orders it among all that was said of its subject.

    `rank` sorts assertions of a subject: by the moment from which they hold, then by when, in which memory
    and at which place in it they were said. It follows from the fact alone, not from when it was found. `id`
    names its content and its sources, so the same one found again is the same one.
    """

    id: str
    subject: str
    statement: str
    moment: dt.datetime
    said_at: dt.datetime
    rank: str
    date: dt.datetime | None = None
    tombstone: bool = False
    confidence: float = 1.0
    sources: tuple[str, ...] = ()


def assertion(namespace: Namespace, fact: Fact, sources: Iterable[Said], place: int = 0) -> Assertion:
    """The assertion of a fact that rests on `sources`; `place` counts what one source says, in its order."""
    said = sorted(sources, key=lambda one: (one.at, one.id))
    newest, ids = said[-1], tuple([one.id for one in said])
    date = None if fact.date is None else parse_date(fact.date)
    said_at = _sortable(newest.at)
    moment = said_at if date is None else _sortable(date)
    statement = "" if fact.tombstone else fact.statement.strip()
    content = (moment, str(fact.tombstone), fact.key, normalized(statement), *sorted(ids))
    return Assertion(
        hashed_id(_UNIT.join(("fact", encode_namespace(namespace), *content))),
        fact.subject.strip(),
        statement,
        date or newest.at,
        newest.at,
        f"{moment}|{said_at}|{newest.id}|{place:06d}",
        date,
        fact.tombstone,
        fact.confidence,
        ids,
    )


def _sortable(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="microseconds")


def moment_of(rank: str) -> dt.datetime:
    """The moment from which an assertion holds, of its rank."""
    return dt.datetime.fromisoformat(rank.partition("|")[0])


def timeline_of(namespace: Namespace, subject: str) -> str:
    """Names all that was said of a subject; its words can't be read from it."""
    text = f"{encode_namespace(namespace)}|{subject_key(subject)}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def digest_of(text: str) -> str:
    """Names a text, so that one can tell whether it is still what was read."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
