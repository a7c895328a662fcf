"""A writer keeps the rows that it wrote last, and no longer than the table stays as it left it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pytest
from support.folding import ALICE, remember, stored, update
from support.tables import KINDS, lance_handle

from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.embedding import RowEmbedder
from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.processors.kept_rows import KeptRows
from mnemolog.processors.materialize import ShardWriter
from mnemolog.schemas.events import Event
from mnemolog.schemas.ports import ViewTable
from mnemolog.schemas.rows import Row, memory_pk
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.memory_table import MemoryTable

PK = memory_pk(ALICE, "a")
Handles = Callable[[], ViewTable]


@pytest.fixture(params=KINDS)
def handles(request: pytest.FixtureRequest, tmp_path: Path) -> Handles:
    """Handles on one empty table."""
    shared = MemoryTable()
    return (lambda: shared) if request.param == "memory" else (lambda: lance_handle(tmp_path))


def apply(writer: ShardWriter, offset: int, *events: Event) -> None:
    writer.apply(MEMORIES, [stored(event, offset + at, MEMORIES) for at, event in enumerate(events)])


def writer_of(table: ViewTable, keeps: int = 10) -> ShardWriter:
    embedder = RowEmbedder(HashingEmbedder(8))
    return ShardWriter([(MemoriesFold(), table)], embedder, lambda rejected: None, keeps=keeps)


class Asked(MemoryTable):
    """A table that notes which keys were looked up in it."""

    def __init__(self) -> None:
        super().__init__()
        self.pks: list[str] = []

    def lookup(self, column: str, values: Collection[str]) -> list[Row]:
        """See `MemoryTable.lookup`."""
        self.pks += values if column == "pk" else []
        return super().lookup(column, values)


def test_what_was_written_last_is_not_looked_up() -> None:
    table = Asked()
    writer = writer_of(table)
    for offset, event in enumerate([remember("a", "x"), update("a", kind="b"), update("a", kind="c")]):
        apply(writer, offset, event)
    assert table.pks.count(PK) == 1
    assert table.lookup("pk", [PK])[0]["kind"] == "c"


def test_what_was_let_go_is_looked_up() -> None:
    table = Asked()
    writer = writer_of(table)
    apply(writer, 0, remember("a", "x"))
    writer.let_go()
    apply(writer, 1, update("a", kind="b"))
    assert table.pks.count(PK) == 2


def test_lance_too_keeps_what_was_written_last(tmp_path: Path) -> None:
    table = lance_handle(tmp_path)
    for count in range(1, 4):
        before = table.revision()
        table.commit([], count)
        assert table.revision() == before + 1, "a commit is one revision, or nothing would ever be kept"


def test_what_another_writer_wrote_meanwhile_is_seen(handles: Handles) -> None:
    one, other = writer_of(handles()), writer_of(handles())
    apply(one, 0, remember("a", "first"))
    apply(other, 1, update("a", text="second"))
    apply(one, 2, update("a", kind="b"))
    apply(other, 3, update("a", author="Al"))
    row = handles().lookup("pk", [PK])[0]
    assert (row["text"], row["kind"], row["author"]) == ("second", "b", "Al")
    assert [change["offset"] for change in row["history"]] == [0, 1, 2, 3]


def test_a_vector_that_came_late_stays(handles: Handles) -> None:
    table = handles()
    late = ShardWriter([(MemoriesFold(), table)], None, lambda rejected: None)
    apply(late, 0, remember("a", "text"))
    assert writer_of(handles()).fill_pending() == (1, 0)
    apply(late, 1, update("a", kind="b"))
    row = handles().lookup("pk", [PK])[0]
    assert row["kind"] == "b"
    assert np.array_equal(row["vector"], HashingEmbedder(8).embed(["text"])[0])


def test_the_rows_that_were_written_longest_ago_give_way() -> None:
    kept = KeptRows(2)
    kept.keep([{"pk": "a"}, {"pk": "b"}], 1)
    kept.keep([{"pk": "a", "n": 1}, {"pk": "c"}], 2)
    kept.at(2)
    assert kept.among(["a", "b", "c"]) == [{"pk": "a", "n": 1}, {"pk": "c"}]
    kept.at(3)
    assert kept.among(["a", "c"]) == []


def test_long_texts_count_for_more() -> None:
    kept = KeptRows(10)
    kept.keep([{"pk": f"{number}", "text": "x" * 60_000} for number in range(5)], 1)
    assert kept.among([str(number) for number in range(5)]) == []
    kept.keep([{"pk": f"s{number}", "text": "short"} for number in range(20)], 2)
    assert len(kept.among([f"s{number}" for number in range(20)])) == 10
