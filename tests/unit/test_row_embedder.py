"""Vectors for rows from an embedder that fails: a bad text costs only itself, one that is down only time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.folding import remember, stored
from support.properties import examples
from support.tables import row

from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.embedding import Backoff, RowEmbedder
from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.processors.materialize import FILL_BATCH, ShardWriter
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.memory_table import MemoryTable


class Moody:
    """An embedder that fails on texts with "poison" in them, and on everything while it is down."""

    name, dim = "moody", 8

    def __init__(self) -> None:
        self.down = False
        self.calls: list[int] = []
        self._inner = HashingEmbedder(8)

    def embed(self, texts: Sequence[str]) -> Any:
        """See `Embedder.embed`."""
        self.calls.append(len(texts))
        if self.down or any("poison" in text for text in texts):
            raise ConnectionError("no answer" if self.down else "poison")
        return self._inner.embed(texts)


def texts(rows: list[Row], there: bool) -> list[str]:
    return [one["text"] for one in rows if (one["vector"] is not None) is there]


def rows_of(given_texts: Sequence[str]) -> list[Row]:
    return [row(str(at), text=text) for at, text in enumerate(given_texts)]


@examples(60)
@given(bad=st.lists(st.booleans(), max_size=40))
def test_only_the_texts_to_blame_go_without(bad: list[bool]) -> None:
    given_texts = [f"poison {at}" if is_bad else f"good {at}" for at, is_bad in enumerate(bad)]
    embedder = Moody()
    done = RowEmbedder(embedder).embed(rows_of(given_texts))
    assert [one["text"] for one in done] == given_texts
    assert texts(done, False) == [text for text in given_texts if "poison" in text]
    for one in done:
        assert one["embed_error"] == ("ConnectionError: poison" if "poison" in one["text"] else None)
        if one["vector"] is not None:
            assert (one["vector"] == HashingEmbedder(8).embed([one["text"]])[0]).all()


def test_finding_one_bad_text_among_many_takes_few_calls() -> None:
    embedder = Moody()
    RowEmbedder(embedder).embed(rows_of([*(f"good {at}" for at in range(511)), "poison"]))
    assert len(embedder.calls) <= 4 * 9 + 2


def test_an_embedder_that_is_down_is_asked_no_more_until_it_answers() -> None:
    embedder = Moody()
    rows = RowEmbedder(embedder)
    embedder.down = True
    assert texts(rows.embed(rows_of(["a", "b"])), False) == ["a", "b"]
    assert rows.down
    asked = len(embedder.calls)
    assert texts(rows.embed(rows_of(["c"])), False) == ["c"]
    assert len(embedder.calls) == asked
    assert texts(rows.retry(rows_of(["c"])), False) == ["c"]
    embedder.down = False
    assert texts(rows.retry(rows_of(["c"])), True) == ["c"]
    assert not rows.down


@pytest.mark.parametrize(
    "answer", [np.zeros((1, 8)), np.zeros((2, 7)), np.zeros(8), [[0.0] * 8] * 2, None, "vectors"]
)
def test_an_answer_that_is_no_vector_a_text_is_a_failure(answer: Any) -> None:
    class Wrong(Moody):
        def embed(self, texts: Sequence[str]) -> Any:
            return answer if len(texts) == 2 else super().embed(texts)

    done = RowEmbedder(Wrong()).embed(rows_of(["a", "b"]))
    assert texts(done, True) == ["a", "b"], "asked one by one it answers well"


def test_no_rows_ask_nothing() -> None:
    embedder = Moody()
    assert RowEmbedder(embedder).embed([]) == []
    assert embedder.calls == []


def written(embedder: Moody, given_texts: Sequence[str]) -> tuple[ShardWriter, MemoryTable]:
    table = MemoryTable()
    writer = ShardWriter([(MemoriesFold(), table)], RowEmbedder(embedder), lambda rejected: None)
    events = [remember(f"m{at:04d}", text) for at, text in enumerate(given_texts)]
    writer.apply(MEMORIES, [stored(event, at, MEMORIES) for at, event in enumerate(events)])
    return writer, table


def test_rows_are_applied_while_the_embedder_is_down_and_filled_when_it_is_back() -> None:
    embedder = Moody()
    embedder.down = True
    writer, table = written(embedder, [f"text {at}" for at in range(FILL_BATCH + 20)])
    assert table.applied() == FILL_BATCH + 20
    assert writer.lacks_vectors
    assert writer.fill_pending() == (0, FILL_BATCH)
    embedder.down = False
    done = [writer.fill_pending() for _ in range(4)]
    assert sum(filled for filled, _ in done) == FILL_BATCH + 20
    assert table.pending(1) == []
    assert not writer.lacks_vectors


def test_texts_that_never_get_a_vector_do_not_starve_the_others() -> None:
    embedder = Moody()
    embedder.down = True
    bad = [f"poison {at}" for at in range(FILL_BATCH + 50)]
    writer, table = written(embedder, [*bad, *(f"good {at}" for at in range(30))])
    embedder.down = False
    for _ in range(6):
        writer.fill_pending()
    assert all("poison" in one["text"] for one in table.pending(10_000))
    assert len(table.pending(10_000)) == len(bad)


def test_a_look_between_the_failure_and_the_commit_forgets_no_row() -> None:
    class LookedAt(MemoryTable):
        def commit(self, rows: Sequence[Row], through: int) -> None:
            writer.fill_pending()
            super().commit(rows, through)

    embedder = Moody()
    embedder.down = True
    table = LookedAt()
    writer = ShardWriter([(MemoriesFold(), table)], RowEmbedder(embedder), lambda rejected: None)
    writer.apply(MEMORIES, [stored(remember("m", "text"), 0, MEMORIES)])
    embedder.down = False
    assert writer.lacks_vectors
    assert writer.fill_pending() == (1, 0)


def test_a_look_that_fails_looks_again() -> None:
    class Shaky(MemoryTable):
        broken = True

        def pending(self, limit: int, offset: int = 0) -> list[Row]:
            if self.broken:
                raise ViewError("not now")
            return super().pending(limit, offset)

    embedder = Moody()
    embedder.down = True
    table = Shaky()
    writer = ShardWriter([(MemoriesFold(), table)], RowEmbedder(embedder), lambda rejected: None)
    writer.apply(MEMORIES, [stored(remember("m", "text"), 0, MEMORIES)])
    embedder.down = False
    with pytest.raises(ViewError):
        writer.fill_pending()
    table.broken = False
    assert writer.lacks_vectors
    assert writer.fill_pending() == (1, 0)


def test_an_embedder_switched_off_fills_nothing() -> None:
    table = MemoryTable()
    writer = ShardWriter([(MemoriesFold(), table)], None, lambda rejected: None)
    writer.apply(MEMORIES, [stored(remember("m", "text"), 0, MEMORIES)])
    assert writer.fill_pending() == (0, 0)
    assert not writer.lacks_vectors


def test_pauses_double_up_to_the_longest_and_end_with_success() -> None:
    now = [0.0]
    backoff = Backoff(lambda: now[0], longest=3.0)
    pauses = []
    for _ in range(5):
        assert backoff.due
        backoff.failed()
        pauses.append(backoff.pause)
        assert not backoff.due
        now[0] += backoff.pause
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.succeeded()
    assert backoff.due
    assert backoff.pause == 0
