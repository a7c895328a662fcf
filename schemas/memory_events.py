"""What happens to memories."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, with_config
from typing_extensions import TypedDict

from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.fields import (
    Identifier,
    Ids,
    Importance,
    Label,
    Metadata,
    Reason,
    Tags,
    Text,
    Timestamp,
)


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
