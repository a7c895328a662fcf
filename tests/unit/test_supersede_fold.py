"""Keys and successors in the memories fold: one memory a key is active, whatever is forgotten."""

from __future__ import annotations

from itertools import pairwise

import pytest
from support.folding import ALICE, BOB, View, forget, given, remember, supersede


def test_a_newer_memory_of_a_key_supersedes_the_older() -> None:
    view = given(remember("a", "tea", key="drink"), remember("b", "coffee", key="drink"))
    assert view.active() == {"b"}
    assert view.live() == {"a", "b"}
    assert (view["a"]["superseded_by"], view["a"]["slot"]) == ("b", None)
    assert view.slot_holders("drink") == ["b"]


def test_keys_of_other_namespaces_and_other_keys_are_untouched() -> None:
    view = given(remember("a", "tea", key="drink"), remember("b", "x", key="drink", namespace=BOB))
    view.when(remember("c", "y", key="food"))
    assert view.active(ALICE) == {"a", "c"}
    assert view.active(BOB) == {"b"}


def chain() -> View:
    return given(*(remember(name, f"text {name}", key="k") for name in "abc"))


def test_a_chain_has_one_active_memory() -> None:
    view = chain()
    assert view.active() == {"c"}
    assert [view[name]["superseded_by"] for name in "abc"] == ["b", "c", None]


def test_forgetting_the_newest_of_a_key_brings_the_older_back() -> None:
    view = chain()
    view.when(forget("c"))
    assert view.active() == {"b"}
    assert view.found_by_key("k") == ["b"]
    view.when(remember("d", "text d", key="k"))
    assert view.active() == {"d"}
    assert view["b"]["superseded_by"] == "d"
    assert view["a"]["superseded_by"] == "b"


def test_forgetting_the_middle_relinks() -> None:
    view = chain()
    view.when(forget("b"))
    assert view.active() == {"c"}
    assert view["a"]["superseded_by"] == "c"
    view.when(forget("c"))
    assert view.active() == {"a"}


def test_forgetting_the_newest_two_at_once_brings_the_oldest_back() -> None:
    view = chain()
    view.when(forget("c", "b"))
    assert view.active() == {"a"}
    assert view.slot_holders("k") == ["a"]


def test_forgetting_all_of_a_chain_leaves_nothing() -> None:
    view = chain()
    view.when(forget("a", "b", "c"))
    assert view.live() == set()
    assert view.slot_holders("k") == []


def test_a_b_a_makes_the_first_active_again_without_a_cycle() -> None:
    a, b = remember("a", "A", key="k"), remember("b", "B", key="k")
    view = given(a, b, remember("a", "A", key="k", touch=True))
    assert view.active() == {"a"}
    assert (view["a"]["successor"], view["b"]["superseded_by"]) == (None, "a")
    view.when(remember("b", "B", key="k", touch=True))
    assert view.active() == {"b"}
    view.when(forget("b"))
    assert view.active() == {"a"}
    assert view.found_by_key("k") == ["a"]


def test_a_replayed_source_leaves_the_same_memory_active() -> None:
    """M25: an ingest file loaded twice."""
    names = ["a", "b", "a", "c"]
    view = given(*(remember(name, name, key="k", touch=True) for name in names * 2))
    assert view.active() == {"c"}


def test_a_memory_that_is_put_under_another_key_leaves_the_old_one() -> None:
    view = given(remember("m", "a", key="k"), remember("m", "b", key="l"))
    assert view.slot_holders("k") == []
    assert view.slot_holders("l") == ["m"]
    view.when(remember("n", "c", key="k"))
    assert view.active() == {"m", "n"}


def test_an_explicit_supersede_keeps_the_older_as_history() -> None:
    view = given(remember("a", "A"), remember("b", "B"), supersede("a", "b", reason="newer"))
    assert view.active() == {"b"}
    assert view["a"]["superseded_by"] == "b"
    assert view["a"]["text"] == "A"
    assert view["a"]["history"][-1]["reason"] == "newer"


def test_forgetting_the_successor_of_an_explicit_supersede_brings_the_older_back() -> None:
    view = given(remember("a", "A", key="k"), remember("b", "B"), supersede("a", "b"), forget("b"))
    assert view.active() == {"a"}
    assert view.found_by_key("k") == ["a"]
    assert view.slot_holders("k") == ["a"]


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_a_cycle_is_refused(length: int) -> None:
    names = [f"m{at}" for at in range(length)]
    links = [supersede(old, new) for old, new in pairwise(names)]
    view = given(*(remember(name, name) for name in names), *links)
    view.unchanged_by(supersede(names[-1], names[0]))
    assert view.active() == {names[-1]}


def test_a_supersede_by_an_unknown_or_forgotten_memory_changes_nothing() -> None:
    view = given(remember("a", "A"), remember("b", "B"), forget("b"))
    view.unchanged_by(supersede("a", "b"), supersede("a", "nobody"), supersede("nobody", "a"))


def test_a_supersede_does_not_reach_into_another_namespace() -> None:
    view = given(remember("a", "A"), remember("b", "B", namespace=BOB))
    view.unchanged_by(supersede("a", "b"))


def test_two_memories_may_have_one_successor() -> None:
    view = given(remember("a", "A"), remember("b", "B"), remember("c", "C"))
    view.when(supersede("a", "c"), supersede("b", "c"))
    assert view.active() == {"c"}
    view.when(forget("c"))
    assert view.active() == {"a", "b"}


def test_one_memory_a_key_is_active_when_the_successor_of_an_older_one_is_forgotten() -> None:
    """`a` left its key by an explicit supersede, `w` took it: `a` must not come back beside it."""
    view = given(
        remember("a", "A", key="k"), remember("z", "Z"), supersede("a", "z"), remember("w", "W", key="k")
    )
    view.when(forget("z"))
    assert view.found_by_key("k") == ["w"]
    assert view.slot_holders("k") == ["w"]
    assert view["a"]["superseded_by"] == "w"


def test_one_memory_a_key_is_active_when_two_of_it_lose_their_successor_at_once() -> None:
    view = given(remember("a", "A", key="k"), remember("z", "Z"), supersede("a", "z"))
    view.when(remember("b", "B", key="k"), supersede("b", "z"))
    view.when(forget("z"))
    assert view.found_by_key("k") == ["b"]
    assert view["a"]["superseded_by"] == "b"
    view.when(forget("b"))
    assert view.found_by_key("k") == ["a"]
