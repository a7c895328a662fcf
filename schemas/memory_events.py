"""What happens to memories."""

from __future__ import annotations

from datetime import datetime
from operator import not_
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, ValidationInfo, field_validator, with_config
from typing_extensions import TypedDict

from mnemolog.schemas.details import Detail
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.fields import (
    Flag,
    Identifier,
    Ids,
    Importance,
    Label,
    Metadata,
    Reason,
    Sources,
    Tags,
    Text,
    Timestamp,
)


class MemoryRemembered(Envelope):
    """A memory was made, or put again under its id.

    `key` names a slot that holds one memory at a time: a newer one supersedes the older. `touch` refreshes
    the recency of a memory that is known with the same content, where otherwise nothing would change.
    `detail` is what a structured kind says. It holds in the world from `valid_from` to before `valid_to`.
    `sources` are the ids of the memories that it rests on.
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
    pinned: Flag = False
    expires_at: Timestamp | None = None
    touch: Flag = False
    detail: Detail | None = Field(default=None, exclude_if=not_)
    valid_from: Timestamp | None = Field(default=None, exclude_if=not_)
    valid_to: Timestamp | None = Field(default=None, exclude_if=not_)
    sources: Sources = Field(default=(), exclude_if=not_)

    @field_validator("valid_to")
    @classmethod
    def _ends_after_it_begins(cls, end: datetime | None, info: ValidationInfo) -> datetime | None:
        check_validity(info.data.get("valid_from"), end)
        return end


def check_validity(begin: datetime | None, end: datetime | None) -> None:
    """Refuse a time of validity that ends before it begins, or as it does."""
    if begin is not None and end is not None and end <= begin:
        raise ValueError(f"it must be after valid_from, {begin.isoformat()}")


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
    pinned: Flag
    expires_at: Timestamp | None
    detail: Detail | None
    valid_from: Timestamp | None
    valid_to: Timestamp | None


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


class MemoriesLinked(Envelope):
    """A memory was linked to another one of its namespace, as its `relation`; once, however often said."""

    type: Literal["MemoriesLinked"] = "MemoriesLinked"
    memory_id: Identifier
    target_id: Identifier
    relation: Label = "related"


class MemoriesUnlinked(Envelope):
    """A link was taken away; without a `relation`, every link from the one memory to the other."""

    type: Literal["MemoriesUnlinked"] = "MemoriesUnlinked"
    memory_id: Identifier
    target_id: Identifier
    relation: Label | None = None


class MemoryForgotten(Envelope):
    """Memories were forgotten: their content leaves every view.

    What consolidation made of them alone goes too, unless they were `consolidated`, let go because it stands
    for them: memory → digest of the text that was read. One that says something else by now stays.
    """

    type: Literal["MemoryForgotten"] = "MemoryForgotten"
    memory_ids: Ids
    reason: Reason | None = None
    consolidated: dict[Identifier, Label] = Field(default_factory=dict, exclude_if=not_)


class MemoryEvicted(Envelope):
    """A rule let memories go, as it was decided once from the view; why is in `reason`.

    Over the `capacity` they are forgotten. A `near_duplicate` is superseded by `kept`, the newer memory. So
    that no decision is carried out twice, or on what has changed since: `previous` is the eviction of the
    namespace that was the last when it was made, `revisions` names for each memory the event that had changed
    it last.
    """

    type: Literal["MemoryEvicted"] = "MemoryEvicted"
    memory_ids: Ids
    rule: Literal["capacity", "near_duplicate"]
    kept: Identifier | None = None
    previous: Identifier | None = None
    revisions: Annotated[dict[Identifier, Identifier], Field(max_length=1_001)]
    reason: Reason | None = None


class ScopeForgotten(Envelope):
    """All memories of the namespace that `filter` selects, as of this event, were forgotten.

    `filter` is in the filter language of `schemas.filters`; empty means the whole namespace.
    """

    type: Literal["ScopeForgotten"] = "ScopeForgotten"
    filter: dict[str, JsonValue] = Field(default_factory=dict)
    reason: Reason | None = None
