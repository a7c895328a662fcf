"""The digest of a view: order, bookkeeping and noise do not count, content does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.processors.digest import Digest, digest_rows
from mnemolog.schemas.rows import Row, memories_schema
from mnemolog.storage.arrow import from_arrow, to_arrow

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def row(number: int, **changes: Any) -> Row:
    plain: Row = {
        "pk": f"acme|{number}",
        "namespace": "acme",
        "deleted": False,
        "_off": number,
        "_fill": 0,
        "id": str(number),
        "text": f"text {number}",
        "tags": ["a", "b"],
        "importance": 0.25,
        "occurred_at": NOON,
        "history": [
            {
                "event_id": "e",
                "type": "MemoryRemembered",
                "occurred_at": NOON,
                "offset": number,
                "agent_id": None,
                "reason": None,
            }
        ],
        "vector": np.array([0.5, -0.25, 0.125], dtype=np.float32),
    }
    return plain | changes


def test_no_rows_have_a_digest_too() -> None:
    assert digest_rows([]) == Digest(0, 0, "0" * 64, "0" * 64)


@given(st.permutations(range(6)))
def test_the_order_of_rows_does_not_count(order: list[int]) -> None:
    assert digest_rows(row(number) for number in order) == digest_rows(row(number) for number in range(6))


def test_live_rows_and_tombstones_are_counted_apart() -> None:
    found = digest_rows([row(1), row(2), row(3, deleted=True, text=None, vector=None)])
    assert (found.live, found.tombstones) == (2, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"text": "other"},
        {"tags": ["b", "a"]},
        {"importance": 0.26},
        {"_off": 7},
        {"deleted": True},
        {"history": []},
        {"occurred_at": NOON + timedelta(microseconds=1)},
        {"superseded_by": "2"},
    ],
)
def test_every_change_of_content_changes_the_content_digest(change: dict[str, Any]) -> None:
    before, after = digest_rows([row(1)]), digest_rows([row(1, **change)])
    assert before.content != after.content
    assert before.vectors == after.vectors


@pytest.mark.parametrize("change", [{"_fill": 3}, {"embed_error": "TimeoutError: late"}])
def test_how_a_vector_came_does_not_count(change: dict[str, Any]) -> None:
    assert digest_rows([row(1)]) == digest_rows([row(1, **change)])


def test_a_duplicate_row_does_not_cancel_out() -> None:
    assert digest_rows([row(1), row(1)]).content != digest_rows([]).content
    assert digest_rows([row(1), row(1), row(2)]).content != digest_rows([row(2)]).content


def test_a_column_that_is_missing_counts_like_null() -> None:
    assert digest_rows([row(1)]) == digest_rows([row(1, author=None, metadata=None)])


def test_one_moment_in_two_time_zones_is_one_moment() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=5)))
    assert digest_rows([row(1)]) == digest_rows([row(1, occurred_at=there)])


def test_the_low_bits_of_vectors_do_not_count_and_the_high_ones_do() -> None:
    exact = np.array([0.3, -0.7, 0.0], dtype=np.float32)
    noisy = np.nextafter(exact, np.float32(1))
    noisy[2] = -0.0
    assert digest_rows([row(1, vector=exact)]) == digest_rows([row(1, vector=noisy)])
    assert digest_rows([row(1, vector=exact)]).vectors != digest_rows([row(1, vector=exact * 1.1)]).vectors


def test_a_missing_vector_shows_in_the_vectors_only() -> None:
    with_one, without = digest_rows([row(1)]), digest_rows([row(1, vector=None)])
    assert with_one.vectors != without.vectors
    assert with_one.content == without.content


def test_vectors_belong_to_their_rows() -> None:
    one, other = np.ones(3, dtype=np.float32), np.zeros(3, dtype=np.float32)
    straight = digest_rows([row(1, vector=one), row(2, vector=other)])
    crossed = digest_rows([row(1, vector=other), row(2, vector=one)])
    assert straight.vectors != crossed.vectors


def test_a_way_through_arrow_changes_nothing() -> None:
    rows = [row(number) for number in range(3)]
    assert digest_rows(from_arrow(to_arrow(rows, memories_schema(3)))) == digest_rows(rows)
