"""One analyzer for all: the keyword index, the in-memory cache and the query see the same terms.

A text becomes words of any script, folded (case, width, diacritics) and stemmed where a stemmer is known.
Scripts that are written without spaces become overlapping bigrams, so a word is found inside a sentence. Each
emoji is a term; skin tones, variation selectors and joiners are dropped, so a family is found by its members.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import Stemmer

ANALYZER_VERSION = "1"
"""Changes whenever `analyze` gives other terms for any text: indexed terms then have to be rebuilt."""

MAX_TERM_CHARS = 64
"""A longer run of letters and digits is cut into terms of this length."""

STEMMERS = {"LATIN": "english", "CYRILLIC": "russian"}
"""Script, as its letters' Unicode names begin → Snowball algorithm. Words of other scripts stay whole."""

DENSE_SCRIPTS = (
    "CJK ",
    "IDEOGRAPHIC ",
    "HIRAGANA ",
    "KATAKANA",
    "HANGUL ",
    "BOPOMOFO ",
    "THAI ",
    "LAO ",
    "KHMER ",
    "MYANMAR ",
)
"""How the Unicode names of letters begin that are written without spaces; Hangul attaches its particles."""

_STEMS_KEPT = 32_768
_ASCII_WORD = re.compile(rf"[a-z0-9]{{1,{MAX_TERM_CHARS}}}")
_SPACED = bytes(code if chr(code).isalnum() else ord(" ") for code in range(128)) + bytes(128)
_POSSESSIVE = re.compile(r"(?<=\w)'s(?!\w)")
_CLUSTER = re.compile(r"dm*")
_TOKEN = re.compile(rf"w[wm]{{0,{MAX_TERM_CHARS - 1}}}|(?:dm*)+|ff?|e")

# й, ї and the voiced kana are letters of their own; stripped are the marks that people leave out in typing.
_DIACRITICS = re.compile(
    r"(?<=[a-zß-ʯͰ-Ͽ])[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+"
    r"|(?<=е)\u0308|(?<=[аеиоуыэюя])[\u0300\u0301]"
    r"|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]+"
)

_PAIRED_FOLDS = zip("øđłħıŧىیکةہ’‘ʼ", "odlhitييكهه'''", strict=True)
_LETTER_FOLDS = {ord(letter): plain for letter, plain in _PAIRED_FOLDS} | {
    ord("æ"): "ae",
    ord("œ"): "oe",
    ord("þ"): "th",
    ord("ð"): "d",
    0x0640: "",  # the Arabic tatweel only stretches a word
    0x200B: " ",  # the zero-width space parts words
}


class _Folds(dict[int, str]):
    """Code point → what it counts as, found once per character; for `str.translate`."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold(code)
        return folded


class _Kinds(dict[int, str]):
    """Code point → the letter that `_TOKEN` reads: w(ord), d(ense), m(ark), e(moji), f(lag) or a blank."""

    def __missing__(self, code: int) -> str:
        self[code] = kind = _kind(code)
        return kind


def analyze(text: str) -> list[str]:
    """The terms of `text`, in order and with repeats; never empty unless `text` is blank, none holds a space.

    Stop words stay: the score's IDF is enough. Equal for canonically equivalent texts (NFC, NFD).
    """
    if text.isascii():
        terms = list(map(_STEMS.__getitem__, _ascii_words(_drop_possessives(text.lower()))))
    else:
        terms = list(_unicode_terms(_drop_possessives(_normalize(text))))
    return terms or _last_resort(text)


def _ascii_words(text: str) -> list[str]:
    words = text.encode().translate(_SPACED).decode().split()
    if len(text) > MAX_TERM_CHARS and max(map(len, words), default=0) > MAX_TERM_CHARS:
        return _ASCII_WORD.findall(text)
    return words


def _drop_possessives(text: str) -> str:
    return _POSSESSIVE.sub("", text) if "'" in text else text


def _normalize(text: str) -> str:
    """Compatibility forms unified, case and diacritics folded, format characters dropped."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    parts = unicodedata.normalize("NFKD", folded).translate(_FOLDS)
    return unicodedata.normalize("NFC", _DIACRITICS.sub("", parts))


def _unicode_terms(text: str) -> Iterator[str]:
    kinds = text.translate(_KINDS)
    for token in _TOKEN.finditer(kinds):
        start, end = token.span()
        if kinds[start] == "d":
            yield from _bigrams(text[start:end], token.group())
        else:
            yield _STEMS[text[start:end]]


def _bigrams(run: str, kinds: str) -> Iterator[str]:
    """Overlapping pairs of characters, each with its marks; a character alone is its own term."""
    clusters = [run[found.start() : found.end()] for found in _CLUSTER.finditer(kinds)]
    if len(clusters) == 1:
        return iter(clusters)
    return (left + right for left, right in pairwise(clusters))


def _last_resort(text: str) -> list[str]:
    """A text of punctuation alone is one term, so that nothing that is not blank is unfindable."""
    rest = "".join(unicodedata.normalize("NFKC", text).split())
    return [rest[:MAX_TERM_CHARS]] if rest else []


class _Stemmers(threading.local):
    """The Snowball stemmers of one thread: they keep state in a call, so threads can't share them."""

    def __init__(self) -> None:
        self.by_script = {script: Stemmer.Stemmer(name, 0) for script, name in STEMMERS.items()}

    def stem(self, script: str, word: str) -> str:
        return str(self.by_script[script].stemWord(word))


class _Stems(dict[str, str]):
    """Word → its stem, found once for the words in use: a function that remembers takes thrice as long."""

    def __missing__(self, word: str) -> str:
        if word.isdigit():
            return word  # there are too many to keep
        if len(self) >= _STEMS_KEPT:
            self.clear()
        self[word] = stem = _stem(word)
        return stem


def _stem(word: str) -> str:
    script = "LATIN" if word.isascii() else unicodedata.name(word[0], "").partition(" ")[0]
    if script not in STEMMERS or (script == "LATIN" and not word.isascii()):
        return word
    return _STEMMERS.stem(script, word) or word


def _fold(code: int) -> str:
    char = chr(code)
    if code in _LETTER_FOLDS:
        return _LETTER_FOLDS[code]
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    if category == "Cf" or _is_emoji_modifier(code):
        return ""
    return char


def _is_emoji_modifier(code: int) -> bool:
    """Skin tones, the box around a keycap, and all variation selectors (Han characters have them too)."""
    selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    return selector or 0x1F3FB <= code <= 0x1F3FF or code == 0x20E3


def _kind(code: int) -> str:
    char = chr(code)
    category = unicodedata.category(char)
    if category[0] == "M":
        return "m"
    if category[0] in "LN":
        return "d" if unicodedata.name(char, "").startswith(DENSE_SCRIPTS) else "w"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "f"
    return "e" if _is_pictograph(code, category) else " "


def _is_pictograph(code: int, category: str) -> bool:
    """Symbols, and emoji younger than Python's Unicode tables; not the lines and blocks of text drawings."""
    drawn = category == "So" and not 0x2500 <= code <= 0x259F
    return drawn or 0x1F000 <= code < 0x1FB00


_FOLDS = _Folds()
_KINDS = _Kinds()
_STEMS = _Stems()
_STEMMERS = _Stemmers()
