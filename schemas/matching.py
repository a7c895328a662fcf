"""What a filter means: the predicate over one row. Every other rendering must select the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mnemolog.schemas.filters import And, Compare, Node, Not, Or, Span, lookup_metadata, parse_metadata


def matches(node: Node, row: Mapping[str, Any]) -> bool:
    """Whether `row`, a row of the memories view, satisfies the filter."""
    match node:
        case And(nodes):
            return all(matches(child, row) for child in nodes)
        case Or(nodes):
            return any(matches(child, row) for child in nodes)
        case Not(child):
            return not matches(child, row)
        case Compare():
            return compare(node, _value(node, row))


def _value(node: Compare, row: Mapping[str, Any]) -> Any:
    if node.type == "json":
        return lookup_metadata(parse_metadata(row), node.path)
    if node.field == "superseded":
        return row.get("superseded_by") is not None
    value = row.get(node.field)
    return frozenset(value or ()) if node.type == "tags" else value


def compare(node: Compare, value: Any) -> bool:
    """Whether `value`, what a row has for the field of `node`, passes."""
    missing = value is None or (node.type == "tags" and not value)
    if node.op == "exists":
        return node.value is not missing
    negative = node.op in ("ne", "nin")
    if value is None:
        return negative != (node.value is None)
    test = {"tags": _test_tags, "time": _test_time, "json": _test_json}.get(node.type, _test_plain)
    positive = {"ne": "eq", "nin": "in"}.get(node.op, node.op)
    return test(positive, value, node.value) != negative


_ORDERINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: bool(a == b),
    "gt": lambda a, b: bool(a > b),
    "gte": lambda a, b: bool(a >= b),
    "lt": lambda a, b: bool(a < b),
    "lte": lambda a, b: bool(a <= b),
    "in": lambda a, b: a in b,
    "contains": lambda a, b: b in a,
}


def _test_plain(op: str, value: Any, operand: Any) -> bool:
    return _ORDERINGS[op](value, operand)


def _test_tags(op: str, value: frozenset[str], operand: Any) -> bool:
    if op == "in":
        return not value.isdisjoint(operand)
    return value == frozenset(operand) if op == "eq" else operand in value


def _test_time(op: str, value: Any, operand: Any) -> bool:
    if op == "in":
        return any(_test_time("eq", value, span) for span in operand)
    return operand is not None and _time_orderings(op, value, operand)


def _time_orderings(op: str, value: Any, span: Span) -> bool:
    moment = span.start == span.end
    match op:
        case "gte":
            return bool(value >= span.start)
        case "lt":
            return bool(value < span.start)
        case "gt":
            return bool(value > span.start if moment else value >= span.end)
        case "lte":
            return bool(value <= span.start if moment else value < span.end)
    return bool(value == span.start if moment else span.start <= value < span.end)


def _test_json(op: str, value: Any, operand: Any) -> bool:
    if op == "in":
        return any(_same_json(value, item) for item in operand)
    if op == "eq":
        return _same_json(value, operand)
    if op == "contains":
        if isinstance(value, list):
            return any(_same_json(item, operand) for item in value)
        return isinstance(value, str) and isinstance(operand, str) and operand in value
    return _kind(value) == _kind(operand) != "other" and _ORDERINGS[op](value, operand)


def _same_json(a: Any, b: Any) -> bool:
    return _kind(a) == _kind(b) and bool(a == b)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "other"
