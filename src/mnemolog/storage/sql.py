"""Filters as LanceDB conditions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from mnemolog.schemas.filters import And, Compare, Node, Not, Or, Span

_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def literal(value: Any) -> str:
    """`value` as an SQL literal: the only way that a value enters a condition."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case datetime():
            return f"timestamp '{value.isoformat(timespec='microseconds')}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
    raise TypeError(f"no SQL literal for {value!r}")


def is_in(column: str, values: Iterable[Any]) -> str:
    """`column IN (…)`; false for no values."""
    listed = ", ".join(literal(value) for value in values)
    return f"{column} IN ({listed})" if listed else "false"


def has_any(column: str, values: Iterable[Any]) -> str:
    """Whether a list column holds one of the values; false for no values."""
    listed = ", ".join(literal(value) for value in values)
    return f"array_has_any({column}, [{listed}])" if listed else "false"


def to_sql(node: Node) -> tuple[str, bool]:
    """A condition that holds for every row the filter selects, and whether it holds for no other.

    What LanceDB can't decide (metadata, exact tag sets) becomes `true`: then the caller must run
    `schemas.matching.matches` on the rows as well.
    """
    return _render(node, negated=False)


def _render(node: Node, *, negated: bool) -> tuple[str, bool]:
    match node:
        case Not(child):
            return _render(child, negated=not negated)
        case And(nodes) | Or(nodes):
            every = isinstance(node, And) is not negated
            return _join([_render(child, negated=negated) for child in nodes], "AND" if every else "OR")
        case Compare():
            sql = _compare(node)
            if sql is None:
                return "true", False
            return (f"(({sql}) IS NOT TRUE)" if negated else f"({sql})"), True


def _join(parts: list[tuple[str, bool]], operator: str) -> tuple[str, bool]:
    exact = all(is_exact for _, is_exact in parts)
    if not parts:
        return ("true" if operator == "AND" else "false"), True
    return "(" + f" {operator} ".join(sql for sql, _ in parts) + ")", exact


def _compare(node: Compare) -> str | None:
    if node.type == "json":
        return None
    if node.type == "tags":
        return _tags(node)
    column = "(superseded_by IS NOT NULL)" if node.field == "superseded" else node.field
    if node.op == "exists":
        return literal(node.value) if node.field == "superseded" else _null(column, wanted=not node.value)
    if node.op in ("ne", "nin"):
        positive = Compare(node.field, {"ne": "eq", "nin": "in"}[node.op], node.value, node.type)
        return f"({_compare(positive)}) IS NOT TRUE"
    if node.value is None:
        return _null(column, wanted=True)
    if node.type == "time":
        return _time(column, node.op, node.value)
    return _plain(column, node.op, node.value)


def _null(column: str, *, wanted: bool) -> str:
    return f"{column} IS NULL" if wanted else f"{column} IS NOT NULL"


def _plain(column: str, op: str, value: Any) -> str:
    if op == "in":
        return is_in(column, value)
    if op == "contains":
        return f"strpos({column}, {literal(value)}) > 0"
    return f"{column} {_SIGNS.get(op, '=')} {literal(value)}"


def _time(column: str, op: str, value: Any) -> str:
    if op == "in":
        return " OR ".join(f"({_time(column, 'eq', span)})" for span in value) or "false"
    span: Span = value
    start, end, moment = literal(span.start), literal(span.end), span.start == span.end
    if op == "eq":
        return f"{column} = {start}" if moment else f"({column} >= {start} AND {column} < {end})"
    if op == "gt" and not moment:
        return f"{column} >= {end}"
    if op == "lte" and not moment:
        return f"{column} < {end}"
    return f"{column} {_SIGNS[op]} {start}"


def _tags(node: Compare) -> str | None:
    match node.op:
        case "contains":
            return f"array_has(tags, {literal(node.value)})"
        case "in":
            return " OR ".join(f"array_has(tags, {literal(tag)})" for tag in node.value) or "false"
    return None
