"""The features of a recall's candidates that usefulness is learned over.

They are what relevance is the sum of, and what it leaves out: the terms that a memory holds together with
the one before it, how well its neighbours fit, how it stands among the other candidates, what its text has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.relevance import Evidence, Texts
from mnemolog.query.scoring.sequence import Integers
from mnemolog.query.scoring.terms import Beside

TERMS = (
    "keyword",
    "vector",
    "author",
    "before",
    "after",
    "asking",
    "session_keyword",
    "session_vector",
    "date",
    "when",
    "number",
    "length",
    "opening",
)
"""The terms of relevance that are features too."""

FLAGS = ("has_date", "has_number", "has_relative_time", "has_entity", "first_person")
_CROSSED = {
    "when:date": ("has_date", frozenset({"when"})),
    "when:relative": ("has_relative_time", frozenset({"when"})),
    "howmany:number": ("has_number", frozenset({"howmany"})),
    "who:entity": ("has_entity", frozenset({"who", "which", "where", "what"})),
}
HELD = ("coverage", "joined_coverage", "terms_held", "rarest_held")
WHERE = ("before", "after", "second_before", "second_after")
AROUND = tuple(f"{where}_{search}" for where in WHERE for search in ("keyword", "vector"))
STANDING = (
    "before_relevance", "after_relevance", "before_asks", "share_of_best", "bm25", "cosine",
    "same_session", "age",
)  # fmt: skip
FEATURES = ("log_relevance", *TERMS, *FLAGS, *_CROSSED, *HELD, *AROUND, *STANDING)
"""Another list needs another `schemas.usefulness.FEATURE_SET`."""

_AT = {name: at for at, name in enumerate(FEATURES)}

AMONG = 10
"""Sessions are counted among so many of the best."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The relevance of the candidates, and its terms by name."""

    relevance: Floats
    terms: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Scene:
    """What a recall saw: the candidates' `places` in `texts`, ascending, and which of the question's terms
    are `held` there."""

    evidence: Evidence
    texts: Texts
    places: Integers
    held: Beside
    query_type: str


def features_of(scene: Scene, seen: Seen) -> Floats:
    """The features of the candidates: float64 [candidates, len(FEATURES)]."""
    table = np.zeros((len(FEATURES), len(scene.places)))
    table[0] = np.log(seen.relevance)
    for columns in (seen.terms, _form(scene), _held(scene), _around(scene), _standing(scene, seen)):
        for name, values in columns.items():
            if name in _AT:
                table[_AT[name]] = values
    return table.T


def _form(scene: Scene) -> dict[str, NDArray[Any]]:
    """What the text has, and whether the question asks for it."""
    flags = {name: getattr(scene.texts, name)[scene.places] for name in FLAGS}
    asked = {name: flags[flag] for name, (flag, types) in _CROSSED.items() if scene.query_type in types}
    return flags | asked


def _held(scene: Scene) -> dict[str, Floats]:
    """Which of the question's terms the text holds, alone and together with the one before."""
    own = scene.held.own
    return {
        "coverage": own.coverage(),
        "joined_coverage": scene.held.joined(),
        "terms_held": own.count(),
        "rarest_held": own.rarest(),
    }


def _around(scene: Scene) -> dict[str, Floats]:
    """What the searches say of the two before and the two after, whoever wrote them."""
    before, after = scene.texts.sequence.before, scene.texts.sequence.after
    last, following = before[scene.places], after[scene.places]
    places = np.concatenate([last, following, _step(before, last), _step(after, following)])
    searches, there = scene.evidence.searches, places >= 0
    keyword = np.where(there, searches.keyword(places), 0.0).reshape(len(WHERE), -1)
    similar = np.where(there, searches.similar(places), 0.0).reshape(len(WHERE), -1)
    return {
        **{f"{where}_keyword": row for where, row in zip(WHERE, keyword, strict=True)},
        **{f"{where}_vector": row for where, row in zip(WHERE, similar, strict=True)},
    }


def _step(links: Integers, places: Integers) -> Integers:
    further: Integers = np.where(places >= 0, links[places], -1)
    return further


def _standing(scene: Scene, seen: Seen) -> dict[str, NDArray[Any]]:
    """How each stands among the candidates and among all memories."""
    texts, places, evidence = scene.texts, scene.places, scene.evidence
    before, after = texts.sequence.before[places], texts.sequence.after[places]
    cosine = np.zeros(len(places)) if evidence.cosine is None else evidence.cosine[places]
    first, last = texts.days
    return {
        "before_relevance": _relevance_at(before, places, seen.relevance),
        "after_relevance": _relevance_at(after, places, seen.relevance),
        "before_asks": (before >= 0) & texts.asks[before],
        "share_of_best": seen.relevance / seen.relevance.max(initial=0.0),
        "bm25": evidence.bm25[places],
        "cosine": np.where(np.isnan(cosine), 0.0, cosine),
        "same_session": _same_session(texts.sequence.session[places], seen.relevance),
        "age": (last - texts.calendar.day[places]) / (last - first + 1.0),
    }


def _relevance_at(sought: Integers, places: Integers, relevance: Floats) -> Floats:
    """The relevance of the candidates at the places that are `sought`; 0 of what is none."""
    at = np.minimum(np.searchsorted(places, sought), len(places) - 1)
    found: Floats = np.where(places[at] == sought, relevance[at], 0.0)
    return found


def _same_session(session: Integers, relevance: Floats) -> Floats:
    """How many of the best candidates are of the same session, one of them itself, as a share."""
    best = np.argsort(-relevance, kind="stable")[:AMONG]
    many: Floats = (session[:, None] == session[best]).sum(axis=1) / AMONG
    return many
