"""The events: everything that ever happens to a memory, in the past tense.

An event is immutable and complete: a fold needs nothing else to apply it. Times are aware UTC. `build` makes
one from a caller's values and turns every problem into one clear error, before anything is appended.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mnemolog.schemas.config_events import ConfigChanged
from mnemolog.schemas.consolidation_events import (
    ConsolidationRequested,
    FactFound,
    FactsAsserted,
    MadeBy,
    Run,
    SourceRead,
    SummaryWritten,
)
from mnemolog.schemas.context_events import (
    CacheCounted,
    ContextDeleted,
    ContextScopeDeleted,
    ContextSet,
    ContextTouched,
)
from mnemolog.schemas.deadletter_events import DeadLetterResolved, RecordDeadLettered
from mnemolog.schemas.envelope import Envelope, EventT, build, invalid_input
from mnemolog.schemas.feedback_events import FeedbackGiven, ModelRefitted, RecallServed, Shown
from mnemolog.schemas.memory_events import (
    MemoriesLinked,
    MemoriesUnlinked,
    MemoryChanges,
    MemoryEvicted,
    MemoryForgotten,
    MemoryRemembered,
    MemorySuperseded,
    MemoryUpdated,
    ScopeForgotten,
)

__all__ = [
    "CacheCounted",
    "ConfigChanged",
    "ConsolidationRequested",
    "ContextDeleted",
    "ContextScopeDeleted",
    "ContextSet",
    "ContextTouched",
    "DeadLetterResolved",
    "Envelope",
    "Event",
    "EventT",
    "FactFound",
    "FactsAsserted",
    "FeedbackGiven",
    "MadeBy",
    "MemoriesLinked",
    "MemoriesUnlinked",
    "MemoryChanges",
    "MemoryEvicted",
    "MemoryForgotten",
    "MemoryRemembered",
    "MemorySuperseded",
    "MemoryUpdated",
    "ModelRefitted",
    "RecallServed",
    "RecordDeadLettered",
    "Run",
    "ScopeForgotten",
    "Shown",
    "SourceRead",
    "SummaryWritten",
    "build",
    "invalid_input",
]

Event = Annotated[
    MemoryRemembered
    | MemoryUpdated
    | MemorySuperseded
    | MemoriesLinked
    | MemoriesUnlinked
    | MemoryForgotten
    | MemoryEvicted
    | ScopeForgotten
    | FactsAsserted
    | SummaryWritten
    | ConsolidationRequested
    | RecallServed
    | FeedbackGiven
    | ModelRefitted
    | ContextSet
    | ContextTouched
    | ContextDeleted
    | ContextScopeDeleted
    | CacheCounted
    | ConfigChanged
    | RecordDeadLettered
    | DeadLetterResolved,
    Field(discriminator="type"),
]
