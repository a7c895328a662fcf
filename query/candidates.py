"""The candidates of a recall in a namespace that is too large to be in memory: the best of both searches, and
the rows that scores are measured against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mnemolog.query.around import PLACE, Surroundings, around, near, same_threads
from mnemolog.query.masks import columns_of, mask_in
from mnemolog.query.question import Question
from mnemolog.query.scoring.formulas import Floats, length_norm, saturation
from mnemolog.query.scoring.whole import Whole, session_bm25
from mnemolog.schemas.filters import EVERYTHING, Node
from mnemolog.schemas.rows import memories_schema
from mnemolog.storage.arrow import vector_matrix
from mnemolog.storage.searches import EXACT_ROWS, ROW, Snapshot
from mnemolog.storage.sql import literal, to_sql

EACH = 64
"""So many the searches contribute each: more than a recall takes of them, since what the index of terms finds
is ordered by the numbers of all its namespaces."""

BY_TERMS = 4 * EACH
"""So many rows are asked of the index of terms, of which the best by the namespace's own numbers stay."""

BEST = 16
"""Of all, shown or not, so many of the best are looked at with their sessions: what is shown is measured
against them."""

MOST_BESIDE = 500_000
"""From so many memories in the threads of the best on, a session is what is near them, not all of it."""

MOST_READ = 10_000
"""Of so many memories the terms are read to tell what their sessions say."""


@dataclass(frozen=True, slots=True)
class Within:
    """Which rows: the namespace's that are `live` at the time of the question, and those of them that may be
    `shown`, in SQL; `exact` says that SQL can tell all that `where` asks."""

    live: str
    shown: str
    exact: bool
    where: Node

    @classmethod
    def of(cls, namespace: str, question: Question) -> Within:
        """The rows of an encoded namespace that a question is about."""
        now = literal(question.now)
        there = f"namespace = {literal(namespace)} AND NOT deleted"
        live = f"{there} AND (expires_at IS NULL OR expires_at > {now})"
        asked, exact = to_sql(question.where)
        active = "true" if question.superseded else "superseded_by IS NULL"
        return cls(live, f"{live} AND {active} AND {asked}", exact, question.where)


def surroundings(
    snapshot: Snapshot, within: Within, question: Question, whole: Whole, *, outdone: bool
) -> Surroundings | None:
    """The rows that a recall needs: the best of both searches, the best of all, whether shown or not, and the
    farthest, between which both searches are stretched; and who stands around them. None if there are none.

    `outdone` says that there may be better ones than are shown: superseded ones.
    """
    search = _Search(snapshot, question, whole)
    if within.exact and snapshot.finds_terms and (question.vector is None or snapshot.finds_vectors):
        found = [
            search.by_terms(within.shown, EACH),
            search.by_vector(within.shown, EACH),
            search.by_vector(within.live, 1, farthest=True),
        ]
        if outdone or question.where != EVERYTHING:
            found += [search.by_terms(within.live, BEST), search.by_vector(within.live, BEST)]
    else:
        found = search.through(within, superseded=question.superseded)
    centres = _distinct(found)
    if not centres.num_rows:
        return None
    beside = f"{within.live} AND {same_threads(centres)}"
    if snapshot.count(beside) > MOST_BESIDE:
        beside = f"{within.live} AND {near(centres)}"
    return around(centres, snapshot.stream(beside, PLACE))


def _distinct(tables: list[pa.Table]) -> pa.Table:
    """The rows of all, each once."""
    every = pa.concat_tables(tables)
    return every.take(pa.array(np.unique(every.column(ROW).to_numpy(), return_index=True)[1]))


def scores_of_sessions(
    snapshot: Snapshot, around: Surroundings, terms: Sequence[str], whole: Whole
) -> Floats:
    """The BM25 of each session as one document. The terms of small ones are read; large ones are taken to
    hold what all memories hold on average."""
    sought = Counter(terms)
    if not sought or len(around.sizes) == 1:  # then it is the best of all, whatever it says
        return np.ones(len(around.sizes)) if sought else np.zeros(len(around.sizes))
    share = np.array([whole.share(term) for term in sought])
    counts: Floats = share[:, None] * around.sizes
    lengths: Floats = (around.sizes * whole.mean_length).astype(np.float64)
    small = np.argsort(around.sizes, kind="stable")
    small = small[np.cumsum(around.sizes[small]) <= MOST_READ]
    if small.size:
        rows = snapshot.rows(np.concatenate([around.members[one] for one in small.tolist()]), ["terms"])
        held, many = counted(rows, sought)
        firsts = np.cumsum([0, *around.sizes[small][:-1].tolist()])
        counts[:, small] = np.add.reduceat(held, firsts, axis=1)
        lengths[small] = np.add.reduceat(many, firsts)
    return session_bm25(whole, sought, counts, lengths, around.sessions_a_memory * whole.documents)


def counted(rows: pa.Table, terms: Iterable[str]) -> tuple[Floats, Floats]:
    """How often each row holds each of the terms, [terms, rows], and how many terms each has, [rows]."""
    sought = pa.array(list(terms), pa.string())
    words = pc.split_pattern(pc.fill_null(rows.column("terms").combine_chunks(), ""), " ")
    which = pc.index_in(words.flatten(), value_set=sought).fill_null(-1).to_numpy().astype(np.int64)
    row, size = pc.list_parent_indices(words).to_numpy(), rows.num_rows
    places = which[which >= 0] * size + row[which >= 0]
    counts = np.bincount(places, minlength=size * len(sought)).reshape(len(sought), size)
    return counts.astype(np.float64), pc.list_value_length(words).to_numpy().astype(np.float64)


class Best:
    """The rows with the highest scores among all that were put in."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._scores: Floats = np.zeros(0)
        self._rows: pa.Table | None = None

    def add(self, rows: pa.Table, scores: Floats) -> None:
        """Put in rows with their scores; those of −∞ are none."""
        there = np.flatnonzero(scores > -np.inf)
        least = self._scores[-1] if len(self._scores) == self._limit else -np.inf
        there = there[scores[there] > least]
        if not there.size:
            return
        rows = rows.take(pa.array(there)).select(list(PLACE))
        rows = rows if self._rows is None else pa.concat_tables([self._rows, rows])
        every = np.concatenate([self._scores, scores[there]])
        best = np.argsort(-every, kind="stable")[: self._limit]
        self._scores, self._rows = every[best], rows.take(pa.array(best))

    @property
    def rows(self) -> pa.Table:
        """The best, with the columns `PLACE`."""
        return NOTHING if self._rows is None else self._rows


NOTHING = memories_schema(None).append(pa.field(ROW, pa.uint64())).empty_table().select(list(PLACE))


class _Search:
    """Both searches for one question."""

    def __init__(self, snapshot: Snapshot, question: Question, whole: Whole) -> None:
        self._snapshot = snapshot
        self._vector = question.vector
        self._whole = whole
        self._terms = Counter(question.terms)
        self._narrow = question.where != EVERYTHING or whole.documents <= EXACT_ROWS

    def by_terms(self, condition: str, limit: int) -> pa.Table:
        """The rows with the highest BM25, by the namespace's own numbers."""
        if not self._terms:
            return NOTHING
        best, columns = Best(limit), (*PLACE, "terms")
        found = self._snapshot.by_terms(self._terms, condition, BY_TERMS, columns)
        best.add(found, self._bm25(found))
        return best.rows

    def by_vector(self, condition: str, limit: int, *, farthest: bool = False) -> pa.Table:
        """The nearest rows, or the farthest."""
        if self._vector is None:
            return NOTHING
        sought = -self._vector if farthest else self._vector
        exact = self._narrow and self._snapshot.count(condition) <= EXACT_ROWS
        return self._snapshot.by_vector(sought, condition, limit, PLACE, exact=exact)

    def through(self, within: Within, *, superseded: bool) -> list[pa.Table]:
        """What both find where each live row is looked at, in one pass: without indexes, or where SQL can't
        tell what the filter selects."""
        shown, best, farthest = (Best(EACH), Best(EACH)), (Best(BEST), Best(BEST)), Best(1)
        vector = () if self._vector is None else ("vector",)
        columns = {*PLACE, "terms", "superseded_by", *vector, *columns_of(within.where)}
        for part in self._snapshot.stream(within.live, sorted(columns)):
            mask = mask_in(part, within.where)
            if not superseded:
                mask = mask & part.column("superseded_by").is_null().to_numpy()
            by_terms = self._bm25(part)
            shown[0].add(part, np.where(mask, by_terms, -np.inf))
            best[0].add(part, by_terms)
            if self._vector is not None:
                by_vector, there = _cosines(part, self._vector)
                shown[1].add(part, np.where(mask & there, by_vector, -np.inf))
                best[1].add(part, np.where(there, by_vector, -np.inf))
                farthest.add(part, np.where(there, -by_vector, -np.inf))
        return [one.rows for one in (*shown, *best, farthest)]

    def _bm25(self, rows: pa.Table) -> Floats:
        """The BM25 of rows, −∞ of those that hold none of the terms."""
        if not self._terms:
            return np.full(rows.num_rows, -np.inf)
        counts, lengths = counted(rows, self._terms)
        norms = length_norm(lengths, self._whole.mean_length)
        total = np.zeros(rows.num_rows)
        for (term, repeats), found in zip(self._terms.items(), counts, strict=True):
            total += repeats * self._whole.idf(term, 0) * saturation(found, norms)
        return np.where(counts.any(axis=0), total, -np.inf)


def _cosines(rows: pa.Table, sought: NDArray[np.float32]) -> tuple[Floats, NDArray[np.bool_]]:
    values, there = vector_matrix(rows.column("vector"))
    return (values @ sought).astype(np.float64), there
