"""Indexes of vectors and terms: made where a namespace is large, kept up, and free of what is forgotten."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lance.file import LanceFileReader
from support.tables import DIM, lance_handle, row

from mnemolog.storage import search_indexes, upkeep
from mnemolog.storage.search_indexes import SEARCH_INDEXES, NamespaceSizes, keep_search_indexes
from mnemolog.storage.searches import ROW, Snapshot
from mnemolog.storage.table import LanceTable
from mnemolog.storage.upkeep import COMMITS_BETWEEN

LARGE = 400
OURS = "namespace = 'acme' AND NOT deleted"


@pytest.fixture(autouse=True)
def small_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A namespace is large from 400 memories on, and twenty new ones are worth a segment."""
    monkeypatch.setattr(search_indexes, "SEARCH_ROWS", LARGE)
    monkeypatch.setattr(search_indexes, "TAIL_ROWS", 20)
    monkeypatch.setattr(search_indexes, "_TAIL_PART", 10**9)
    monkeypatch.setattr("mnemolog.storage.searches.EXACT_ROWS", 0)


def memory(number: int, offset: int = 0, **changes: Any) -> dict[str, Any]:
    vector = np.random.default_rng(number).standard_normal(DIM).astype(np.float32)
    terms = f"word{number} every Ünïcode 东京"
    return row(f"m{number}", offset, terms=terms, vector=vector / np.linalg.norm(vector), **changes)


def filled(folder: Path, count: int = LARGE, **changes: Any) -> LanceTable:
    table = lance_handle(folder)
    table.commit([memory(number, **changes) for number in range(count)], 0)
    return table


def keep_up(table: LanceTable) -> None:
    keep_search_indexes(table.lance, NamespaceSizes())


def indexes(table: LanceTable) -> dict[str, Any]:
    """What is known of each index there is."""
    names = {index.name for index in table.lance.list_indices()} & SEARCH_INDEXES
    return {name: table.lance.index_stats(name) for name in names}


def found(table: LanceTable, *terms: str) -> set[str]:
    return set(Snapshot(table).by_terms(terms, OURS, 10_000, ["pk"]).column("pk").to_pylist())


def nearest(table: LanceTable, number: int, *, exact: bool = False) -> list[str]:
    vector = memory(number)["vector"]
    keys: list[str] = (
        Snapshot(table).by_vector(vector, OURS, 10, ["pk"], exact=exact).column("pk").to_pylist()
    )
    return keys


def test_a_table_of_small_namespaces_has_none(tmp_path: Path) -> None:
    table = lance_handle(tmp_path)
    rows = [memory(number, namespace=f"n{number % 2}") for number in range(2 * LARGE - 2)]
    table.commit(rows, 0)
    keep_up(table)
    assert indexes(table) == {}


def test_all_rows_are_looked_at_only_where_a_namespace_may_have_become_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, sizes = lance_handle(tmp_path), NamespaceSizes()
    table.commit([memory(number, namespace=f"n{number % 3}") for number in range(3 * LARGE - 9)], 0)
    looks, search = list[int](), type(table.lance).search

    def counted(*given: Any, **named: Any) -> Any:
        looks.append(1)
        return search(*given, **named)

    monkeypatch.setattr(type(table.lance), "search", counted)
    assert not sizes.any_large(table.lance)
    table.commit([memory(9_000 + number, 1, namespace="n1") for number in range(2)], 1)
    looks.clear()
    assert not sizes.any_large(table.lance)
    assert not looks
    table.commit([memory(8_000, 2, namespace="n1")], 2)
    assert sizes.any_large(table.lance)


def test_a_table_with_a_large_namespace_has_both(tmp_path: Path) -> None:
    table = filled(tmp_path)
    keep_up(table)
    assert indexes(table).keys() == SEARCH_INDEXES
    assert {one.num_unindexed_rows for one in indexes(table).values()} == {0}
    assert found(table, "word7") == {"m7"}
    assert len(found(table, "东京")) == len(found(table, "Ünïcode")) == LARGE
    assert found(table, "unicode") == found(table, "word") == set()
    assert nearest(table, 7)[0] == "m7"


def test_writers_make_them_in_the_course_of_their_commits(tmp_path: Path) -> None:
    table = filled(tmp_path)
    while not indexes(table):
        offset = table.applied()
        table.commit([memory(LARGE + offset, offset)], offset)
        assert offset <= COMMITS_BETWEEN


def test_rows_that_an_index_lacks_are_found(tmp_path: Path) -> None:
    table = filled(tmp_path)
    keep_up(table)
    table.commit([memory(1_000, 1), memory(7, 1) | {"terms": "changed", "vector": None}], 1)
    assert found(table, "word1000") == {"m1000"}
    assert found(table, "changed") == {"m7"}
    assert found(table, "word7") == set()
    assert nearest(table, 1_000)[0] == "m1000"
    assert "m7" not in nearest(table, 7)


def test_no_row_is_found_twice_however_the_indexes_are_cut(tmp_path: Path) -> None:
    table = filled(tmp_path)
    keep_up(table)
    for offset in range(1, 15):
        table.commit([memory(number, offset) for number in range(offset * 25, offset * 25 + 50)], offset)
        keep_up(table)
        assert {one.num_unindexed_rows for one in indexes(table).values()} <= set(range(21))
        assert all(one.num_indices <= search_indexes.MOST_SEGMENTS + 1 for one in indexes(table).values())
        rows = Snapshot(table).by_terms(["every"], OURS, 10_000, [ROW, "pk"])
        assert sorted(rows.column("pk").to_pylist()) == sorted(found(table, "every"))
        assert rows.num_rows == table.count(OURS)
        assert len(set(nearest(table, offset))) == 10
        assert nearest(table, offset * 25 + 3)[0] == f"m{offset * 25 + 3}"


def in_files(folder: Path, name: str, column: str) -> list[Any]:
    """The values of a column in the files of indexes that have such a name."""
    values: list[Any] = []
    for path in (folder / "t.lance" / "_indices").rglob(name):
        values += LanceFileReader(str(path)).read_all().to_table().column(column).to_pylist()
    return values


def test_what_is_forgotten_leaves_the_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dictionary of words is compressed, so they are counted."""
    monkeypatch.setattr(upkeep, "KEEP_VERSIONS", timedelta(0))
    table = filled(tmp_path, LARGE + 1)
    keep_up(table)
    (words,) = in_files(tmp_path, "*tokens*.lance", "_token_next_id")
    assert len(in_files(tmp_path, "auxiliary.idx", "_rowid")) == LARGE + 1
    table.commit([memory(5, 1, text=None, deleted=True) | {"terms": None, "vector": None}], 1)
    for round_ in range(4):
        now = round_ * upkeep.TEND_SECONDS
        while table.tend(now, alone=True):
            now += 10
    assert found(table, "word5") == set()
    assert in_files(tmp_path, "*tokens*.lance", "_token_next_id") == [words - 1]
    assert len(in_files(tmp_path, "auxiliary.idx", "_rowid")) == LARGE
    assert indexes(table).keys() == SEARCH_INDEXES
