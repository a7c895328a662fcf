"""What kind of question a query is, in several languages."""

from __future__ import annotations

import pytest

from mnemolog.query.scoring.query_types import LANGUAGES, query_type


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did we meet?", "when"),
        ("in which year did she move", "when"),
        ("how long ago was it", "when"),
        ("How many dogs has he?", "howmany"),
        ("And how old is she?", "howmany"),
        ("With whom did she go?", "who"),
        ("where is it", "where"),
        ("Which of them?", "which"),
        ("how does it work", "how"),
        ("what is it", "what"),
        ("Whatever you like", "other"),
        ("Did she go?", "yesno"),
        ("Quıén vive?", "other"),
        ("Whıch of them?", "other"),
        ("tell me of the lake", "other"),
        ("Wann war das?", "when"),
        ("Wie viele Hunde hat er?", "howmany"),
        ("¿Dónde vive?", "where"),
        ("¿Por qué no?", "why"),
        ("Où habite-t-elle ?", "where"),
        ("Когда мы встретились?", "when"),
        ("我们什么时候见面?", "when"),
        ("彼はどこに住んでいますか", "where"),
        ("มันอยู่ที่ไหน", "other"),
        ("", "other"),
    ],
)
def test_what_is_asked_for(question: str, kind: str) -> None:
    assert query_type(question) == kind


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_word_of_a_table_is_known_by_itself(language: str) -> None:
    for kind, words in LANGUAGES[language].items():
        for word in words:
            assert query_type(word.upper() if word.isascii() else word) == kind, word
