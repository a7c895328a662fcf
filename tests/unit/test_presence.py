"""What a table may hold: whatever it holds is found, whatever else was asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog.storage.presence import Presence

VALUES = st.text(max_size=4)


@examples(60)
@given(parts=st.lists(st.lists(VALUES | st.none() | st.lists(VALUES, max_size=3))), asked=st.lists(VALUES))
def test_what_a_column_holds_is_always_possible(
    parts: list[list[str | list[str] | None]], asked: list[str]
) -> None:
    presence = Presence()
    presence.at(0)
    presence.learn("key", parts[:1])
    for number, part in enumerate(parts[1:], 1):
        presence.add([{"key": value} for value in part], number)
    flat = {
        one for part in parts for value in part for one in (value if isinstance(value, list) else [value])
    }
    assert flat - {None} <= set(presence.possible("key", [*asked, *(one for one in flat if one is not None)]))


@pytest.mark.parametrize("count", [0, 1, 4_096, 30_000])
def test_nearly_all_that_is_new_is_told_apart_however_much_there_is(count: int) -> None:
    presence = Presence()
    presence.learn(
        "pk", [[f"m{number}" for number in range(at, min(at + 500, count))] for at in range(0, count, 500)]
    )
    new = [f"n{number}" for number in range(10_000)]
    assert len(presence.possible("pk", new)) < 200


def test_what_another_writer_may_have_written_is_not_known() -> None:
    presence = Presence()
    presence.at(3)
    presence.learn("pk", [["a"]])
    presence.add([{"pk": "b"}], 4)
    presence.at(4)
    assert presence.knows("pk")
    presence.at(5)
    assert not presence.knows("pk")


def test_a_column_is_read_once_as_many_values_were_looked_for_as_there_are_rows() -> None:
    presence = Presence()
    assert presence.ask("pk", 1, 0)
    assert not presence.ask("pk", 60, 100)
    assert presence.ask("pk", 60, 100)
    assert not presence.ask("pk", 60, 100)
