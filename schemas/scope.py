"""Which memories of a namespace a call is about: arguments for what is asked often, filters for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypedDict, get_args

from mnemolog.schemas.checks import check_moment
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.filters import And, Compare, Filter, Node, Not, Or, Span, parse_filter

TagsMode = Literal["all", "any", "none", "exact"]
"""`all`: each of the tags is there. `any`: at least one. `none`: no one. `exact`: these and no others."""


class Scope(TypedDict, total=False):
    """The arguments that select memories; all must hold. None, and what is absent, leave nothing out."""

    kinds: Sequence[str] | None
    tags: Sequence[str] | None
    tags_mode: TagsMode
    agent_id: str | None
    thread_id: str | None
    valid_at: datetime | None
    filters: Filter | None


def scope_node(
    *,
    kinds: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    tags_mode: TagsMode = "all",
    agent_id: str | None = None,
    thread_id: str | None = None,
    valid_at: datetime | None = None,
    filters: Filter | None = None,
) -> Node:
    """The filter that the arguments of a `Scope` mean together.

    `valid_at` selects what held in the world at that time: what has no `valid_from` always did, and what has
    no `valid_to` still does.

    Raises:
        InvalidInputError: an argument of the wrong type, or an unknown mode; `field` names it.
    """
    nodes: list[Node] = [] if filters is None else [parse_filter(filters)]
    if kinds is not None:
        nodes.append(Or(tuple(Compare("kind", "eq", kind, "string") for kind in _strings("kinds", kinds))))
    nodes += _tags(tags, tags_mode)
    for name, value in (("agent_id", agent_id), ("thread_id", thread_id)):
        if value is not None:
            nodes.append(Compare(name, "eq", _string(name, value), "string"))
    if valid_at is not None:
        nodes += _valid_at(check_moment("valid_at", valid_at))
    return nodes[0] if len(nodes) == 1 else And(tuple(nodes))


def _valid_at(moment: datetime) -> list[Node]:
    at = Span(moment, moment)
    open_ends = [Compare(name, "exists", False, "time") for name in ("valid_from", "valid_to")]
    sides = Compare("valid_from", "lte", at, "time"), Compare("valid_to", "gt", at, "time")
    return [Or(pair) for pair in zip(open_ends, sides, strict=True)]


def _tags(tags: Sequence[str] | None, mode: object) -> list[Node]:
    if mode not in get_args(TagsMode):
        known = ", ".join(get_args(TagsMode))
        raise InvalidInputError(f"tags_mode is one of {known}, not {mode!r:.80}", field="tags_mode")
    if tags is None:
        return []
    given = tuple(_strings("tags", tags))
    if mode == "all":
        return [Compare("tags", "contains", tag, "tags") for tag in given]
    return [Compare("tags", {"any": "in", "none": "nin", "exact": "eq"}[str(mode)], given, "tags")]


def selects_everything(node: Node) -> bool:
    """Whether a filter says nothing that could leave a memory out, such as `{}` or an AND of such."""
    match node:
        case And(nodes):
            return all(selects_everything(child) for child in nodes)
        case Or(nodes):
            return any(selects_everything(child) for child in nodes)
        case Not(child):
            return _selects_nothing(child)
    return False


def _selects_nothing(node: Node) -> bool:
    match node:
        case And(nodes):
            return any(_selects_nothing(child) for child in nodes)
        case Or(nodes):
            return all(_selects_nothing(child) for child in nodes)
        case Not(child):
            return selects_everything(child)
    return False


def _strings(field: str, values: Sequence[str]) -> Sequence[str]:
    listed = isinstance(values, Iterable) and not isinstance(values, str | bytes)
    if not listed or not all(isinstance(value, str) for value in values):
        raise InvalidInputError(f"{field}: give a list of strings, not {values!r:.80}", field=field)
    return [_string(field, value) for value in values]


def _string(field: str, value: object) -> str:
    """`value`, if it is text: half of a surrogate pair can't be in an event."""
    try:
        if isinstance(value, str) and value.encode() is not None:
            return value
    except UnicodeEncodeError:
        pass
    raise InvalidInputError(f"{field}: {value!r:.80} is not text", field=field)
