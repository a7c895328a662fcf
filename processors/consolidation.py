"""One consolidation: memories to an extractor, its answer checked, and what it changes as an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemolog.processors.reconcile import Noop, Operation, reconcile
from mnemolog.schemas import events as ev
from mnemolog.schemas.consolidation_events import MAX_FACTS
from mnemolog.schemas.details import Statement, load_detail
from mnemolog.schemas.errors import ExtractionError
from mnemolog.schemas.extraction import Extraction, Extractor, name_of
from mnemolog.schemas.facts import Assertion, Fact, Said, assertion, moment_of
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.rows import Row

FACTS_A_MEMORY = 1_000
"""More than that many facts for each memory are no consolidation."""

MAX_EVENT_BYTES = 700_000
"""A broker refuses records of over a megabyte."""


@dataclass(frozen=True, slots=True)
class Read:
    """A memory as it was read: when what it tells happened, its text's digest, and its last change."""

    id: str
    at: datetime
    digest: str
    change: str | None = None


def call(function: Callable[..., Any], memories: Sequence[Any]) -> Any:
    """What a caller's function makes of memories.

    Raises:
        ExtractionError: it raised.
    """
    try:
        return function(list(memories))
    except ExtractionError:
        raise
    except Exception as error:
        raise ExtractionError(f"{name_of(function)} raised {type(error).__name__}: {error}") from error


def extract(extractor: Extractor, memories: Sequence[Any]) -> Extraction:
    """What an extractor finds, checked.

    Raises:
        ExtractionError: it raised, or gave something else than facts about these memories.
    """
    answer = call(extractor, memories)
    found = answer if isinstance(answer, Extraction) else Extraction(_listed(answer, extractor))
    known = {memory.id for memory in memories}
    if len(found.facts) > FACTS_A_MEMORY * len(memories):
        raise ExtractionError(
            f"{name_of(extractor)} gave {len(found.facts)} facts for {len(memories)} memories; "
            f"at most {FACTS_A_MEMORY} for each make sense"
        )
    for fact in found.facts:
        if not isinstance(fact, Fact):
            raise ExtractionError(f"{name_of(extractor)} gave {fact!r:.80}, which is no mnemolog.Fact")
        if strange := set(fact.sources) - known:
            raise ExtractionError(
                f"{name_of(extractor)} names sources it was not given: {sorted(strange)!r:.200}"
            )
    return found


def _listed(answer: Any, extractor: Extractor) -> list[Fact]:
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        raise ExtractionError(
            f"{name_of(extractor)} gave {type(answer).__name__}; an extractor returns a list of mnemolog.Fact"
        )
    try:
        return list(answer)
    except Exception as error:
        raise ExtractionError(f"{name_of(extractor)} raised {type(error).__name__}: {error}") from error


def assertions(namespace: Namespace, facts: Iterable[Fact], read: Sequence[Read]) -> list[Assertion]:
    """The facts with what orders them. A fact that names no source rests on all that was read."""
    said = {one.id: Said(one.id, one.at) for one in read}
    places: Counter[str] = Counter()
    made = []
    for fact in facts:
        sources = [said[source] for source in fact.sources] or list(said.values())
        newest = max(sources, key=lambda one: (one.at, one.id)).id
        made.append(assertion(namespace, fact, sources, places[newest]))
        places[newest] += 1
    return made


def _known(row: Row, subject: str) -> Assertion:
    detail = load_detail(row["detail"])
    told = detail if isinstance(detail, Statement) else None
    moment = moment_of(row["rank"])
    return Assertion(
        row["id"],
        subject,
        row["text"] or "",
        moment,
        moment if told is None or told.said_at is None else told.said_at,
        row["rank"],
        told.date if told else None,
        row["deleted"],
        told.confidence if told else 1.0,
        tuple(pk.partition("|")[2] for pk in row["rests_on"]),
    )


def operations(
    found: Sequence[Assertion], timeline: Callable[[str], str], rows: Iterable[Row]
) -> list[Operation]:
    """What the assertions change; `rows` are those of their timelines."""
    subjects = {timeline(fact.subject): fact.subject for fact in found}
    known = [_known(row, subjects[row["timeline"]]) for row in rows if row["timeline"] in subjects]
    return reconcile(known, found)


def news(done: Iterable[Operation]) -> list[Assertion]:
    """The assertions that have to be written."""
    return [one.fact for one in done if not isinstance(one, Noop)]


def part(fact: Assertion) -> ev.FactFound:
    """An assertion as the part of an event."""
    return ev.FactFound(
        memory_id=fact.id,
        subject=fact.subject,
        statement=fact.statement or None,
        date=fact.date,
        said_at=fact.said_at,
        rank=fact.rank,
        tombstone=fact.tombstone,
        confidence=fact.confidence,
        sources=fact.sources,
    )


def parts(facts: Iterable[Assertion]) -> list[list[ev.FactFound]]:
    """The assertions as parts of events that are not too big for a broker."""
    groups: list[list[ev.FactFound]] = [[]]
    size = 0
    for fact in facts:
        made = part(fact)
        bytes_ = len(made.model_dump_json())
        if groups[-1] and (len(groups[-1]) == MAX_FACTS or size + bytes_ > MAX_EVENT_BYTES):
            groups.append([])
            size = 0
        groups[-1].append(made)
        size += bytes_
    return groups
