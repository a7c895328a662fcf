"""What a read waits for: its namespace's writes, each once, and never less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog import own_writes
from mnemolog.own_writes import OwnWrites
from mnemolog.schemas.positions import Position

NAMESPACES = [("a",), ("b",), ("c",), ("d",)]
positions = st.builds(Position, st.sampled_from(["x", "y"]), st.integers(0, 1), st.integers(0, 9))
steps = st.lists(
    st.tuples(st.sampled_from([*NAMESPACES, None]), st.lists(positions, max_size=3)), max_size=12
)


@examples(100)
@given(steps, st.sampled_from(NAMESPACES))
def test_a_read_waits_for_all_of_its_own_and_then_for_nothing(
    made: list[tuple[tuple[str, ...] | None, list[Position]]], reader: tuple[str, ...]
) -> None:
    written = OwnWrites()
    for namespace, given_positions in made:
        written.add(given_positions, namespace)
    due = written.of(reader)
    own = [at for namespace, some in made if namespace in (reader, None) for at in some]
    assert set(due) == {max(at for at in own if at[:2] == place) for place in {at[:2] for at in own}}
    for position in due:
        written.shown(position, reader)
    assert written.of(reader) == []


def test_what_comes_during_a_wait_is_waited_for_too() -> None:
    written = OwnWrites()
    written.add([Position("x", 0, 1)], ("a",))
    (first,) = written.of(("a",))
    written.add([Position("x", 0, 2)], ("a",))
    written.shown(first, ("a",))
    assert written.of(("a",)) == [Position("x", 0, 2)]


def test_many_namespaces_take_bounded_room_and_nothing_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_writes, "MAX_NAMESPACES", 10)
    written = OwnWrites()
    for number in range(35):
        written.add([Position("x", number % 3, number)], (f"n{number}",))
    assert len(written._by_namespace) <= 10
    for number in range(35):
        due = {at.partition: at.offset for at in written.of((f"n{number}",))}
        assert due[number % 3] >= number
