"""Which memories go when there are too many, and which say nearly the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.processors.reactors.capacity import Held, over_capacity, worth
from mnemolog.processors.reactors.near_duplicates import Text, near_duplicates

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 86_400.0


def held(memory_id: str, days: float = 0.0, importance: float | None = 0.5, **fields: Any) -> Held:
    """A memory that was last used `days` ago."""
    when = NOW - timedelta(days=days)
    return Held(memory_id, importance, when, when, **fields)


def test_nothing_goes_up_to_the_limit() -> None:
    memories = [held("a"), held("b")]
    assert over_capacity(memories, 2, NOW, DAY) == over_capacity(memories, 9, NOW, DAY) == []


def test_worth_is_the_mean_of_importance_and_recency() -> None:
    assert worth(held("a", days=1, importance=0.25), NOW, DAY) == pytest.approx((0.25 + 0.5) / 2)
    assert worth(held("a", days=-5, importance=None), NOW, DAY) == pytest.approx((0.5 + 1) / 2)


def test_the_least_important_and_longest_unused_go_first() -> None:
    memories = [held("new", 0, 0.5), held("old", 9, 0.5), held("vital", 9, 1.0), held("trivial", 0, 0.0)]
    assert over_capacity(memories, 1, NOW, 10 * DAY) == ["trivial", "old", "new"]


def test_what_is_over_goes_before_what_holds() -> None:
    memories = [
        held("fine", 99, 0.0),
        held("replaced", 0, 1.0, superseded=True),
        held("expired", 0, 1.0, expired=True),
    ]
    assert over_capacity(memories, 1, NOW, DAY) == ["expired", "replaced"]


def test_pinned_memories_count_and_stay() -> None:
    memories = [held("pinned", 99, 0.0, pinned=True), held("a", 1), held("b", 0)]
    assert over_capacity(memories, 2, NOW, DAY) == ["a"]
    assert over_capacity(memories, 1, NOW, DAY) == ["a", "b"]
    assert over_capacity([held(name, pinned=True) for name in "abc"], 1, NOW, DAY) == []


def test_of_equals_the_older_goes_and_then_the_order_is_fixed() -> None:
    same_use = [
        Held(name, 0.5, NOW, NOW - timedelta(days=age)) for name, age in (("b", 1), ("a", 1), ("c", 2))
    ]
    assert over_capacity(same_use, 1, NOW, DAY) == ["c", "a"]


MEMORIES = st.lists(
    st.builds(
        held,
        st.uuids().map(str),
        st.floats(0, 100),
        st.none() | st.floats(0, 1),
        pinned=st.booleans(),
        superseded=st.booleans(),
        expired=st.booleans(),
    ),
    max_size=12,
)


@examples(80)
@given(memories=MEMORIES, limit=st.integers(1, 8))
def test_after_it_no_more_than_the_limit_are_left_but_for_the_pinned(
    memories: list[Held], limit: int
) -> None:
    gone = set(over_capacity(memories, limit, NOW, DAY))
    pinned = {one.id for one in memories if one.pinned}
    assert len(memories) - len(gone) == max(min(len(memories), limit), len(pinned))
    assert not gone & pinned
    kept = [one for one in memories if one.id not in gone and not one.pinned]
    lost = [one for one in memories if one.id in gone]
    for one in lost:
        for other in kept:
            if (one.expired, one.superseded) == (other.expired, other.superseded):
                assert worth(one, NOW, DAY) <= worth(other, NOW, DAY)


def unit(*angles: float) -> Any:
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], dtype=np.float32)


def text(memory_id: str, *, kind: str = "note", replaceable: bool = True, fresh: bool = True) -> Text:
    return Text(memory_id, kind, replaceable, fresh)


def pairs(texts: list[Text], vectors: Any, threshold: float = 0.99) -> list[tuple[str, str]]:
    return [(one.older, one.newer) for one in near_duplicates(texts, vectors, threshold)]


def test_the_older_of_two_that_are_alike_goes() -> None:
    assert pairs([text("a"), text("b"), text("c")], unit(0, 1, 0.01)) == [("a", "c")]


def test_what_was_compared_before_is_not_compared_again() -> None:
    old = [text(name, fresh=False) for name in "ab"]
    assert pairs(old, unit(0, 0)) == []
    assert pairs([*old, text("c")], unit(0, 0, 1.5)) == []


def test_an_older_one_that_changed_is_compared_with_newer_ones() -> None:
    assert pairs([text("a"), text("b", fresh=False)], unit(0, 0)) == [("a", "b")]


def test_what_may_not_be_replaced_stays_and_kinds_are_apart() -> None:
    assert pairs([text("a", replaceable=False), text("b")], unit(0, 0)) == []
    assert pairs([text("a", kind="fact"), text("b")], unit(0, 0)) == []


def test_many_alike_leave_the_newest_and_none_is_replaced_by_one_that_is_gone() -> None:
    found = pairs([text(name) for name in "abcd"], unit(0, 0, 0, 0))
    assert sorted(older for older, _ in found) == ["a", "b", "c"]
    assert _in_order(found)


def _in_order(found: list[tuple[str, str]]) -> bool:
    """Whoever replaces another one is replaced later, if at all."""
    gone: set[str] = set()
    for older, newer in found:
        if newer in gone:
            return False
        gone.add(older)
    return True
