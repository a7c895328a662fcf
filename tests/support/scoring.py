"""Memories as the columns that scoring reads, and what searches said of them."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from mnemolog.query.scoring.dates import calendar_of
from mnemolog.query.scoring.english import shape_of
from mnemolog.query.scoring.relevance import Evidence, Texts
from mnemolog.query.scoring.sequence import sequence_of

HOUR = 3600.0
DAY = 24 * HOUR
START = datetime(2024, 3, 1, 9, tzinfo=UTC).timestamp()


def made(
    texts: list[str], authors: list[int], times: list[float] | None = None, roles: bool = False
) -> Texts:
    """A namespace of these texts, a minute apart unless said otherwise; author 0 is the person."""
    shapes = [shape_of(text) for text in texts]
    seconds = np.array(times or [START + 60.0 * place for place in range(len(texts))])
    author = np.array(authors)
    return Texts(
        author=author,
        human=author == 0,
        roles=roles,
        asks=np.array([shape.asks for shape in shapes]),
        words=np.array([float(shape.words) for shape in shapes]),
        has_date=np.array([shape.has_date for shape in shapes]),
        has_relative_time=np.array([shape.has_relative_time for shape in shapes]),
        has_entity=np.array([shape.has_entity for shape in shapes]),
        first_person=np.array([shape.first_person for shape in shapes]),
        has_number=np.array([shape.has_number for shape in shapes]),
        calendar=calendar_of(seconds),
        spoken=calendar_of(seconds),
        sequence=sequence_of(np.zeros(len(texts), dtype=np.int64), seconds),
    )


def found(bm25: list[float], texts: Texts, cosine: list[float] | None = None) -> Evidence:
    sessions = np.zeros(texts.sequence.sessions)
    np.maximum.at(sessions, texts.sequence.session, np.array(bm25))
    return Evidence(np.array(bm25), None if cosine is None else np.array(cosine), sessions)
