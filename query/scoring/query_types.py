"""What kind of question a query is, by the words that begin it. What no table knows is "other": neutral."""

from __future__ import annotations

import re
from collections.abc import Mapping

Words = Mapping[str, tuple[str, ...]]
"""Type → what questions of that type begin with."""

LANGUAGES: Mapping[str, Words] = {
    "en": {
        "when": ("when", "how long ago", "what date", "what day", "what year", "what month", "what time"),
        "howmany": ("how many", "how much", "how old", "how long", "how often"),
        "who": ("who", "whom", "whose"),
        "where": ("where",),
        "why": ("why",),
        "which": ("which",),
        "how": ("how",),
        "what": ("what",),
    },
    "de": {
        "when": ("wann", "seit wann", "bis wann"),
        "howmany": ("wie viele", "wie viel", "wie alt", "wie oft", "wie lange"),
        "who": ("wer", "wen", "wem", "wessen"),
        "where": ("wo", "wohin", "woher"),
        "why": ("warum", "weshalb", "wieso"),
        "which": ("welche", "welcher", "welches", "welchen"),
        "how": ("wie",),
        "what": ("was",),
    },
    "fr": {
        "when": ("quand", "depuis quand"),
        "howmany": ("combien",),
        "who": ("qui",),
        "where": ("où",),
        "why": ("pourquoi",),
        "which": ("quel", "quelle", "quels", "quelles"),
        "how": ("comment",),
        "what": ("que", "qu'est-ce que", "quoi"),
    },
    "es": {
        "when": ("cuándo", "cuando"),
        "howmany": ("cuánto", "cuánta", "cuántos", "cuántas"),
        "who": ("quién", "quiénes"),
        "where": ("dónde", "adónde"),
        "why": ("por qué",),
        "which": ("cuál", "cuáles"),
        "how": ("cómo",),
        "what": ("qué",),
    },
    "it": {
        "when": ("quando",),
        "howmany": ("quanto", "quanta", "quanti", "quante"),
        "who": ("chi",),
        "where": ("dove",),
        "why": ("perché",),
        "which": ("quale", "quali"),
        "how": ("come",),
        "what": ("che cosa", "cosa"),
    },
    "pt": {
        "howmany": ("quantos", "quantas"),
        "who": ("quem",),
        "where": ("onde",),
        "why": ("por que",),
        "which": ("qual", "quais"),
        "what": ("o que",),
    },
    "ru": {
        "when": ("когда",),
        "howmany": ("сколько",),
        "who": ("кто", "кого", "кому"),
        "where": ("где", "куда"),
        "why": ("почему", "зачем"),
        "which": ("какой", "какая", "какие"),
        "how": ("как",),
        "what": ("что",),
    },
    "zh": {
        "when": ("什么时候", "何时", "哪天", "哪年"),
        "howmany": ("多少", "几个", "多久"),
        "who": ("谁",),
        "where": ("哪里", "在哪"),
        "why": ("为什么",),
        "what": ("什么",),
    },
    "ja": {
        "when": ("いつ",),
        "howmany": ("いくつ", "何人", "何回"),
        "who": ("誰", "だれ"),
        "where": ("どこ",),
        "why": ("なぜ", "どうして"),
        "what": ("何",),
    },
}

_ANYWHERE = frozenset({"zh", "ja"})
"""Languages that ask in the middle of a sentence, and put no space between words."""

_LEADS = r"(?:(?:in|on|at|to|for|with|from|during|since|until|by|à|de|en|con|a|para|mit|auf|für|von) )?"
_WHICH_TIME = re.compile(r"\s*(?:in|on|during) (?:which|what) (?:year|month|day|date|week)\b", re.IGNORECASE)
_HOW_MANY_INSIDE = re.compile(r"\bhow (?:many|much|old|long|often)\b", re.IGNORECASE)
_YES_OR_NO = re.compile(
    r"\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE
)


def _table() -> tuple[dict[str, str], dict[str, str]]:
    begins: dict[str, str] = {}
    holds: dict[str, str] = {}
    for language, words in LANGUAGES.items():
        into = holds if language in _ANYWHERE else begins
        for kind, phrases in words.items():
            for phrase in phrases:
                into.setdefault(phrase, kind)
    return begins, holds


_BEGINS, _HOLDS = _table()
_PHRASES = "|".join(re.escape(phrase) for phrase in sorted(_BEGINS, key=len, reverse=True))
_BEGINS_WITH = re.compile(rf"[\s¿]*{_LEADS}({_PHRASES})\b", re.IGNORECASE)
_HOLDS_ANY = re.compile("|".join(re.escape(phrase) for phrase in sorted(_HOLDS, key=len, reverse=True)))


def query_type(question: str) -> str:
    """One of the types of `LANGUAGES`, or "yesno"; "other" where nothing fits."""
    if _WHICH_TIME.match(question):
        return "when"
    begins = _BEGINS_WITH.match(question)
    kind = _BEGINS.get(begins[1].lower()) if begins else None  # "ı" matches i, and `lower` leaves it
    if kind == "when":
        return kind
    if _HOW_MANY_INSIDE.search(question):
        return "howmany"
    if kind is not None:
        return kind
    if found := _HOLDS_ANY.search(question):
        return _HOLDS[found[0]]
    return "yesno" if _YES_OR_NO.match(question) else "other"
