"""Facts found by English patterns: no model, no network, and no more than the patterns say."""

# ruff: noqa: E501  patterns are read whole

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mnemolog.extractors.english_dates import date_in
from mnemolog.extractors.english_rules import SAID_OF, SAID_OF_MINE, TASTE, Rule
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.extraction import Extraction
from mnemolog.schemas.facts import Fact

if TYPE_CHECKING:
    from mnemolog.query.models import MemoryItem

MAX_WORDS = 10
MAX_SENTENCE = 600
_HUMANS = frozenset({"user", "human"})
_MACHINES = frozenset({"assistant", "ai", "agent", "bot", "system", "tool", "function", "model"})

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_START = r"(?:^|(?<=[,;:—–-] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bbecause )|(?<=\bthat )|(?<=\bsince ))"
_WHO = re.compile(rf"{_START}(?:(?P<we>I|[Ww]e)|(?P<name>[A-Z][a-z]{{2,}}))(?=['’ ])")
_MY = re.compile(r"(?<!one of )(?<!some of )(?<!of )\b[Mm]y\b")
_NOBODY = re.compile(
    r"He|She|It|They|We|You|This|That|These|Those|There|Here|What|Who|When|Where|Why|How|Everyone"
    r"|Everybody|Someone|Nobody|Nothing|Everything|Something|The|And|But|So|Also|Then|Now|Wow|Hey|Yeah"
    r"|Yes|Well|Thanks|Mom|Dad|My|Our|His|Her|Their|Your|Its|One|Some|Any|All|Each|Life|Nature|Music"
    r"|Art|Let|Not|Just|Even|Maybe|If|As|For|From|In|Sometimes|Always|Both|Most|Many|People|Kids|Last"
    r"|Today|Yesterday"
)
_SUPPOSED = re.compile(
    r"\b(?:if|would|wouldn't|could|should|might|maybe|perhaps|wish|imagine|used to|pretend|thought|dream"
    r"|when I was)\b|['’]d\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\s+(?:but|because|so|when|whenever|since|although|though|which|who|that|while|if|as|until|where|after"
    r"|before|cause|'cause|except|and (?:I|we|it|he|she|they|now|then|that|this|am|was|is|had|have|got|did|can"
    r"|love|like|even|just|it's|there|been|got))\b.*|\s+-+\s.*|\s*[*~(\[].*"
    r"|\s+(?:I|we|he|she|they|you|it)(?:'|’|\s).*",
    re.DOTALL,
)
_WHICH = re.compile(r"\s+(?:that|which|who|I|it|they|we|you|he|she)\b")
_NO_OBJECT = re.compile(
    r"(?:how|what|when|where|why|who|about|so|too|one|some|to|the (?:idea|way|sound|thought|fact|look|vibe"
    r"|feeling|part|way)|being (?:able|here)|seeing|hearing|talking|both|all|everything|nothing|something"
    r"|anything|out|off|in|on|with|for|at|of|up|over|back|from|and|or|as|a lot|a ton|much|more|even|a bit|back"
    r"|around|sure|sense|care|off|away|down|part|my (?:best|time|mind)|forward|a break|few|lately|ever|make sure|know|realize|a lot of|hard)\b(?!-)",
    re.IGNORECASE,
)
_DOING = re.compile(r"[a-z]+ing")
_TO_DO = re.compile(r"to (?!(?:be|see|hear|know|have|say|think|you|get|that|it|the|do|help)\b)[a-z]+")
_UNCLEAR = re.compile(
    r"\b(?:it|its|this|that|these|those|them|him|her|his|their|here|there|they|you|your|both|ones?)\b"
    r"|\b(?:make|say|know|think|show|give|share|be \w+)$"
)
_TRAILING = re.compile(
    r"\s+(?:too|also|now|today|though|as well|so much|a lot|very much|again|already|really|lately|recently|still"
    r"|anymore|any more|instead|together|with|for|to|of|in|at|on|and|or|the|a|an|my|about|like|from|by|was|is"
    r"|just|not|hard)$",
    re.IGNORECASE,
)


class RuleExtractor:
    """Finds what people say of themselves, and of others by name, in plain English sentences.

    Homes, origins, employers, jobs, ages, diets, allergies, families, pets, likes and dislikes, instruments
    and sports, studies, plans, names, birthdays, favorites, and what somebody did, with dates such as
    "yesterday", "two weeks ago" or "in May 2023". "I" is the memory's author, or "the user" where there is
    none; what assistants say of themselves is left out, and so are questions and what is only supposed. It
    sees no pronouns but "I", "we" and "my", no irony, no fact that goes over two sentences, and no language
    but English.
    """

    name = "mnemolog.rules"
    version = "1"

    def __call__(self, memories: Iterable[MemoryItem]) -> Extraction:
        """The facts that the memories state, each resting on its memory."""
        facts = [fact for memory in memories for fact in _facts_of(memory)]
        return Extraction(facts, version=self.version)


def _facts_of(memory: MemoryItem) -> Iterator[Fact]:
    author = (memory.author or "").strip()
    if author.lower() in _MACHINES:
        return
    speaker = "the user" if not author or author.lower() in _HUMANS else author
    seen = set()
    for sentence in _SENTENCE.split(memory.text):
        for fact in _in_sentence(sentence.strip(), speaker, memory):
            if (fact.key, fact.statement) not in seen:
                seen.add((fact.key, fact.statement))
                yield fact


def _in_sentence(sentence: str, speaker: str, memory: MemoryItem) -> Iterator[Fact]:
    if not sentence or len(sentence) > MAX_SENTENCE or sentence.endswith(("?", "？")):
        return
    date, plain = date_in(sentence, memory.occurred_at.date())
    for who in _WHO.finditer(plain):
        name = who["name"]
        if (name and (_NOBODY.fullmatch(name) or name.endswith("ing"))) or _SUPPOSED.search(
            plain[: who.end()]
        ):
            continue
        yield from _first(SAID_OF, plain[who.end() :], name or speaker, speaker, date, memory)
    if not _SUPPOSED.search(sentence) and (mine := _MY.search(sentence)):
        yield from _first(SAID_OF_MINE, sentence[mine.start() :], speaker, speaker, None, memory)


def _first(
    rules: Iterable[Rule], text: str, who: str, speaker: str, date: dt.date | None, memory: MemoryItem
) -> Iterator[Fact]:
    """The fact of the first rule that fits."""
    for rule in rules:
        match = rule.pattern.match(text)
        if match is not None and _agrees(match, who == speaker) and (who == speaker or not rule.own):
            fact = _fact(rule, match, who, speaker, date if rule.dated else None, memory)
            if fact is not None:
                yield fact
            return


def _agrees(match: re.Match[str], first_person: bool) -> bool:
    """Whether a verb in the present has the ending that its subject asks for."""
    verb = match.groupdict().get("p")
    return verb is None or verb.endswith("s") is not first_person


def _fact(
    rule: Rule, match: re.Match[str], who: str, speaker: str, date: dt.date | None, memory: MemoryItem
) -> Fact | None:
    found = _object(match["o"], speaker, whole=rule.subject == TASTE)
    if (found is None and match["o"]) or " and " in (match.groupdict().get("k") or ""):
        return None
    named = {"s": who, "o": found or "", "last": (found or "").rpartition(" ")[2], "k": "", "v": ""}
    named |= {name: text for name, text in match.groupdict().items() if name in "kv" and text}
    subject, statement = rule.subject.format(**named), rule.statement.format(**named)
    try:
        return Fact(subject, statement, date, rule.tombstone, rule.confidence, (memory.id,))
    except InvalidInputError:
        return None


def _object(text: str, speaker: str, *, whole: bool) -> str | None:
    """What a statement is about, without what follows it; None if that is nothing to speak of.

    `whole`: also if what follows says which one is meant.
    """
    end = _ENDS.search(text)
    if whole and end is not None and _WHICH.match(end[0]):
        return None
    text = text[: end.start() if end else None].strip(" '.").removeprefix("also ")
    while (shorter := _TRAILING.sub("", text)) != text:
        text = shorter
    if not text or len(text.split()) > MAX_WORDS or _UNCLEAR.search(text):
        return None
    if _DOING.fullmatch(text) and not (whole and end is None):
        return None
    if _NO_OBJECT.match(text) and not _TO_DO.match(text):
        return None
    text = re.sub(r"\b[Mm]y\b", f"{speaker}'s", text)
    return re.sub(r"(?<![\w-])(?:me|myself)(?![\w-])", speaker, text)
