"""What every view table keeps. One suite, run on the table in memory and on a real LanceDB table."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.filtering import STRINGS, rows
from support.folding import snapshot
from support.properties import examples
from support.tables import DIM, KINDS, OpenTable, lance_handle, opener, pks, row

from mnemolog.schemas.ports import ViewTable
from mnemolog.schemas.rows import Row, usage_schema
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.table import LanceTable, connect_shard


@pytest.fixture(scope="module", params=KINDS)
def open_table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OpenTable:
    """Makes one more empty table."""
    return opener(request.param, tmp_path_factory.mktemp("shard"))


@pytest.fixture
def table(open_table: OpenTable) -> ViewTable:
    return open_table()


def vector(*values: float) -> Any:
    return np.resize(np.array(values or [1.0], dtype=np.float32), DIM)


# ---- commit


def test_an_empty_table_has_applied_nothing(table: ViewTable) -> None:
    assert table.applied() == 0
    assert list(table.scan()) == table.lookup("pk", ["a"]) == table.select("acme") == table.pending(10) == []


def test_rows_and_offset_are_committed_together(table: ViewTable) -> None:
    table.commit([row("a", 3), row("b", 4)], 6)
    assert table.applied() == 7
    assert snapshot(table.scan()) == snapshot([row("a", 3), row("b", 4)])


def test_a_batch_that_changed_nothing_still_counts(table: ViewTable) -> None:
    table.commit([], 41)
    assert table.applied() == 42
    assert list(table.scan()) == []


def test_a_newer_row_takes_the_place_of_the_older_with_all_its_columns(table: ViewTable) -> None:
    table.commit([row("a", 1, author="Al", vector=vector(1, 2))], 1)
    table.commit([row("a", 2, tags=[], importance=None)], 2)
    assert snapshot(table.scan()) == snapshot([row("a", 2, tags=[], importance=None)])


def test_a_stale_writer_changes_nothing(table: ViewTable) -> None:
    table.commit([row("a", 5, text="new"), row("b", 6)], 6)
    before = snapshot(table.scan())
    table.commit([row("a", 4, text="old"), row("b", 6, text="other")], 6)
    table.commit([row("a", 5, text="other")], 3)
    assert snapshot(table.scan()) == before
    assert table.applied() == 7


def test_the_offset_never_steps_back_in_the_eyes_of_its_writer(table: ViewTable) -> None:
    for offset, applied in [(6, 7), (3, 7), (7, 8), (7, 8), (0, 8), (20, 21)]:
        table.applied()
        table.commit([], offset)
        assert table.applied() == applied


def test_a_stale_writer_still_adds_no_row_twice(table: ViewTable) -> None:
    for _ in range(3):
        table.commit([row("a", 1), row("b", 2)], 2)
    assert pks(table.scan()) == ["a", "b"]


def test_a_tombstone_stays_and_is_not_selected(table: ViewTable) -> None:
    table.commit([row("a", 1), row("b", 1)], 1)
    table.commit([row("a", 2, deleted=True, text=None, tags=None, metadata=None)], 2)
    assert pks(table.select("acme")) == ["b"]
    assert pks(table.scan()) == pks(table.lookup("pk", ["a", "b"])) == ["a", "b"]


def test_what_another_handle_committed_is_seen_at_once(tmp_path: Path) -> None:
    first, second = lance_handle(tmp_path), lance_handle(tmp_path)
    for offset in range(6):
        writer, reader = (first, second) if offset % 2 else (second, first)
        writer.commit([row("a", offset, text=str(offset)), row(f"b{offset}", offset)], offset)
        assert reader.applied() == offset + 1
        assert reader.lookup("pk", ["a"])[0]["text"] == str(offset)
    assert pks(first.scan()) == ["a", *(f"b{offset}" for offset in range(6))]


def test_what_was_not_there_is_looked_for_again_once_another_handle_has_written(tmp_path: Path) -> None:
    one, other = lance_handle(tmp_path), lance_handle(tmp_path)
    one.commit([row("a", 0)], 0)
    for offset in range(1, 4):
        new = f"n{offset}"
        assert one.lookup("pk", ["a", new]) == one.lookup("pk", ["a"])
        assert one.lookup("slot", [f"of {new}"]) == []
        other.commit([row(new, offset, slot=f"of {new}")], offset)
        assert len(one.lookup("pk", ["a", new])) == 2
        assert [found["pk"] for found in one.lookup("slot", [f"of {new}"])] == [new]
    one.commit([row("b", 4, slot="of b")], 4)
    assert sorted(found["pk"] for found in one.lookup("pk", ["b", "n1", "none"])) == ["b", "n1"]
    assert [found["pk"] for found in one.lookup("slot", ["of b", "none"])] == ["b"]


def test_two_partitions_marks_do_not_meet(tmp_path: Path) -> None:
    first, second = lance_handle(tmp_path, 1), lance_handle(tmp_path, 11)
    first.commit([], 7)
    assert (first.applied(), second.applied()) == (8, 0)


# ---- late vectors


def test_pending_gives_live_rows_without_a_vector(table: ViewTable) -> None:
    table.commit([row("a"), row("b", vector=vector(1)), row("c", deleted=True), row("d")], 0)
    assert pks(table.pending(10)) == ["a", "d"]
    assert len(table.pending(1)) == 1
    assert pks(table.pending(1) + table.pending(10, 1)) == ["a", "d"]
    assert table.pending(10, 2) == []


def test_a_late_vector_is_written_and_the_offset_stays(table: ViewTable) -> None:
    table.commit([row("a", 3), row("b", 4)], 5)
    table.fill([row("a", 3, vector=vector(1, 2), embed_error=None)])
    assert table.applied() == 6
    assert pks(table.pending(10)) == ["b"]
    assert (table.lookup("pk", ["a"])[0]["vector"] == vector(1, 2)).all()


def test_a_late_vector_of_a_row_that_changed_meanwhile_is_dropped(table: ViewTable) -> None:
    table.commit([row("a", 3)], 3)
    late = table.pending(10)
    table.commit([row("a", 4, text="new")], 4)
    table.fill([{**one, "vector": vector(1)} for one in late])
    assert table.lookup("pk", ["a"])[0]["text"] == "new"
    assert pks(table.pending(10)) == ["a"]


def test_a_late_vector_does_not_bring_back_what_was_forgotten(table: ViewTable) -> None:
    table.commit([row("a", 3)], 3)
    late = table.pending(10)
    table.commit([row("a", 4, deleted=True, text=None)], 4)
    table.fill([{**one, "vector": vector(1)} for one in late])
    assert table.select("acme") == []


def test_a_filled_row_changes_again(table: ViewTable) -> None:
    table.commit([row("a", 3)], 3)
    table.fill([row("a", 3, vector=vector(1))])
    table.commit([row("a", 4, text="new")], 4)
    assert table.lookup("pk", ["a"])[0]["text"] == "new"


def test_every_fill_of_any_handle_has_a_higher_number(tmp_path: Path) -> None:
    """A reader follows `_fill > n`: a number given twice would hide a vector from it."""
    seen: list[int] = []
    for at in range(6):
        table = lance_handle(tmp_path)
        table.commit([row(f"a{at}", at)], at)
        table.fill([row(f"a{at}", at, vector=vector(1))])
        seen.append(table.lookup("pk", [f"a{at}"])[0]["_fill"])
    assert seen == sorted(set(seen))


# ---- vectors


@examples(25)
@given(
    values=st.lists(st.lists(st.floats(width=32, allow_nan=False), min_size=DIM, max_size=DIM), max_size=5)
)
def test_vectors_come_back_bit_equal(open_table: OpenTable, values: list[list[float]]) -> None:
    table = open_table()
    given_rows = [row(str(at), vector=np.array(one, dtype=np.float32)) for at, one in enumerate(values)]
    given_rows.append(row("none"))
    table.commit(given_rows, 0)
    assert snapshot(table.scan()) == snapshot(given_rows)


def test_a_vector_that_is_not_finite_costs_no_other_row(open_table: OpenTable) -> None:
    table = open_table()
    bad = vector(1)
    bad[3] = np.nan
    table.commit([row("a", vector=vector(2)), row("b", vector=bad), row("c")], 0)
    assert pks(table.scan()) == ["a", "b", "c"]
    assert (table.lookup("pk", ["a"])[0]["vector"] == vector(2)).all()
    assert table.applied() == 1


# ---- every column


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_any_time_comes_back(table: ViewTable, moment: datetime) -> None:
    table.commit([row("a", occurred_at=moment, expires_at=moment)], 0)
    (found,) = table.scan()
    assert found["occurred_at"] == found["expires_at"] == moment


@examples(30)
@given(given_rows=st.lists(st.integers(), min_size=1, max_size=4).flatmap(
    lambda numbers: st.tuples(*(rows(f"pk{at}") for at in range(len(numbers))))
))  # fmt: skip
def test_any_row_comes_back(open_table: OpenTable, given_rows: tuple[Row, ...]) -> None:
    table = open_table()
    table.commit(given_rows, 1)
    assert snapshot(table.scan()) == snapshot(given_rows)
    assert snapshot(table.lookup("pk", [one["pk"] for one in given_rows])) == snapshot(given_rows)


# ---- lookup


@pytest.mark.parametrize("column", ["pk", "id", "slot", "successor", "namespace"])
def test_lookup_by_any_column_gives_exactly_the_rows_that_have_the_value(
    table: ViewTable, column: str
) -> None:
    """L9: quotes, wildcards and the words of a query language are only themselves."""
    given_rows = [{**row(f"row{at}"), column: value} for at, value in enumerate(STRINGS)]
    table.commit(given_rows, 0)
    for one in given_rows:
        assert pks(table.lookup(column, [one[column]])) == [one["pk"]]
    assert pks(table.lookup(column, STRINGS[:3])) == pks(given_rows[:3])
    assert table.lookup(column, ["x' OR 1=1 --"]) == table.lookup(column, []) == []


def test_lookup_of_thousands(table: ViewTable) -> None:
    table.commit([row(f"r{at}") for at in range(2_500)], 0)
    assert len(table.lookup("pk", [f"r{at}" for at in range(4_000)])) == 2_500


def test_a_null_is_found_by_no_value(table: ViewTable) -> None:
    table.commit([row("a"), row("b", slot="s")], 0)
    assert pks(table.lookup("slot", ["s", "None", ""])) == ["b"]


def test_the_usage_view_is_kept_by_the_same_table(tmp_path: Path) -> None:
    table = LanceTable.create(connect_shard(tmp_path), "usage", usage_schema(), MEMORIES, 0)
    one = {"pk": "a", "namespace": "acme", "deleted": False, "_off": 2, "_fill": 0, "use_count": 3}
    table.commit([one], 2)
    assert snapshot(table.scan()) == snapshot([one])
