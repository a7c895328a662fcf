"""What every event carries, and how one is made from a caller's values."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mnemolog.schemas.errors import InvalidInputError, MnemologError
from mnemolog.schemas.fields import Identifier, Label, NamespaceField, Timestamp


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

    def compaction_key(self) -> str | None:
        """What a compacted topic keeps the last event of, within the namespace; None where nothing compacts.

        Folds of compacted topics may depend on no event that a later one of the same key replaces.
        """
        return None


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
