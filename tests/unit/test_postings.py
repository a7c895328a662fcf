"""BM25 from the postings equals the formula on the documents, whatever was added and removed before."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.query.postings import Postings

WORDS = ["tea", "coffee", "a", "中文", "🦊", "x" * 64]
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
queries = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=5)


def reference(documents: list[str], terms: list[str]) -> list[float]:
    """Robertson and Zaragoza 2009, k₁ = 0.9 and b = 0.4, Lucene's IDF, one document after the other."""
    split = [document.split() for document in documents]
    mean = sum(map(len, split)) / len(split) if split else 0.0
    return [sum(weight(term, words, split, mean) for term in terms) for words in split]


def weight(term: str, words: list[str], documents: list[list[str]], mean: float) -> float:
    frequency = sum(term in other for other in documents)
    if not words or not frequency:
        return 0.0
    rarity = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
    count = words.count(term)
    return rarity * count * 1.9 / (count + 0.9 * (0.6 + 0.4 * len(words) / mean))


@examples(100)
@given(given_texts=st.lists(texts, max_size=15), terms=queries, data=st.data())
def test_scores_equal_the_formula_on_the_documents_that_are_left(
    given_texts: list[str], terms: list[str], data: st.DataObject
) -> None:
    postings = Postings()
    left: dict[int, str] = {}
    for slot, text in enumerate(given_texts):
        postings.extend(slot, pa.array([text]))
        left[slot] = text
        if data.draw(st.integers(0, 1)):
            gone = data.draw(st.sampled_from(sorted(left)))
            postings.remove(gone)
            del left[gone]
    scores = postings.scores(terms, len(given_texts))
    assert scores[list(left)].tolist() == pytest.approx(reference(list(left.values()), terms), abs=1e-12)


@examples(60)
@given(given_texts=st.lists(texts, min_size=1, max_size=15), terms=queries, data=st.data())
def test_group_scores_equal_the_formula_on_the_groups(
    given_texts: list[str], terms: list[str], data: st.DataObject
) -> None:
    postings = Postings()
    groups = np.array([data.draw(st.integers(-1, 3)) for _ in given_texts], dtype=np.int64)
    joined = [""] * 4
    for slot, text in enumerate(given_texts):
        postings.extend(slot, pa.array([text]))
        if groups[slot] >= 0:
            joined[groups[slot]] += f" {text}"
    scores = postings.group_scores(terms, postings.groups(groups, 4))
    assert scores.tolist() == pytest.approx(reference(joined, terms), abs=1e-12)


def test_a_rarer_word_counts_more_and_a_longer_text_less() -> None:
    postings = Postings()
    for slot, text in enumerate(["tea rare", "tea b", "tea c", "tea d and much more around it"]):
        postings.extend(slot, pa.array([text]))
    tea, rare = postings.scores(["tea"], 4), postings.scores(["rare"], 4)
    assert rare[0] > tea[0] > tea[3] > 0
    assert rare.tolist()[1:] == [0, 0, 0]


def test_a_repeated_word_of_the_query_counts_again() -> None:
    postings = Postings()
    postings.extend(0, pa.array(["tea"]))
    postings.extend(1, pa.array(["coffee"]))
    once, twice = (postings.scores(["tea"] * times, 2)[0] for times in (1, 2))
    assert twice == 2 * once


def test_nothing_known_scores_nothing() -> None:
    postings = Postings()
    assert postings.scores(["tea"], 3).tolist() == [0, 0, 0]
    postings.extend(0, pa.array(["tea"]))
    postings.remove(0)
    assert postings.scores(["tea"], 1).tolist() == [0]
    none = postings.groups(np.array([], dtype=np.int64), 0)
    assert postings.group_scores(["tea"], none).tolist() == []


@examples(60)
@given(parts=st.lists(st.lists(texts | st.none(), max_size=6), max_size=8), terms=queries)
def test_it_does_not_matter_in_which_parts_documents_come(
    parts: list[list[str | None]], terms: list[str]
) -> None:
    every = [text for part in parts for text in part]
    whole, pieces, at = Postings(), Postings(), 0
    whole.extend(0, pa.array(every, type=pa.string()))
    for part in parts:
        pieces.extend(at, pa.array(part, type=pa.string()))
        at += len(part)
    slots, groups = np.arange(at), np.arange(at) % 3
    assert pieces.scores(terms, at).tolist() == whole.scores(terms, at).tolist()
    each = [one.holding(terms, slots) for one in (pieces, whole)]
    assert each[0].held.tolist() == each[1].held.tolist()
    assert each[0].coverage().tolist() == each[1].coverage().tolist()
    both = [each.group_scores(terms, each.groups(groups, 3)).tolist() for each in (pieces, whole)]
    assert both[0] == both[1]
    assert whole.scores(terms, at).tolist() == pytest.approx(reference([t or "" for t in every], terms))


@examples(60)
@given(given_texts=st.lists(texts, min_size=1, max_size=15), terms=queries)
def test_coverage_is_the_share_of_the_terms_that_a_document_holds(
    given_texts: list[str], terms: list[str]
) -> None:
    postings = Postings()
    postings.extend(0, pa.array(given_texts))
    split = [set(text.split()) for text in given_texts]
    many = len(split)
    rarity = {term: weight_of(sum(term in words for words in split), many) for term in set(terms)}
    share = [
        sum(rarity[term] for term in rarity if term in words) / sum(rarity.values()) if rarity else 0.0
        for words in split
    ]
    assert postings.holding(terms, np.arange(many)).coverage().tolist() == pytest.approx(share)


def weight_of(frequency: int, documents: int) -> float:
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def test_a_word_that_a_document_has_hundreds_of_times_is_counted() -> None:
    postings = Postings()
    postings.extend(0, pa.array([" ".join(["tea"] * 300)]))
    postings.extend(1, pa.array([" ".join(["tea"] * 70_000)]))
    expected = reference([" ".join(["tea"] * 300), " ".join(["tea"] * 70_000)], ["tea"])
    assert postings.scores(["tea"], 2).tolist() == pytest.approx(expected)


def test_memory_is_that_of_the_lists() -> None:
    postings = Postings()
    postings.extend(0, pa.array(["tea coffee"] * 10))
    before = postings.nbytes
    postings.extend(10, pa.array([f"tea number{number}" for number in range(1_000)]))
    assert before + 2_000 * 5 < postings.nbytes < before + 1_000 * 100
