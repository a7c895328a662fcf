"""The filter language, one for recall, list and forget.

A filter is a JSON object: `{"kind": "note", "importance": {"gte": 0.5}, "metadata.city": {"in": ["Paris"]}}`.
All entries must hold; `AND` and `OR` take lists of filters and `NOT` takes one. A plain value means `eq`.

- A missing value satisfies only `ne`, `nin`, `{"exists": false}` and `{"eq": null}`.
- A date without a time, such as `"2024-05-01"`, is that whole day in UTC. A naive time is UTC.
- `tags`: `contains` one tag, `in` any of a list, `nin` none of it, `eq` exactly these.
- `contains` on text is a substring, on a metadata list an element; upper and lower case differ.
- In metadata, values of different types are never equal and never ordered: no row matches, no error.

Unknown fields and operators are errors, never ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal, TypeAlias

from mnemolog.schemas.details import COLUMNS, NUMBERS
from mnemolog.schemas.errors import FilterError
from mnemolog.schemas.fields import as_utc

FieldType: TypeAlias = Literal["string", "number", "bool", "time", "tags", "json"]

FIELDS: Mapping[str, FieldType] = {
    "id": "string",
    "text": "string",
    "kind": "string",
    "key": "string",
    "agent_id": "string",
    "thread_id": "string",
    "author": "string",
    "source": "string",
    "tags": "tags",
    "importance": "number",
    "pinned": "bool",
    "superseded": "bool",
    "occurred_at": "time",
    "recorded_at": "time",
    "updated_at": "time",
    "expires_at": "time",
    "valid_from": "time",
    "valid_to": "time",
    **{name: "number" if name in NUMBERS else "string" for name in COLUMNS},
}

_ORDER = frozenset({"gt", "gte", "lt", "lte"})
_EVERY = frozenset({"eq", "ne", "exists"})
_SET = frozenset({"in", "nin"})
OPERATORS: Mapping[FieldType, frozenset[str]] = {
    "string": _EVERY | _ORDER | _SET | {"contains"},
    "number": _EVERY | _ORDER | _SET,
    "time": _EVERY | _ORDER | _SET,
    "bool": _EVERY,
    "tags": _EVERY | _SET | {"contains"},
    "json": _EVERY | _ORDER | _SET | {"contains"},
}
_ALL_OPERATORS = frozenset().union(*OPERATORS.values())
_JOINING = frozenset({"AND", "OR", "NOT"})
MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time: from `start` to before `end`; a moment has both equal."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Compare:
    """One field against one value. `path` leads into the metadata, where `field` is `metadata`."""

    field: str
    op: str
    value: Any
    type: FieldType
    path: str = ""


@dataclass(frozen=True, slots=True)
class And:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    node: Node


Node: TypeAlias = Compare | And | Or | Not
Filter: TypeAlias = Mapping[str, Any]

EVERYTHING = And(())


def parse_filter(document: Filter | None) -> Node:
    """The parsed form of a filter; None and `{}` select everything.

    Raises:
        FilterError: an unknown field or operator, or a value of the wrong type.
    """
    return EVERYTHING if document is None else _parse(document, MAX_DEPTH)


def _parse(document: object, depth: int) -> Node:
    if not isinstance(document, Mapping):
        raise FilterError(f"a filter is an object of field to condition, not {document!r}", field="filters")
    if depth == 0:
        raise FilterError(f"the filter nests deeper than {MAX_DEPTH}", field="filters")
    nodes = tuple(_parse_entry(name, value, depth) for name, value in document.items())
    return nodes[0] if len(nodes) == 1 else And(nodes)


def _parse_entry(name: object, value: object, depth: int) -> Node:
    if not isinstance(name, str):
        raise FilterError(f"a field name is a string, not {name!r}", field="filters")
    match name.upper():
        case "AND":
            return And(_parse_list(name, value, depth))
        case "OR":
            return Or(_parse_list(name, value, depth))
        case "NOT":
            return Not(_parse(value, depth - 1))
    return _parse_field(name, value)


def _parse_list(name: str, value: object, depth: int) -> tuple[Node, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise FilterError(f"{name} takes a list of at least one filter", field="filters")
    return tuple(_parse(child, depth - 1) for child in value)


def _parse_field(name: str, value: object) -> Node:
    field, _, path = name.partition(".")
    if field == "metadata" and path and _parse_text(path):
        kind: FieldType = "json"
    elif name in FIELDS:
        field, path, kind = name, "", FIELDS[name]
    else:
        raise FilterError(
            f"unknown field {name!r}; there are {sorted(FIELDS)} and metadata.<name>", field="filters"
        )
    conditions = value if isinstance(value, Mapping) else {"eq": value}
    if not conditions:
        raise FilterError(f"{name}: no operator given", field="filters")
    nodes = tuple(_compare(field, path, kind, op, operand) for op, operand in conditions.items())
    return nodes[0] if len(nodes) == 1 else And(nodes)


def _compare(field: str, path: str, kind: FieldType, op: object, value: object) -> Compare:
    name = f"{field}.{path}" if path else field
    if op not in OPERATORS[kind]:
        known = "unknown" if op not in _ALL_OPERATORS else f"not for a {kind}"
        raise FilterError(
            f"{name}: operator {op!r} is {known}; there are {sorted(OPERATORS[kind])}", field="filters"
        )
    return Compare(field, str(op), _operand(name, kind, str(op), value), kind, path)


def _operand(name: str, kind: FieldType, op: str, value: Any) -> Any:
    if op == "exists":
        return _typed(name, "bool", value)
    if op in _SET or (kind == "tags" and op in ("eq", "ne")):
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise FilterError(f"{name}: {op} takes a list, not {value!r}", field="filters")
        return tuple(_typed(name, "string" if kind == "tags" else kind, item) for item in value)
    if value is None and op in ("eq", "ne"):
        return None
    return _typed(name, "string" if op == "contains" and kind != "json" else kind, value)


def _typed(name: str, kind: FieldType, value: Any) -> Any:
    parsed = _PARSERS[kind](value)
    if parsed is None:
        raise FilterError(f"{name}: {value!r} is not a {kind}", field="filters")
    return parsed


def _parse_number(value: Any) -> float | int | None:
    """JSON has no infinity, and a view compares in 64 bits."""
    try:
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return None
    return value if number else None


def _parse_text(value: Any) -> str | None:
    """Half of a surrogate pair is no text: no event can hold it."""
    try:
        return value if isinstance(value, str) and value.encode() is not None else None
    except UnicodeEncodeError:
        return None


def _parse_json(value: Any) -> str | float | bool | None:
    if isinstance(value, str):
        return _parse_text(value)
    return value if isinstance(value, bool) else _parse_number(value)


def _parse_time(value: Any) -> Span | None:
    try:
        if isinstance(value, str):
            value = _from_iso(value)
        if isinstance(value, datetime):
            moment = as_utc(value)
            return Span(moment, moment)
        if isinstance(value, date):
            start = datetime.combine(value, time(0), UTC)
            return Span(start, start + timedelta(days=1))
    except (ValueError, OverflowError):
        return None
    return None


def _from_iso(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text)


_PARSERS: Mapping[FieldType, Callable[[Any], Any]] = {
    "string": _parse_text,
    "tags": _parse_text,
    "bool": lambda value: value if isinstance(value, bool) else None,
    "number": _parse_number,
    "time": _parse_time,
    "json": _parse_json,
}


def to_document(node: Node) -> dict[str, Any]:
    """The filter as plain JSON again, for an event: times in ISO form."""
    match node:
        case And(nodes):
            documents = [to_document(child) for child in nodes]
            return _merged(documents) or ({"AND": documents} if documents else {})
        case Or(nodes):
            return {"OR": [to_document(child) for child in nodes]}
        case Not(child):
            return {"NOT": to_document(child)}
        case Compare():
            name = f"{node.field}.{node.path}" if node.path else node.field
            return {name: {node.op: _plain(node.value)}}


def _merged(documents: list[dict[str, Any]]) -> dict[str, Any] | None:
    """All of them in one object, if it can say them: so that a filter does not get deeper than it was."""
    merged: dict[str, Any] = {}
    for document in documents:
        for name, condition in document.items():
            known = merged.get(name, {})
            if name in merged and (name in _JOINING or known.keys() & condition.keys()):
                return None
            merged[name] = condition if name in _JOINING else {**known, **condition}
    return merged


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Span):
        return value.start.isoformat() if value.start == value.end else value.start.date().isoformat()
    return value


def lookup_metadata(metadata: Any, path: str) -> Any:
    """The value at a dotted path; a literal key that contains dots is found too. None where there is none."""
    if not isinstance(metadata, Mapping):
        return None
    if path in metadata:
        return metadata[path]
    for at in range(len(path)):
        if path[at] == "." and path[:at] in metadata:
            found = lookup_metadata(metadata[path[:at]], path[at + 1 :])
            if found is not None:
                return found
    return None


def parse_metadata(row: Mapping[str, Any]) -> Any:
    """The metadata of a row as Python values."""
    metadata = row.get("metadata")
    return json.loads(metadata) if isinstance(metadata, str) else metadata
