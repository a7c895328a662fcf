"""Counts, sums, means and extremes of the memories that were selected, by group: computed on columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mnemolog.query.columns import column_of, numbers_of, type_of
from mnemolog.query.namespace_cache import NamespaceCache
from mnemolog.schemas.errors import InvalidInputError

_FUNCTIONS: Mapping[str, str] = {"count": "count", "sum": "sum", "avg": "mean", "min": "min", "max": "max"}
_OF_TYPE: Mapping[str, frozenset[str]] = {
    "number": frozenset(_FUNCTIONS),
    "json": frozenset(_FUNCTIONS),
    "time": frozenset({"min", "max"}),
}
_MEMORIES = "@memories"

Metrics: TypeAlias = Mapping[str, bool | str | Sequence[str]]
"""A function (count, sum, avg, min, max) → the field or fields to take it of; `{"count": True}`: memories."""

COUNT: Metrics = {"count": True}

NO_SLOTS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Metric:
    """A function of a field, and what it is called in the result; no field stands for the memory itself."""

    name: str
    function: str
    field: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked aggregate: the fields to group by, and what to compute in each group."""

    by: tuple[str, ...]
    metrics: tuple[Metric, ...]


def plan(by: str | Sequence[str] | None, metrics: Metrics) -> Plan:
    """The plan of the arguments of `aggregate`.

    Raises:
        InvalidInputError: an unknown field or function, or one that does not go with the field's type.
    """
    return Plan(_groups(by), _metrics(metrics))


def _groups(by: object) -> tuple[str, ...]:
    if by is None:
        return ()
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, Iterable) or isinstance(names, bytes | Mapping):
        raise InvalidInputError(f"by: give a field or a list of fields, not {by!r:.80}", field="by")
    groups = tuple(names)
    for name in groups:
        _type("by", name)
    if len(set(groups)) < len(groups):
        raise InvalidInputError(f"by: a field is named twice: {', '.join(groups)}", field="by")
    return groups


def _metrics(metrics: object) -> tuple[Metric, ...]:
    if not isinstance(metrics, Mapping) or not metrics:
        raise InvalidInputError(
            f"metrics: give a dict of function to field, as in {{'avg': 'importance'}}, not {metrics!r:.80}",
            field="metrics",
        )
    return tuple(metric for function, of in metrics.items() for metric in _metrics_of(function, of))


def _metrics_of(function: object, of: object) -> list[Metric]:
    if not isinstance(function, str) or function not in _FUNCTIONS:
        known = ", ".join(_FUNCTIONS)
        raise InvalidInputError(f"metrics: there is no {function!r:.80}; there are {known}", field="metrics")
    if function == "count" and of is True:
        return [Metric("count", "count", None)]
    names = [of] if isinstance(of, str) else of
    if not isinstance(names, Iterable) or isinstance(names, bytes | Mapping) or not (fields := list(names)):
        raise InvalidInputError(
            f"metrics: {function} takes a field or a list, not {of!r:.80}", field="metrics"
        )
    for name in fields:
        kind = _type("metrics", name)
        if function != "count" and function not in _OF_TYPE.get(kind, ()):
            raise InvalidInputError(f"metrics: there is no {function} of {name}, a {kind}", field="metrics")
    return [Metric(f"{function}_{name}", function, name) for name in fields]


def _type(argument: str, name: object) -> str:
    kind = type_of(name)
    if kind is None:
        raise InvalidInputError(f"{argument}: unknown field {name!r:.80}", field=argument)
    return kind


def aggregate(cache: NamespaceCache | None, slots: NDArray[np.int64], asked: Plan) -> list[dict[str, Any]]:
    """One dict a group, in the order of their values with None last; without `by` one for all."""
    if cache is None or not slots.size:
        return (
            [] if asked.by else [{one.name: 0 if one.function == "count" else None for one in asked.metrics}]
        )
    wanted = [(_source(metric), _FUNCTIONS[metric.function]) for metric in asked.metrics]
    grouped = _table(cache, slots, asked).group_by(list(asked.by), use_threads=False)
    found = grouped.aggregate(list(dict.fromkeys(wanted)))
    columns = {name: [_plain(name, value) for value in found.column(name).to_pylist()] for name in asked.by}
    for metric, (source, function) in zip(asked.metrics, wanted, strict=True):
        columns[metric.name] = found.column(f"{source}_{function}").to_pylist()
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return sorted(rows, key=lambda row: [_order(row[name]) for name in asked.by])


def _plain(name: str, value: Any) -> Any:
    """A group's value: those of metadata were grouped as JSON texts, so that 1, "1" and true stay apart."""
    if value is not None and type_of(name) == "json":
        return json.loads(value)
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _order(value: Any) -> tuple[bool, str, Any]:
    if value is None or isinstance(value, list | dict):
        return value is None, "list", json.dumps(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return False, "number" if number else type(value).__name__, value


def _source(metric: Metric) -> str:
    """The column to compute on, of a name that no group has: numbers alone where they are computed with."""
    if metric.field is None:
        return _MEMORIES
    return f"@count {metric.field}" if metric.function == "count" else f"@{metric.field}"


def _table(cache: NamespaceCache, slots: NDArray[np.int64], asked: Plan) -> pa.Table:
    columns = {name: column_of(cache, name, slots) for name in asked.by}
    for metric in asked.metrics:
        if metric.field is None:
            columns[_MEMORIES] = pa.array(np.ones(slots.size, dtype=np.int8))
        elif _source(metric) not in columns:
            columns[_source(metric)] = _measured(cache, slots, metric.field, metric.function)
    table = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    return _by_tag(table) if "tags" in asked.by else table


def _measured(cache: NamespaceCache, slots: NDArray[np.int64], name: str, function: str) -> pa.Array:
    if function != "count" and type_of(name) == "json":
        return numbers_of(cache, name, slots)
    column = column_of(cache, name, slots)
    if function != "count":
        return column
    if name == "tags":
        return pc.if_else(pc.greater(pc.fill_null(pc.list_value_length(column), 0), 0), 1, None)
    return column


def _by_tag(table: pa.Table) -> pa.Table:
    """A row for each tag of a memory, and one without for a memory that has none."""
    tags = table.column("tags").combine_chunks()
    none = pc.indices_nonzero(pc.equal(pc.fill_null(pc.list_value_length(tags), 0), 0))
    parents = pa.concat_arrays([pc.list_parent_indices(tags), none.cast(pa.int64())])
    flat = pa.concat_arrays([pc.list_flatten(tags), pa.nulls(len(none), pa.string())])
    at = table.column_names.index("tags")
    return table.take(parents).set_column(at, "tags", flat)
