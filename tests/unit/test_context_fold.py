"""The context fold: given events, then what each key holds."""

from __future__ import annotations

import json

from support.contexts import DAY, HOUR, counted, delete, delete_scope, entry, given_context, put, touch
from support.folding import BOB, View


def values(view: View) -> dict[str, object]:
    return {row["key"]: json.loads(row["value"]) for row in view.table.scan() if not row["deleted"]}


def test_a_set_makes_an_entry_with_all_it_says() -> None:
    row = entry(
        given_context(put("k", {"é": [1.0, None]}, origin="m", expires_at=HOUR, ttl_seconds=60.0)), "k"
    )
    assert row is not None
    assert (row["tier"], row["key"], row["value"]) == ("context", "k", '{"é":[1.0,null]}')
    assert (row["origin"], row["expires_at"], row["ttl_seconds"]) == ("m", HOUR, 60.0)


def test_the_last_set_holds() -> None:
    view = given_context(put("k", 1, expires_at=HOUR), put("k", 2))
    assert values(view) == {"k": 2}
    row = entry(view, "k")
    assert row is not None
    assert row["expires_at"] is None


def test_tiers_agents_threads_and_namespaces_are_places_of_their_own() -> None:
    view = given_context(
        put("k", 1),
        put("k", 2, tier="tool"),
        put("k", 3, agent_id="a"),
        put("k", 4, thread_id="a"),
        put("k", 5, agent_id="a|", thread_id=None),
        put("a|k", 6),
        put("k", 7, namespace=BOB),
    )
    assert len({row["pk"] for row in view.table.scan()}) == 7


def test_a_deleted_entry_is_a_tombstone_without_content() -> None:
    view = given_context(
        put("k", "secret", origin="m", expires_at=HOUR, agent_id="a"), delete("k", agent_id="a")
    )
    row = entry(view, "k", agent_id="a")
    assert row is not None
    assert {name for name, value in row.items() if value is not None} == {
        "pk", "namespace", "deleted", "_off", "_fill",
    }  # fmt: skip
    assert row["deleted"]


def test_deleting_what_is_not_there_makes_nothing() -> None:
    assert values(given_context(delete("k"), put("k", 1))) == {"k": 1}


def test_a_touch_moves_the_expiry_of_the_value_it_speaks_of() -> None:
    first = put("k", 1, expires_at=HOUR)
    row = entry(given_context(first, touch(first, DAY)), "k")
    assert row is not None
    assert (row["expires_at"], row["value"]) == (DAY, "1")


def test_a_touch_that_comes_late_changes_no_newer_value() -> None:
    first = put("k", 1, expires_at=HOUR)
    row = entry(given_context(first, put("k", 2), touch(first, HOUR)), "k")
    assert row is not None
    assert (row["expires_at"], row["value"]) == (None, "2")


def test_a_touch_brings_nothing_back() -> None:
    first = put("k", 1, expires_at=HOUR)
    assert values(given_context(first, delete("k"), touch(first, DAY))) == {}
    assert values(given_context(touch(first, DAY))) == {}


def test_a_scope_takes_what_it_selects_and_what_comes_later_stays() -> None:
    before = [
        put("a", 1, tier="tool", origin="search"),
        put("b", 2, tier="tool", origin="mail"),
        put("c", 3, tier="llm", origin="search"),
        put("d", 4, namespace=BOB, tier="tool", origin="search"),
        put("e", 5, thread_id="t", agent_id="x"),
        put("f", 6, thread_id="t"),
    ]
    assert values(given_context(*before, delete_scope("tool", origin="search"))).keys() == set("bcdef")
    assert values(given_context(*before, delete_scope("tool"))).keys() == set("cdef")
    assert values(given_context(*before, delete_scope("context", thread_id="t"))).keys() == set("abcd")
    assert values(given_context(*before, delete_scope(thread_id="t", agent_id="x"))).keys() == set("abcdf")
    assert values(given_context(*before, delete_scope())).keys() == {"d"}
    assert values(given_context(*before, delete_scope(), put("a", 7))) == {"a": 7, "d": 4}


def test_counts_are_the_last_word_of_each_source() -> None:
    view = given_context(counted("s", 3), counted("r", 1), counted("s", 5), counted("s", 5))
    assert {key: value[0]["hits"] for key, value in values(view).items()} == {"s": 5, "r": 1}  # type: ignore[index]
