"""Which namespaces hold memories is the same whether it was asked after each commit or once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples
from support.tables import NOON, lance_handle, row

from mnemolog.query.held_namespaces import HeldNamespaces

CHANGES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.sampled_from(["live", "deleted", "expires"])),
    min_size=1,
    max_size=8,
)


@examples(15)
@given(changes=CHANGES, asked=st.sets(st.integers(0, 8)))
def test_what_changed_is_all_that_needs_a_look(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int, str]], asked: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("held")
    table, held = lance_handle(folder), HeldNamespaces()
    for offset, (name, number, fate) in enumerate(changes):
        ends = NOON + timedelta(hours=1) if fate == "expires" else None
        changed = row(f"{name}{number}", offset, namespace=name, deleted=fate == "deleted", expires_at=ends)
        table.commit([changed], offset)
        if offset in asked:
            held.at(NOON, "g1", {0: table})
    for now in (NOON, NOON + timedelta(hours=2)):
        assert held.at(now, "g1", {0: table}) == HeldNamespaces().at(now, "g1", {0: table})
    last = {(name, number): fate for name, number, fate in changes}
    assert held.at(NOON, "g1", {0: table}) == {name for (name, _), fate in last.items() if fate != "deleted"}
    later = {name for (name, _), fate in last.items() if fate == "live"}
    assert held.at(NOON + timedelta(hours=2), "g1", {0: table}) == later


def test_another_generation_is_looked_at_anew(tmp_path: Path) -> None:
    one, other, held = lance_handle(tmp_path / "1"), lance_handle(tmp_path / "2"), HeldNamespaces()
    one.commit([row("m", 0, namespace="a")], 0)
    other.commit([row("m", 0, namespace="b")], 0)
    assert held.at(NOON, "g1", {0: one}) == {"a"}
    assert held.at(NOON, "g2", {0: other}) == {"b"}
    assert held.at(NOON, "g2", {0: other, 1: one}) == {"a", "b"}
