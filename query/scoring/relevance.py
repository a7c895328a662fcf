"""Relevance: how well a memory answers a question, from both searches and from what stands around it.

Each term was measured on held-out data and is gated to where it helps; where its metadata is missing it is 0.
Weighted fusion was measured to beat reciprocal rank fusion (MRR .524 to .472 on LoCoMo).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mnemolog.query.scoring.dates import Calendar, date_match
from mnemolog.query.scoring.english import Asks
from mnemolog.query.scoring.formulas import Floats, extent, minmax, share_of_max
from mnemolog.query.scoring.sequence import Flags, Integers, Sequence
from mnemolog.query.scoring.terms import Beside
from mnemolog.query.scoring.weights import Weights
from mnemolog.query.scoring.whole import Whole

LONG_QUESTION_WORDS = 40
FULL_LENGTH_WORDS = 40
FRESH_DAYS = 14.0
"""The half-life of a note's freshness."""

NOTES_MIN = 50
NOTES_MIN_DAYS = 28
NOTES_MAX_FIRST_PERSON, NOTES_MAX_ASKING = 0.2, 0.05
"""From so many on, over so many days, memories without an author are a running record, unless more than this
share of them says "I" or asks: then they are what people said. The shares were measured to be .00–.07 and
.00–.002 in agents' notes, .60–.68 and .18–.31 in chats."""

TOLD = 0.4
"""The part of what a remark holds alone that `joined` leaves out."""

LEAST = 1e-3
"""Relevance never falls to nothing, so that the product of factors keeps its order."""


@dataclass(frozen=True)
class Texts:
    """The memories of a namespace, as columns, one entry a memory. `author` is a number, −1 for none;
    `calendar` is when each happened, `spoken` the day that its text speaks of ("yesterday").

    `roles`: the authors are roles such as user and assistant; then `human` says which are the person's. Where
    these are only some of the memories, `whole` knows what holds of all.
    """

    author: Integers
    human: Flags
    roles: bool
    asks: Flags
    words: Floats
    has_date: Flags
    has_relative_time: Flags
    has_number: Flags
    has_entity: Flags
    first_person: Flags
    calendar: Calendar
    spoken: Calendar
    sequence: Sequence
    whole: Whole | None = None

    @cached_property
    def authored(self) -> bool:
        """Whether any memory has an author."""
        return bool((self.author >= 0).any()) if self.whole is None else self.whole.authored

    @cached_property
    def peers(self) -> bool:
        """Whether people talk with each other here."""
        return not self.roles and self.authored

    @cached_property
    def days(self) -> tuple[int, int]:
        """The days of the first and the last memory; 0 and 0 where there are none."""
        day = (self.calendar if self.whole is None else self.whole.calendar).day
        return (int(day.min()), int(day.max())) if len(day) else (0, 0)

    @cached_property
    def running_notes(self) -> bool:
        """Whether these are notes that somebody keeps, in the third person and over weeks."""
        whole, count = self.whole, len(self.author)
        return (
            (count if whole is None else whole.documents) >= NOTES_MIN
            and not self.authored
            and self.days[1] - self.days[0] >= NOTES_MIN_DAYS
            and (float(self.first_person.mean()) if whole is None else whole.first_person)
            <= NOTES_MAX_FIRST_PERSON
            and (float(self.asks.mean()) if whole is None else whole.asking) <= NOTES_MAX_ASKING
        )

    def date_match(self, asks: Asks) -> Floats:
        """How well the day of a memory, or the one that it speaks of, fits the question's dates."""
        whole = self.whole
        of_all = (None, None) if whole is None else (whole.calendar, whole.share_of)
        fits: Floats = np.maximum(*(date_match(one, asks, *of_all) for one in (self.calendar, self.spoken)))
        return fits


@dataclass(frozen=True)
class Evidence:
    """What the searches say of each memory: `bm25` ≥ 0; `cosine` in −1…1, NaN for one without a vector, None
    without vectors at all; `session_bm25` of each session as one document."""

    bm25: Floats
    cosine: Floats | None
    session_bm25: Floats

    @cached_property
    def searches(self) -> Searches:
        """Both searches on one scale."""
        cosines = (0.0, 0.0) if self.cosine is None else extent(self.cosine)
        return Searches(self, float(self.bm25.max(initial=0.0)), cosines)


@dataclass(frozen=True, slots=True)
class Sought:
    """What the question asks for: `authors` are the numbers of those it names."""

    asks: Asks
    authors: tuple[int, ...] = ()


def relevance(
    evidence: Evidence,
    texts: Texts,
    sought: Sought,
    weights: Weights,
    places: Integers | None = None,
    held: Beside | None = None,
) -> tuple[Floats, dict[str, Floats]]:
    """The relevance of the memories at `places`, all of them for None, at least 0.001, and the terms that it
    is the sum of, by name. What a search says is measured against all memories, wherever they stand; `held`
    is which of the question's terms are held at `places`."""
    at = np.arange(len(evidence.bm25)) if places is None else places
    searches = evidence.searches
    keyword, similar = searches.keyword(at), searches.similar(at)
    base = weights.keyword * keyword + weights.vector * similar
    terms = {
        "keyword": weights.keyword * keyword,
        "vector": base - weights.keyword * keyword,
        **_speaker_terms(texts, at, sought, weights),
        **_neighbour_terms(searches, texts, at, weights),
        **_session_terms(evidence, texts, at, weights),
        **_question_terms(texts, at, sought, weights),
        **_form_terms(texts, at, weights),
        **_note_terms(searches, texts, at, weights),
        "joined": None if held is None or not texts.peers else weights.joined * _together(held),
    }
    kept = {name: values for name, values in terms.items() if values is not None and values.any()}
    total = sum(kept.values(), np.zeros_like(keyword))
    return np.maximum(total, LEAST), kept


@dataclass(frozen=True, slots=True)
class Searches:
    """What both searches say, from 0 to 1. `highest` is of BM25, `range` the least and greatest cosine."""

    evidence: Evidence
    highest: float
    range: tuple[float, float]

    def keyword(self, places: Integers) -> Floats:
        """BM25 as a share of the highest; all 0 where none is positive."""
        values = self.evidence.bm25[places]
        return values / self.highest if self.highest > 0 else np.zeros_like(values)

    def similar(self, places: Integers) -> Floats:
        """The cosine; 0 without a vector. Where there are none at all, what the other search says."""
        if self.evidence.cosine is None:
            return self.keyword(places)
        return minmax(self.evidence.cosine[places], *self.range)

    def both(self, places: Integers) -> Floats:
        """Their mean; 0 for places of −1."""
        mean: Floats = np.where(places >= 0, (self.keyword(places) + self.similar(places)) / 2, 0.0)
        return mean


def _scaled(weight: float, flags: Flags) -> Floats:
    scaled: Floats = weight * flags.astype(np.float64)
    return scaled


Terms = Mapping[str, Floats | None]


def _speaker_terms(texts: Texts, at: Integers, sought: Sought, weights: Weights) -> Terms:
    """The question names the author; or it says "I", and the memory is the person's (assistant chats)."""
    named = np.isin(texts.author[at], sought.authors) if sought.authors else None
    person = texts.human[at] if texts.roles and sought.asks.first_person else None
    return {
        "author": None if named is None else _scaled(weights.author, named),
        "person": None if person is None else _scaled(weights.person, person),
    }


def _neighbour_terms(searches: Searches, texts: Texts, at: Integers, weights: Weights) -> Terms:
    """A reply gains from what it answers, above all from a question; a remark from the reply to it."""
    author, before, after = texts.author, texts.sequence.before[at], texts.sequence.after[at]
    replied = _other(author[at], after, author) * searches.both(after)
    terms: dict[str, Floats | None] = {"after": weights.after * replied}
    if texts.peers:
        asked = texts.asks[before] & (texts.words[before] <= LONG_QUESTION_WORDS) & (before >= 0)
        gain = weights.before + weights.before_question * asked.astype(np.float64)
        terms["before"] = gain * _other(author[at], before, author) * searches.both(before)
        terms["asking"] = _scaled(-weights.asking, texts.asks[at])
    return terms


def _other(own: Integers, places: Integers, author: Integers) -> Flags:
    """Whether the memory at each place is by another known author than `own`."""
    there = author[places]
    other: Flags = (places >= 0) & (own >= 0) & (there >= 0) & (there != own)
    return other


def _session_terms(evidence: Evidence, texts: Texts, at: Integers, weights: Weights) -> Terms:
    """The session as a whole speaks of it: BM25 of the session, and its closest memory."""
    sequence = texts.sequence
    session = sequence.session[at]
    terms: dict[str, Floats | None] = {
        "session_keyword": weights.session_keyword * share_of_max(evidence.session_bm25)[session]
    }
    if evidence.cosine is not None and len(sequence.order):
        closest = np.fmax.reduceat(evidence.cosine[sequence.order], sequence.firsts)
        terms["session_vector"] = weights.session_vector * minmax(closest[session], *extent(closest))
    return terms


def _question_terms(texts: Texts, at: Integers, sought: Sought, weights: Weights) -> Terms:
    """The question names a date, asks when, or asks how many."""
    asks = sought.asks
    dated = asks.years or asks.months or asks.days
    when = texts.has_date[at].astype(np.float64) + texts.has_relative_time[at] if asks.when else None
    return {
        "date": weights.date * texts.date_match(asks)[at] if dated else None,
        "when": None if when is None else weights.when * when,
        "number": _scaled(weights.number, texts.has_number[at]) if asks.number else None,
    }


def _form_terms(texts: Texts, at: Integers, weights: Weights) -> Terms:
    """Among peers a longer remark says more, and sessions open with news; elsewhere neither holds."""
    if not texts.peers:
        return {}
    length = weights.length * np.minimum(1.0, np.log1p(texts.words[at]) / np.log1p(FULL_LENGTH_WORDS))
    return {"length": length, "opening": _scaled(weights.opening, texts.sequence.opens[at])}


def _together(held: Beside) -> Floats:
    """A remark and the one before it, whoever wrote that, make up an answer together: the share of the terms
    that both hold, less a part of what the remark holds alone, which the searches have told already."""
    together: Floats = held.joined() - TOLD * held.own.coverage()
    return together


def _note_terms(searches: Searches, texts: Texts, at: Integers, weights: Weights) -> Terms:
    """What a running record says of the last weeks is what most questions are about. Ages count from the
    newest note, so the order does not change while nothing is written. And of notes that go on with each
    other the last says how things stand: a note loses as its follower answers too."""
    if not texts.running_notes:
        return {}
    age = (texts.days[1] - texts.calendar.day[at]).astype(np.float64)
    return {
        "fresh": weights.fresh * np.exp2(-age / FRESH_DAYS),
        "continued": -weights.continued * searches.both(texts.sequence.after[at]),
    }
