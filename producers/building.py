"""Checked pieces of events: each problem an error that names the caller's argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from mnemolog.schemas import events as ev
from mnemolog.schemas.details import Structured, check_detail
from mnemolog.schemas.envelope import invalid_input
from mnemolog.schemas.errors import InvalidInputError

Ids: TypeAlias = str | Iterable[str]
DetailT = TypeVar("DetailT", bound=BaseModel)

_ARGUMENT = {
    "memory_id": "id",
    "memory_ids": "ids",
    "target_id": "target",
    "source_episode": "source_episode_id",
}


def build_event(event_class: type[ev.EventT], **values: Any) -> ev.EventT:
    """The event, or an error that speaks of the argument where the event's field has another name."""
    try:
        return ev.build(event_class, **values)
    except InvalidInputError as error:
        raise _of_argument(error) from error


def build_detail(model: type[DetailT], **values: Any) -> DetailT:
    """The detail of a structured kind, or an error that names the argument."""
    try:
        return model(**values)
    except ValidationError as error:
        raise _of_argument(invalid_input(error)) from error


def as_detail(field: str, detail: object) -> Structured:
    """A detail, given as a model or as its fields; an error names it as `field`."""
    try:
        return check_detail(detail)
    except ValidationError as error:
        raise InvalidInputError(f"{field}.{invalid_input(error)}", field=field) from error


def _of_argument(error: InvalidInputError) -> InvalidInputError:
    path = (error.field or "").removeprefix("changes.")
    field, dot, inside = path.partition(".")
    argument = _ARGUMENT.get(field, field)
    message = str(error).replace(f"{error.field}: ", f"{argument}{dot}{inside}: ", 1)
    return InvalidInputError(message, field=argument or None)


def as_tuple(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """A list of strings, not one string."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{field}: give a list of strings, not {values!r:.80}", field=field)
    return tuple(values)


def as_dict(field: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A dict."""
    if not isinstance(values, Mapping):
        raise InvalidInputError(f"{field}: give a dict, not {values!r:.80}", field=field)
    return dict(values)


def id_set(field: str, ids: Ids) -> tuple[str, ...]:
    """One id or several, each once, sorted."""
    values = (ids,) if isinstance(ids, str) else as_tuple(field, ids)
    if not all(isinstance(value, str) for value in values):
        raise InvalidInputError(f"{field}: ids are strings", field=field)
    return tuple(sorted(set(values)))
