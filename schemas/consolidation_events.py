"""What came of consolidating memories: facts and summaries, which rest on them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mnemolog.schemas.details import Confidence
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.fields import Entity, Identifier, Ids, Importance, Label, Reason, Tags, Text, Timestamp

MAX_FACTS = 1_000
"""Facts in one event."""

MAX_READ = 1_000
"""Memories that one event may rest on."""

Count = Annotated[int, Field(strict=True, ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class SourceRead(_Part):
    """A memory as it was read: `digest` names its text, `change` is the last event that had changed it."""

    id: Identifier
    digest: Label
    change: Identifier | None = None


class FactFound(_Part):
    """A fact and what orders it; see `schemas.facts.Assertion`. A tombstone has no statement."""

    memory_id: Identifier
    subject: Entity
    statement: Text | None = None
    date: Timestamp | None = None
    said_at: Timestamp
    rank: Annotated[str, Field(min_length=1, max_length=600)]
    tombstone: bool = False
    confidence: Confidence = 1.0
    sources: Ids

    @model_validator(mode="after")
    def _says_something(self) -> FactFound:
        if self.statement is None and not self.tombstone:
            raise ValueError("a fact has a statement, or is a tombstone")
        return self


class MadeBy(_Part):
    """What made a result. Tokens are those of a model's input and output, 0 where there was none."""

    extractor: Label
    model: Label | None = None
    version: Label | None = None
    input_tokens: Count = 0
    output_tokens: Count = 0


class Run(_Part):
    """One step of continuous consolidation of a namespace.

    It counts only where the step before was `previous` (None: there was none): two that both read on from
    there can't both count. `failed` are the memories, of those that were read, that came to nothing.
    """

    previous: Identifier | None = None
    failed: tuple[Identifier, ...] = ()


class FactsAsserted(Envelope):
    """Facts were found in the memories `read`, all of them at once or none.

    A fact counts as long as one of its sources is still there and says what was read. With a `run` the event
    also says how far continuous consolidation has come: through all that was read.
    """

    type: Literal["FactsAsserted"] = "FactsAsserted"
    read: Annotated[tuple[SourceRead, ...], Field(min_length=1, max_length=MAX_READ)]
    facts: Annotated[tuple[FactFound, ...], Field(max_length=MAX_FACTS)] = ()
    importance: Importance | None = None
    tags: Tags = ()
    made_by: MadeBy
    run: Run | None = None


class SummaryWritten(Envelope):
    """The memories `read` were summed up in one, which links to them.

    It counts if one of them is still there and says what was read.
    """

    type: Literal["SummaryWritten"] = "SummaryWritten"
    memory_id: Identifier
    text: Text
    read: Annotated[tuple[SourceRead, ...], Field(min_length=1, max_length=MAX_READ)]
    importance: Importance | None = None
    tags: Tags = ()
    made_by: MadeBy


class ConsolidationRequested(Envelope):
    """Continuous consolidation is to read these memories again."""

    type: Literal["ConsolidationRequested"] = "ConsolidationRequested"
    memory_ids: Ids
    reason: Reason | None = None
