"""What a filter selects is the same in every view table. One suite, run in memory and on real LanceDB."""

from __future__ import annotations

import json
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from support.filtering import DAY, filters, random_row
from support.properties import examples
from support.tables import KINDS, OpenTable, opener, pks, row

from mnemolog.schemas.filters import parse_filter, to_document
from mnemolog.schemas.matching import matches
from mnemolog.schemas.ports import ViewTable
from mnemolog.schemas.rows import Row


@pytest.fixture(scope="module", params=KINDS)
def open_table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OpenTable:
    """Makes one more empty table."""
    return opener(request.param, tmp_path_factory.mktemp("shard"))


@pytest.fixture
def table(open_table: OpenTable) -> ViewTable:
    return open_table()


def test_select_keeps_to_its_namespace(table: ViewTable) -> None:
    """M21."""
    names = ["john_doe", "john-doe", "john%", "john*", "john", "john/doe", "O'Brien"]
    table.commit([row(f"r{at}", namespace=name) for at, name in enumerate(names)], 0)
    for at, name in enumerate(names):
        assert pks(table.select(name)) == [f"r{at}"]
    assert table.select("j%") == table.select("") == table.select("' OR 1=1 --") == []


PICK = Random(17)
MANY = [random_row(PICK, f"pk{at}") for at in range(80)]
"""Rows that between them have every value of the pools."""


@pytest.fixture(scope="module")
def filled_table(open_table: OpenTable) -> ViewTable:
    table = open_table()
    others = [{**one, "pk": f"other{at}", "namespace": "other"} for at, one in enumerate(MANY[:10])]
    gone = [{**one, "pk": f"gone{at}", "deleted": True} for at, one in enumerate(MANY[:10])]
    table.commit([*MANY, *others, *gone], 1)
    return table


@examples(100)
@given(document=filters())
@example({"superseded": {"exists": False}})
@example({"NOT": {"superseded": {"exists": True}}})
@example({"importance": 10**25})
@example({"occurred_at": {"gt": "0001-01-01"}})
@example({"occurred_at": {"lte": "9999-12-30"}})
@example({"NOT": {"tags": {"nin": ["a"]}}})
@example({"OR": [{"metadata.a.b": {"exists": True}}, {"NOT": {"metadata.city": "a"}}]})
def test_a_filter_selects_the_same_rows_in_every_table(
    filled_table: ViewTable, document: dict[str, Any]
) -> None:
    """M4, M17: every operator, nested; and the same again after the way through an event's JSON."""
    node = parse_filter(document)
    expected = pks([one for one in MANY if matches(node, one)])
    assert pks(filled_table.select("acme", node)) == expected
    again = parse_filter(json.loads(json.dumps(to_document(node))))
    assert pks([one for one in MANY if matches(again, one)]) == expected


EARLY, LATE, NEXT = (DAY + timedelta(hours=hours) for hours in (2, 23, 24))
OPERATOR_CASES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"kind": "note"}, {"kind": "note"}, {"kind": "Note"}),
    ({"kind": {"ne": "note"}}, {"kind": "x"}, {"kind": "note"}),
    ({"author": {"ne": "Al"}}, {"author": None}, {"author": "Al"}),
    ({"author": None}, {"author": None}, {"author": "None"}),
    ({"author": {"ne": None}}, {"author": ""}, {"author": None}),
    ({"author": {"exists": True}}, {"author": "a"}, {"author": None}),
    ({"author": {"exists": False}}, {"author": None}, {"author": "a"}),
    ({"text": {"contains": "a%"}}, {"text": "xa%x"}, {"text": "xabx"}),
    ({"text": {"contains": "a_"}}, {"text": "xa_x"}, {"text": "xabx"}),
    ({"text": {"contains": "É"}}, {"text": "É"}, {"text": "é"}),
    ({"kind": {"in": ["a", "O'Brien"]}}, {"kind": "O'Brien"}, {"kind": "OBrien"}),
    ({"kind": {"nin": ["a"]}}, {"kind": "b"}, {"kind": "a"}),
    ({"source": {"nin": ["a"]}}, {"source": None}, {"source": "a"}),
    ({"key": {"gt": "b"}}, {"key": "c"}, {"key": "b"}),
    ({"key": {"gte": "b"}}, {"key": "b"}, {"key": None}),
    ({"importance": {"gt": 0.5}}, {"importance": 0.51}, {"importance": 0.5}),
    ({"importance": {"gte": 0.5}}, {"importance": 0.5}, {"importance": None}),
    ({"importance": {"lt": 0.5}}, {"importance": 0.4}, {"importance": 0.5}),
    ({"importance": {"lte": 0.5, "gt": 0}}, {"importance": 0.5}, {"importance": 0.0}),
    ({"importance": {"in": [1, 0.5]}}, {"importance": 1.0}, {"importance": 0.6}),
    ({"pinned": True}, {"pinned": True}, {"pinned": False}),
    ({"pinned": {"ne": True}}, {"pinned": False}, {"pinned": True}),
    ({"superseded": True}, {"superseded_by": "x"}, {"superseded_by": None}),
    ({"superseded": False}, {"superseded_by": None}, {"superseded_by": "x"}),
    ({"tags": {"contains": "O'B"}}, {"tags": ["x", "O'B"]}, {"tags": ["O'Brien"]}),
    ({"tags": {"in": ["a", "b"]}}, {"tags": ["c", "b"]}, {"tags": ["c"]}),
    ({"tags": {"nin": ["a", "b"]}}, {"tags": []}, {"tags": ["c", "b"]}),
    ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {"tags": ["a"]}),
    ({"tags": {"ne": ["a"]}}, {"tags": []}, {"tags": ["a"]}),
    ({"tags": {"exists": True}}, {"tags": ["a"]}, {"tags": []}),
    ({"metadata.city": "Paris"}, {"metadata": '{"city":"Paris"}'}, {"metadata": '{"city":["Paris"]}'}),
    ({"metadata.n": {"gt": 1}}, {"metadata": '{"n":2}'}, {"metadata": '{"n":"2"}'}),
    ({"metadata.n": {"eq": 1}}, {"metadata": '{"n":1.0}'}, {"metadata": '{"n":true}'}),
    (
        {"metadata.a.b": {"contains": "x"}},
        {"metadata": '{"a":{"b":["x"]}}'},
        {"metadata": '{"a":{"b":["xy"]}}'},
    ),
    ({"metadata.a.b": {"exists": True}}, {"metadata": '{"a.b":0}'}, {"metadata": '{"a":{"b":null}}'}),
    ({"NOT": {"kind": "a", "pinned": True}}, {"kind": "a", "pinned": False}, {"kind": "a", "pinned": True}),
    ({"OR": [{"kind": "a"}, {"kind": "b"}]}, {"kind": "b"}, {"kind": "c"}),
    (
        {"AND": [{"kind": "a"}, {"NOT": {"author": "x"}}]},
        {"kind": "a", "author": None},
        {"kind": "a", "author": "x"},
    ),
    (
        {"occurred_at": "2024-05-01"},
        {"occurred_at": EARLY},
        {"occurred_at": NEXT},
    ),
    (
        {"occurred_at": {"lte": "2024-05-01"}},
        {"occurred_at": LATE},
        {"occurred_at": NEXT},
    ),
    (
        {"occurred_at": {"gt": "2024-05-01"}},
        {"occurred_at": NEXT},
        {"occurred_at": EARLY},
    ),
    (
        {"occurred_at": {"eq": "2024-05-01T02:00:00+02:00"}},
        {"occurred_at": DAY},
        {"occurred_at": EARLY},
    ),
    (
        {"occurred_at": {"lt": "2024-05-01T02:00:00"}},
        {"occurred_at": DAY},
        {"occurred_at": EARLY},
    ),
    ({"expires_at": {"in": ["2024-05-01"]}}, {"expires_at": DAY}, {"expires_at": None}),
    ({"expires_at": {"ne": "2024-05-01"}}, {"expires_at": None}, {"expires_at": DAY}),
]


@pytest.mark.parametrize(("document", "inside", "outside"), OPERATOR_CASES)
def test_each_operator_takes_one_row_and_excludes_the_other(
    table: ViewTable, document: dict[str, Any], inside: Row, outside: Row
) -> None:
    """M17, M4."""
    table.commit([row("inside", **inside), row("outside", **outside)], 0)
    assert pks(table.select("acme", parse_filter(document))) == ["inside"]
    assert pks(table.select("acme", parse_filter({"NOT": document}))) == ["outside"]
