"""Filters of LangGraph stores: in the filter language where that says the same, else on values one by one.

The fields are those at the top of a value. A plain value, or `$eq`, is equality; `$ne`, `$gt`, `$gte`, `$lt`,
`$lte`. A dict without operators matches what holds in it, a list one of the same length whose elements match.
Numbers are ordered with numbers and text with text; what is missing or null satisfies `$ne` and equals null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any

from mnemolog.adapters.langgraph_items import MARK, VALUE
from mnemolog.schemas.errors import FilterError

_OPERATORS = {"$eq": "eq", "$ne": "ne", "$gt": "gt", "$gte": "gte", "$lt": "lt", "$lte": "lte"}
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}

ITEMS: Mapping[str, Any] = {"source": MARK}
"""The memories that are items, and perhaps others, which `item_of` tells apart: this is the quicker way."""


def checked(conditions: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The conditions; none for None.

    Raises:
        FilterError: they are no dict, or have an unknown operator, or one that does not go with its value.
    """
    if conditions is not None and not isinstance(conditions, Mapping):
        raise FilterError(f"a filter is a dict of field to condition, not {conditions!r:.80}", field="filter")
    for name, condition in (conditions or {}).items():
        if not isinstance(name, str):
            raise FilterError(f"a field name is a string, not {name!r:.80}", field="filter")
        _check(name, condition)
    return conditions or {}


def in_our_language(conditions: Mapping[str, Any]) -> dict[str, Any] | None:
    """The conditions, which were `checked`, as a filter of memories; None where only `matches` can tell."""
    filters: dict[str, Any] = {}
    for name, condition in conditions.items():
        operators = condition if _has_operators(condition) else {"$eq": condition}
        if not name or "." in name or not all(_is_scalar(operand) for operand in operators.values()):
            return None
        ours = {_OPERATORS[operator]: operand for operator, operand in operators.items()}
        filters[f"metadata.{VALUE}.{name}"] = ours
    return {**ITEMS, **filters}


def matches(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Whether a value satisfies all conditions."""
    return all(_holds(value.get(name), condition) for name, condition in conditions.items())


def _check(name: str, condition: Any) -> None:
    if _has_operators(condition):
        for operator, operand in condition.items():
            _check_operator(name, operator, operand)
    elif isinstance(condition, Mapping | list | tuple):
        for one in condition.values() if isinstance(condition, Mapping) else condition:
            _check(name, one)


def _check_operator(name: str, operator: object, operand: Any) -> None:
    if operator not in _OPERATORS:
        known = ", ".join(_OPERATORS)
        raise FilterError(f"{name}: operator {operator!r} is unknown; there are {known}", field="filter")
    if operator in _ORDER and (isinstance(operand, bool) or not isinstance(operand, str | int | float)):
        raise FilterError(f"{name}: {operator} takes a number or text, not {operand!r:.80}", field="filter")


def _has_operators(condition: Any) -> bool:
    return isinstance(condition, Mapping) and any(str(name).startswith("$") for name in condition)


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _holds(value: Any, condition: Any) -> bool:
    if _has_operators(condition):
        return all(_compare(value, operator, operand) for operator, operand in condition.items())
    if isinstance(condition, Mapping):
        return isinstance(value, Mapping) and all(_holds(value.get(n), one) for n, one in condition.items())
    if isinstance(condition, list | tuple):
        fits = isinstance(value, list | tuple) and len(value) == len(condition)
        return fits and all(_holds(*pair) for pair in zip(value, condition, strict=True))
    return _same(value, condition)


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator in _ORDER:
        return _ordered(value, operand) and _ORDER[operator](value, operand)
    return _same(value, operand) == (operator == "$eq")


def _ordered(value: Any, operand: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, str if isinstance(operand, str) else int | float)


def _same(value: Any, other: Any) -> bool:
    """Equality of JSON: true is not 1, also further down."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_same(value[name], other[name]) for name in value)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(_same(*pair) for pair in zip(value, other, strict=True))
    return bool(value == other)
