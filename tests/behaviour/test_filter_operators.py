"""Each operator on each type of field: what it selects, and what it must leave out."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from support.stores import NOON, OpenMemory

import mnemolog
from mnemolog import Memory
from mnemolog.schemas.filters import OPERATORS, Compare
from mnemolog.schemas.scope import scope_node

LATE = NOON + timedelta(days=1)
CASES: list[tuple[dict[str, Any], set[str]]] = [
    ({"kind": {"eq": "fact"}}, {"late"}),
    ({"kind": {"ne": "fact"}}, {"early"}),
    ({"kind": {"gt": "fact"}}, {"early"}),
    ({"kind": {"gte": "note"}}, {"early"}),
    ({"kind": {"lt": "note"}}, {"late"}),
    ({"kind": {"lte": "fact"}}, {"late"}),
    ({"kind": {"in": ["fact", "other"]}}, {"late"}),
    ({"kind": {"nin": ["fact", "other"]}}, {"early"}),
    ({"text": {"contains": "sun"}}, {"early"}),
    ({"key": {"exists": True}}, {"late"}),
    ({"key": {"exists": False}}, {"early"}),
    ({"importance": {"eq": 0.2}}, {"early"}),
    ({"importance": {"ne": 0.2}}, {"late"}),
    ({"importance": {"gt": 0.2}}, {"late"}),
    ({"importance": {"gte": 0.8}}, {"late"}),
    ({"importance": {"lt": 0.8}}, {"early"}),
    ({"importance": {"lte": 0.2}}, {"early"}),
    ({"importance": {"in": [0.2, 0.3]}}, {"early"}),
    ({"importance": {"nin": [0.2, 0.3]}}, {"late"}),
    ({"importance": {"exists": False}}, set()),
    ({"occurred_at": {"eq": NOON}}, {"early"}),
    ({"occurred_at": {"ne": "2026-05-01"}}, {"late"}),
    ({"occurred_at": {"gt": "2026-05-01"}}, {"late"}),
    ({"occurred_at": {"gte": LATE.isoformat()}}, {"late"}),
    ({"occurred_at": {"lt": "2026-05-02"}}, {"early"}),
    ({"occurred_at": {"lte": "2026-05-01"}}, {"early"}),
    ({"occurred_at": {"in": ["2026-05-01", "2020-01-01"]}}, {"early"}),
    ({"occurred_at": {"nin": ["2026-05-01"]}}, {"late"}),
    ({"expires_at": {"exists": True}}, {"late"}),
    ({"pinned": {"eq": True}}, {"late"}),
    ({"pinned": {"ne": True}}, {"early"}),
    ({"pinned": {"exists": False}}, set()),
    ({"tags": {"contains": "b"}}, {"late"}),
    ({"tags": {"in": ["b", "c"]}}, {"late"}),
    ({"tags": {"nin": ["b"]}}, {"early"}),
    ({"tags": {"eq": ["b", "a"]}}, {"late"}),
    ({"tags": {"ne": ["a", "b"]}}, {"early"}),
    ({"tags": {"exists": False}}, set()),
    ({"metadata.n": {"eq": 1}}, {"early"}),
    ({"metadata.n": {"ne": 1}}, {"late"}),
    ({"metadata.n": {"gt": 1}}, {"late"}),
    ({"metadata.n": {"gte": 2}}, {"late"}),
    ({"metadata.n": {"lt": 2}}, {"early"}),
    ({"metadata.n": {"lte": 1}}, {"early"}),
    ({"metadata.n": {"in": [1, 7]}}, {"early"}),
    ({"metadata.n": {"nin": [1, 7]}}, {"late"}),
    ({"metadata.list": {"contains": "x"}}, {"early"}),
    ({"metadata.deep.er": {"exists": True}}, {"late"}),
    ({"metadata.deep.er": {"exists": False}}, {"early"}),
    ({"AND": [{"kind": "note"}, {"importance": {"lt": 0.5}}]}, {"early"}),
    ({"OR": [{"kind": "fact"}, {"kind": "other"}]}, {"late"}),
    ({"NOT": {"kind": "fact"}}, {"early"}),
]


def fill(mem: Memory) -> None:
    mem.remember(
        "sunny", id="early", importance=0.2, tags=["a"], occurred_at=NOON, metadata={"n": 1, "list": ["x"]}
    )
    mem.remember(
        "rainy", id="late", kind="fact", importance=0.8, tags=["a", "b"], occurred_at=LATE, pinned=True,
        key="weather", ttl_seconds=1e9, metadata={"n": 2, "list": ["y"], "deep": {"er": 0}},
    )  # fmt: skip


def test_every_operator_selects_the_right_rows_in_every_verb(mem: Memory) -> None:
    fill(mem)
    for document, wanted in CASES:
        assert {item.id for item in mem.list(filters=document).items} == wanted, document
        assert set(mem.recall("weather", filters=document).ids) == wanted, document
        assert mem.aggregate(filters=document) == [{"count": len(wanted)}], document
        assert mem.forget_scope(document, dry_run=True) == len(wanted), document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A handle on a folder that all cases share."""
    with mnemolog.open(tmp_path_factory.mktemp("filters"), "cases", embedder="hashing") as opened:
        yield opened


@pytest.mark.parametrize(("document", "wanted"), [case for case in CASES if case[1]])
def test_forgetting_by_an_operator_leaves_the_others(
    folder: Memory, document: dict[str, Any], wanted: set[str]
) -> None:
    """The fold's reading of the filter, on rows in the view."""
    mem = folder.at(uuid.uuid4().hex)
    fill(mem)
    mem.list()
    mem.forget_scope(document)
    assert {item.id for item in mem.list().items} == {"early", "late"} - wanted


def test_no_operator_is_left_out_here() -> None:
    seen: dict[str, set[str]] = {kind: set() for kind in OPERATORS}
    for document, _ in CASES:
        node = scope_node(filters=document)
        if isinstance(node, Compare):
            seen[node.type].add(node.op)
    assert seen == {kind: set(operators) for kind, operators in OPERATORS.items()}


def test_a_filter_never_reaches_into_another_namespace(open_memory: OpenMemory) -> None:
    alice, bob = open_memory("alice"), open_memory("bob")
    fill(alice)
    for document, _ in CASES:
        assert bob.list(filters=document).total == 0
