"""Events of consolidation, made as programs make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemolog.schemas import events as ev
from mnemolog.schemas.facts import Assertion, Fact, Said, assertion, digest_of
from support.folding import ALICE, START
from support.folding import _envelope as envelope

_NO_RUN = object()


@dataclass(frozen=True)
class Found:
    """An assertion for `asserted`."""

    made: Assertion

    @property
    def id(self) -> str:
        return self.made.id


def fact(
    subject: str, statement: str, date: datetime | None, *sources: str, tombstone: bool = False
) -> Found:
    """A fact of ALICE that rests on memories whose ids are their texts, happened in alphabetical order."""
    said = [Said(one, START.replace(day=1 + ord(one[0]) % 25)) for one in sources]
    return Found(assertion(ALICE, Fact(subject, statement, date, tombstone), said))


def asserted(
    *facts: Found, run: object = _NO_RUN, changes: Mapping[str, str] | None = None, **fields: Any
) -> ev.FactsAsserted:
    """The event that asserts facts; with `run`, the step before, as a step of continuous consolidation."""
    read = sorted({source for found in facts for source in found.made.sources} | set(changes or ()))
    step = {} if run is _NO_RUN else {"run": {"previous": run}}
    values = {
        "read": [{"id": one, "digest": digest_of(one), "change": (changes or {}).get(one)} for one in read],
        "facts": [_part(found.made) for found in facts],
        "made_by": {"extractor": "test"},
        **step,
        **fields,
    }
    return ev.FactsAsserted(**envelope(values))


def _part(made: Assertion) -> dict[str, Any]:
    return {
        "memory_id": made.id,
        "subject": made.subject,
        "statement": made.statement or None,
        "date": made.date,
        "said_at": made.said_at,
        "rank": made.rank,
        "tombstone": made.tombstone,
        "confidence": made.confidence,
        "sources": made.sources,
    }


def summed_up(memory_id: str, text: str, *sources: str, **fields: Any) -> ev.SummaryWritten:
    """A summary of memories whose ids are their texts."""
    read = [{"id": one, "digest": digest_of(one)} for one in sources]
    values = {"memory_id": memory_id, "text": text, "read": read, "made_by": {"extractor": "test"}, **fields}
    return ev.SummaryWritten(**envelope(values))


def requested(*memory_ids: str) -> ev.ConsolidationRequested:
    """These memories are to be read again."""
    return ev.ConsolidationRequested(**envelope({"memory_ids": memory_ids}))


def evicted(revisions: Mapping[str, str]) -> ev.MemoryEvicted:
    """Memories were let go over the capacity: id → the event that had changed it last."""
    values = {"memory_ids": list(revisions), "rule": "capacity", "revisions": dict(revisions)}
    return ev.MemoryEvicted(**envelope(values))
