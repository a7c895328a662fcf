"""The shapes of many texts are those of each: two engines for regular expressions agree."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.query.scoring.english import shape_of
from mnemolog.query.scoring.shapes import SHAPE_FLAGS, shapes_of

PIECES = [
    "yesterday", "AGO", "last week", "this  week", "Friday", "may", "May 3rd", "12/5", "2024", "sept",
    "marching", "first", "Twelve", "7", "I", "me", "We", "our", "Paris", "a, Paris", "x; Rome", "?",
    "? [photo]", "？", "؟", " ", "\n", "\t", "\v", "\x1c", "\x85", "\u00a0", "ſeven", "yeſterday",
    "thİs week", "K", "é", "٣", "naïve", "word", "under_score", "İ", "-", "'", "[", "]", "friday.",
    "MON", "decimal",
]  # fmt: skip


@examples(300)
@given(st.lists(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=6), max_size=6), st.data())
def test_shapes_of_many_are_those_of_each(parts: list[list[str]], data: st.DataObject) -> None:
    texts = [data.draw(st.sampled_from(["", " "])).join(part) for part in parts]
    words, flags = shapes_of(pa.array(texts, type=pa.string()))
    for text, count, row in zip(texts, words, flags, strict=True):
        shape = shape_of(text)
        assert (count, row.tolist()) == (shape.words, [getattr(shape, name) for name in SHAPE_FLAGS])


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("around", ["{}", "x {} y", "x{}y", "x, {}", "{} [a] "])
def test_each_piece_in_its_surroundings(piece: str, around: str) -> None:
    text = around.format(piece)
    words, flags = shapes_of(pa.array([text]))
    shape = shape_of(text)
    assert (words[0], flags[0].tolist()) == (shape.words, [getattr(shape, name) for name in SHAPE_FLAGS])


def test_no_texts_have_no_shapes() -> None:
    words, flags = shapes_of(pa.array([], type=pa.string()))
    assert (words.shape, flags.shape) == ((0,), (0, len(SHAPE_FLAGS)))
