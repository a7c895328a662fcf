"""The one analyzer: what is found by what."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemolog.schemas.analysis import MAX_TERM_CHARS, analyze

FOUND = [
    ("a two-character Chinese word in a sentence", "我喜欢在北京喝茶，不喝咖啡。", "北京"),
    ("Japanese", "来週の金曜日に東京へ行きます", "東京"),
    ("half-width kana", "ｶﾞﾝﾀﾞﾑが好き", "ガンダム"),
    ("Thai", "ฉันอาศัยอยู่ที่กรุงเทพ", "กรุงเทพ"),
    ("Lao", "ຂ້ອຍຮັກພາສາລາວ", "ພາສາ"),
    ("Korean with a particle", "저는 서울에서 일해요", "서울"),
    ("a Russian case", "Мы гуляли с кошками в Москве", "кошка Москва"),
    ("ё typed as е", "Вот ёлка", "елка"),
    ("stress marks", "ста́рый за́мок", "замок"),
    ("Arabic vowel signs", "قَرَأْتُ ٱلْكِتَابَ", "قرأت"),
    ("Arabic hamza", "سافر أحمد", "احمد"),
    ("Persian letters", "کتاب", "كتاب"),
    ("Arabic digits", "رقم ٤٢", "42"),
    ("Hebrew points", "שָׁלוֹם", "שלום"),
    ("Turkish dotted capital", "İstanbul'da yaşıyor", "istanbul"),
    ("Turkish dotless i", "ısparta", "ISPARTA"),
    ("Greek final sigma and accent", "Ο Οδυσσεύς", "ΟΔΥΣΣΕΥΣ"),
    ("sharp s", "Hauptstraße", "HAUPTSTRASSE"),
    ("diacritics", "Crème brûlée in Łódź", "creme brulee lodz"),
    ("a ligature and full width", "ﬁne ＡＢＣ", "fine abc"),
    ("Hindi", "मुझे हिन्दी पसंद है", "हिन्दी"),
    ("English stems", "She was running with the dogs", "run dog"),
    ("a possessive", "Alice's passport", "Alice"),
    ("a curly possessive", "Alice’s passport", "Alice"),
    ("a name with an apostrophe", "Conan O’Brien", "o'brien"),
    ("an emoji", "see you 🎉🎉!", "🎉"),
    ("a skin tone", "ok 👍🏽", "👍"),
    ("a variation selector", "I ❤️ it", "❤"),
    ("a joined emoji", "the 👩‍💻 left", "💻"),
    ("a flag", "🇫🇷🇩🇪", "🇩🇪"),
    ("a keycap", "press 1️⃣", "1"),
    ("a number in Chinese", "2024年5月", "2024 5月"),
    ("a joiner inside a word", "می‌خواهم", "میخواهم"),
]


@pytest.mark.parametrize(("text", "query"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_the_query_finds_the_text(text: str, query: str) -> None:
    assert set(analyze(query)) <= set(analyze(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [("йод", "иод"), ("が", "か"), ("हिन्दी", "हनद"), ("🇫🇷", "🇩🇪"), ("北京", "京北")],
)
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert not set(analyze(one)) & set(analyze(other))


def test_the_terms_of_a_sentence() -> None:
    assert analyze("Alice's 3 cats aren't in snake_case") == [
        "alic",
        "3",
        "cat",
        "aren",
        "t",
        "in",
        "snake",
        "case",
    ]
    assert analyze("我爱北京") == ["我爱", "爱北", "北京"]
    assert analyze("茶!") == ["茶"]


@pytest.mark.parametrize(("text", "terms"), [("?! ...", ["?!..."]), ("$€", ["$€"]), (" \t\n ", []), ("", [])])
def test_a_text_without_words_is_its_own_term_unless_blank(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


def test_long_runs_are_cut() -> None:
    assert analyze("x" * 130) == ["x" * MAX_TERM_CHARS, "x" * MAX_TERM_CHARS, "xx"]
    assert max(map(len, analyze("ж" * 500 + "!" * 500))) <= MAX_TERM_CHARS


unhurried = settings(deadline=None)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@unhurried
@given(texts)
def test_nothing_that_is_not_blank_is_unfindable(text: str) -> None:
    assert bool(analyze(text)) == bool(text.strip())


@unhurried
@given(texts)
def test_no_term_is_empty_or_holds_whitespace(text: str) -> None:
    assert all(term and not any(map(str.isspace, term)) for term in analyze(text))


@unhurried
@given(texts)
def test_canonically_equal_texts_have_equal_terms(text: str) -> None:
    assert (
        analyze(unicodedata.normalize("NFC", text))
        == analyze(unicodedata.normalize("NFD", text))
        == analyze(text)
    )


@unhurried
@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_the_fast_path_for_ascii_agrees_with_the_general_one(text: str) -> None:
    assert analyze(text + " é") == [*(analyze(text) if any(map(str.isalnum, text)) else []), "e"]


@unhurried
@given(texts, texts)
def test_a_line_break_parts_terms(one: str, other: str) -> None:
    if any(term.isalnum() for term in analyze(one)) and any(term.isalnum() for term in analyze(other)):
        assert set(analyze(f"{one}\n{other}")) == set(analyze(one)) | set(analyze(other))


def test_threads_get_the_same_stems() -> None:
    words = [
        "".join(parts) + "ing" for parts in product("bcdfghjklmnp", "aeiou", "bdfgklmnprstvz", "aeiou", "ns")
    ]
    expected = Stemmer.Stemmer("english").stemWords(words)
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(analyze, " ".join(words)) for _ in range(4)]
        assert all(job.result() == expected for job in jobs)
