"""The events: everything that ever happens to a memory, in the past tense.

An event is immutable and complete: a fold needs nothing else to apply it. Times are aware UTC. `build` makes
one from a caller's values and turns every problem into one clear error, before anything is appended.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, with_config
from typing_extensions import TypedDict

from mnemolog.schemas.errors import InvalidInputError, MnemologError
from mnemolog.schemas.fields import (
    Identifier,
    Ids,
    Importance,
    Label,
    Metadata,
    NamespaceField,
    Reason,
    Tags,
    Text,
    Timestamp,
)


class Envelope(BaseModel):
    """What every event carries.

    `event_id` makes a retry harmless: the same id twice changes nothing. `occurred_at` is when it happened
    in the world, not when it was recorded; the log stamps that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)  # a quicker import

    event_id: Identifier
    schema_version: Literal[1] = 1
    namespace: NamespaceField
    occurred_at: Timestamp
    agent_id: Label | None = None
    thread_id: Label | None = None


class MemoryRemembered(Envelope):
    """A memory was made, or put again under its id.

    `key` names a slot that holds one memory at a time: a newer one supersedes the older. `touch` refreshes
    the recency of a memory that is known with the same content, where otherwise nothing would change.
    """

    type: Literal["MemoryRemembered"] = "MemoryRemembered"
    memory_id: Identifier
    text: Text
    kind: Label = "note"
    importance: Importance | None = None
    tags: Tags = ()
    key: Label | None = None
    author: Label | None = None
    source: Label | None = None
    metadata: Metadata = Field(default_factory=dict)
    pinned: bool = False
    expires_at: Timestamp | None = None
    touch: bool = False


@with_config(ConfigDict(extra="forbid"))
class MemoryChanges(TypedDict, total=False):
    """The fields that an update sets; what is absent stays. None clears a field that may be empty."""

    text: Text
    kind: Label
    importance: Importance | None
    tags: Tags
    author: Label | None
    source: Label | None
    metadata: Metadata
    pinned: bool
    expires_at: Timestamp | None


class MemoryUpdated(Envelope):
    """Some fields of a memory were changed; all others stay."""

    type: Literal["MemoryUpdated"] = "MemoryUpdated"
    memory_id: Identifier
    changes: Annotated[MemoryChanges, Field(min_length=1)]
    reason: Reason | None = None


class MemorySuperseded(Envelope):
    """A memory was replaced by a newer one; the older stays as history."""

    type: Literal["MemorySuperseded"] = "MemorySuperseded"
    memory_id: Identifier
    by: Identifier
    reason: Reason | None = None


class MemoryForgotten(Envelope):
    """Memories were forgotten: their content leaves every view."""

    type: Literal["MemoryForgotten"] = "MemoryForgotten"
    memory_ids: Ids
    reason: Reason | None = None


class ScopeForgotten(Envelope):
    """All memories of the namespace that `filter` selects, as of this event, were forgotten.

    `filter` is in the filter language of `schemas.filters`; empty means the whole namespace.
    """

    type: Literal["ScopeForgotten"] = "ScopeForgotten"
    filter: dict[str, JsonValue] = Field(default_factory=dict)
    reason: Reason | None = None


class FeedbackGiven(Envelope):
    """Of the memories that a recall showed, some were used and some ignored."""

    type: Literal["FeedbackGiven"] = "FeedbackGiven"
    recall_id: Identifier | None = None
    used: Annotated[tuple[Identifier, ...], Field(max_length=1_000)] = ()
    ignored: Annotated[tuple[Identifier, ...], Field(max_length=1_000)] = ()


class RecordDeadLettered(Envelope):
    """A record could not be read or applied. It names where the record stands and keeps its bytes."""

    type: Literal["RecordDeadLettered"] = "RecordDeadLettered"
    topic: str
    partition: int
    offset: int
    reason: str
    key: str | None = None
    value: str | None = None


class DeadLetterResolved(Envelope):
    """A dead letter was appended again (`retried`) or given up (`dropped`)."""

    type: Literal["DeadLetterResolved"] = "DeadLetterResolved"
    topic: str
    partition: int
    offset: int
    action: Literal["retried", "dropped"]


Event = Annotated[
    MemoryRemembered
    | MemoryUpdated
    | MemorySuperseded
    | MemoryForgotten
    | ScopeForgotten
    | FeedbackGiven
    | RecordDeadLettered
    | DeadLetterResolved,
    Field(discriminator="type"),
]

EventT = TypeVar("EventT", bound=Envelope)


def build(event_class: type[EventT], **values: Any) -> EventT:
    """An event of `event_class` from a caller's values.

    Raises:
        InvalidInputError: a value is missing, unknown, of the wrong type or out of range; `field` names it.
    """
    try:
        return event_class(**values)
    except ValidationError as error:
        raise invalid_input(error) from error


def invalid_input(error: ValidationError) -> InvalidInputError:
    """The first problem of a validation error, as one line that names the field."""
    first = error.errors(include_url=False)[0]
    inner = first.get("ctx", {}).get("error")
    field = ".".join(str(part) for part in first["loc"]) or None
    if isinstance(inner, MnemologError):
        return InvalidInputError(str(inner), field=field)
    message = first["msg"].removeprefix("Value error, ")
    return InvalidInputError(f"{field}: {message} (got {str(first['input'])[:80]!r})", field=field)
