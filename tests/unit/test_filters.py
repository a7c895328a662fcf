"""The filter language: what parses, what is refused and why, and what a filter means after JSON."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest
from hypothesis import given
from support.filtering import filters, random_row
from support.properties import examples

from mnemolog.schemas.errors import FilterError, InvalidInputError
from mnemolog.schemas.filters import (
    EVERYTHING,
    FIELDS,
    MAX_DEPTH,
    OPERATORS,
    And,
    Compare,
    Span,
    lookup_metadata,
    parse_filter,
    to_document,
)
from mnemolog.schemas.matching import matches

PICK = Random(3)
ROWS = [random_row(PICK, f"pk{at}") for at in range(60)]


def refused(document: Any) -> str:
    with pytest.raises(FilterError) as caught:
        parse_filter(document)
    assert isinstance(caught.value, InvalidInputError)
    return str(caught.value)


@pytest.mark.parametrize("document", [None, {}, {"AND": [{}]}, {"NOT": {"NOT": {}}}])
def test_nothing_asked_selects_everything(document: Any) -> None:
    assert all(matches(parse_filter(document), row) for row in ROWS)


@pytest.mark.parametrize(
    "name", ["nonsense", "metadata", "metadata.", "vector", "namespace", "deleted", "Kind", ""]
)
def test_unknown_fields_are_refused_with_those_there_are(name: str) -> None:
    said = refused({name: 1})
    assert repr(name) in said
    assert "importance" in said
    assert "metadata.<name>" in said


@pytest.mark.parametrize("op", ["equals", "$eq", "EQ", "like", "", "between", 1, None])
def test_unknown_operators_are_refused_with_those_there_are(op: Any) -> None:
    """M17."""
    for name in ("kind", "metadata.x", "tags"):
        said = refused({name: {op: "a"}})
        assert "unknown" in said
        assert "exists" in said


@pytest.mark.parametrize("name", list(FIELDS))
def test_operators_of_other_types_are_refused(name: str) -> None:
    kind = FIELDS[name]
    for op in OPERATORS["json"] - OPERATORS[kind]:
        assert f"not for a {kind}" in refused({name: {op: "a"}})


WRONG: list[tuple[str, list[Any]]] = [
    ("kind", [1, True, 1.5, ["a"], datetime(2024, 1, 1), b"a"]),
    ("importance", ["0.5", True, math.nan, math.inf, -math.inf, 10**400, [1], datetime(2024, 1, 1)]),
    ("pinned", [1, 0, "true", "", [True]]),
    ("superseded", [1, "no"]),
    ("occurred_at", ["yesterday", "2024-13-01", "2024-02-30", "", 1714521600, True, "12:00", ["2024-01-01"]]),
    ("metadata.x", [math.nan, math.inf, 10**400, [1], (1,), object(), datetime(2024, 1, 1), b"a"]),
]


@pytest.mark.parametrize(("name", "values"), WRONG)
def test_values_of_a_wrong_type_are_refused(name: str, values: list[Any]) -> None:
    for value in values:
        assert name in refused({name: {"eq": value}})
        if "in" in OPERATORS[FIELDS.get(name, "json")]:
            refused({name: {"in": [value]}})


@pytest.mark.parametrize("name", ["kind", "importance", "occurred_at", "metadata.x", "tags"])
def test_sets_are_lists(name: str) -> None:
    for op in ("in", "nin"):
        assert "takes a list" in refused({name: {op: "abc"}})
        assert "takes a list" in refused({name: {op: {"a": 1}}})
        assert "takes a list" in refused({name: {op: None}})


@pytest.mark.parametrize(
    "document", [{"tags": "a"}, {"tags": None}, {"tags": {"contains": ["a"]}}, {"tags": [1]}]
)
def test_tags_are_compared_as_a_list_and_contain_one(document: Any) -> None:
    refused(document)


def test_null_is_compared_only_for_being_equal() -> None:
    for op in ("gt", "gte", "lt", "lte", "contains"):
        refused({"key": {op: None}})
    refused({"kind": {"in": [None]}})
    refused({"kind": {"exists": None}})
    assert parse_filter({"key": None}) == Compare("key", "eq", None, "string")


@pytest.mark.parametrize("value", [1, "yes", None, "true"])
def test_exists_takes_a_bool(value: Any) -> None:
    assert "is not a bool" in refused({"kind": {"exists": value}})


@pytest.mark.parametrize("document", ["kind", 5, [{"kind": "a"}], [("kind", "a")], True])
def test_a_filter_is_an_object(document: Any) -> None:
    assert "object" in refused(document)
    assert "object" in refused({"NOT": document})


@pytest.mark.parametrize("join", ["AND", "OR", "and", "Or"])
def test_joins_take_lists_of_filters(join: str) -> None:
    operands: list[Any] = [[], {}, {"kind": "a"}, None, "kind"]
    for operand in operands:
        assert "list" in refused({join: operand})
    assert "object" in refused({join: ["kind"]})
    assert parse_filter({join: [{"kind": "a"}]}) is not None


def test_an_empty_condition_is_refused() -> None:
    assert "no operator" in refused({"kind": {}})


def test_a_field_name_is_a_string() -> None:
    assert "field name" in refused({1: "a"})


def nested(depth: int) -> dict[str, Any]:
    return {"kind": "a"} if depth == 1 else {"NOT": nested(depth - 1)}


def test_depth_is_bounded() -> None:
    parse_filter(nested(MAX_DEPTH))
    assert "deeper" in refused(nested(MAX_DEPTH + 1))
    assert "deeper" in refused(nested(500))


def test_a_deep_filter_is_recorded_no_deeper_than_it_was() -> None:
    """An event's filter is parsed again: it must not be refused then."""
    deep: dict[str, Any] = {"kind": "a", "importance": {"gt": 0, "lt": 1}}
    for level in range(MAX_DEPTH - 1):
        deep = {
            "NOT": deep,
            "tags": {"in": [str(level)]},
            "occurred_at": {"gte": "2024-01-01", "lt": "2025-01-01"},
        }
    node = parse_filter(deep)
    assert parse_filter(json.loads(json.dumps(to_document(node)))) == node


@examples(80)
@given(document=filters())
def test_a_filter_means_the_same_after_its_way_through_json(document: dict[str, Any]) -> None:
    node = parse_filter(document)
    recorded = json.loads(json.dumps(to_document(node), allow_nan=False))
    again = parse_filter(recorded)
    assert [matches(again, row) for row in ROWS] == [matches(node, row) for row in ROWS]
    assert to_document(again) == to_document(parse_filter(to_document(again)))


@examples(80)
@given(document=filters())
def test_not_selects_exactly_the_others(document: dict[str, Any]) -> None:
    node, other = parse_filter(document), parse_filter({"NOT": document})
    assert [matches(other, row) for row in ROWS] == [not matches(node, row) for row in ROWS]


DAY = datetime(2024, 5, 1, tzinfo=UTC)
WHOLE_DAY = Span(DAY, DAY + timedelta(days=1))


@pytest.mark.parametrize("day", ["2024-05-01", "20240501", "2024-W18-3", date(2024, 5, 1)])
def test_a_date_is_the_whole_day_in_utc(day: Any) -> None:
    assert parse_filter({"occurred_at": day}) == Compare("occurred_at", "eq", WHOLE_DAY, "time")


@pytest.mark.parametrize(
    "moment",
    [
        "2024-05-01T02:00",
        "2024-05-01 02:00:00",
        "2024-05-01T02:00:00Z",
        "2024-05-01T04:00:00+02:00",
        "2024-04-30T21:30:00-04:30",
        datetime(2024, 5, 1, 2),
        datetime(2024, 5, 1, 4, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_a_naive_time_is_utc_and_zones_are_converted(moment: Any) -> None:
    """M4."""
    two = DAY + timedelta(hours=2)
    assert parse_filter({"occurred_at": moment}) == Compare("occurred_at", "eq", Span(two, two), "time")


def test_several_entries_must_all_hold() -> None:
    node = parse_filter({"kind": "a", "importance": {"gt": 0.1, "lt": 0.9}})
    assert isinstance(node, And)
    row = {**ROWS[0], "kind": "a", "importance": 0.5}
    assert matches(node, row)
    assert not matches(node, {**row, "importance": 0.9})
    assert not matches(node, {**row, "kind": "b"})
    assert parse_filter({}) == EVERYTHING


@pytest.mark.parametrize(
    ("metadata", "path", "value"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({"a.b": 2}, "a.b", 2),
        ({"a.b": 2, "a": {"b": 1}}, "a.b", 2),
        ({"a": {"b.c": 3}}, "a.b.c", 3),
        ({"a.b": {"c": 4}}, "a.b.c", 4),
        ({"a": {"x": 1}, "a.b": {"c": 5}}, "a.b.c", 5),
        ({"a": 1}, "a.b", None),
        ({"a": [{"b": 1}]}, "a.b", None),
        ({}, "a", None),
        (None, "a", None),
        ("text", "a", None),
    ],
)
def test_a_metadata_path(metadata: Any, path: str, value: Any) -> None:
    assert lookup_metadata(metadata, path) == value
