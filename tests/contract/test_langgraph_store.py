"""What every LangGraph store does: LangGraph's own in-memory store, and ours beside it."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from support.properties import examples

import mnemolog
from mnemolog import Memory
from mnemolog.adapters.langgraph_store import MnemologStore

Make = Callable[[], BaseStore]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with mnemolog.open(tmp_path_factory.mktemp("stores"), embedder="hashing") as opened:
        yield opened


def ours(memory: Memory) -> MnemologStore:
    """An empty store of ours."""
    return MnemologStore(memory, prefix=("store", uuid.uuid4().hex))


@pytest.fixture(params=["langgraph", "mnemolog"])
def store(request: pytest.FixtureRequest, memory: Memory) -> BaseStore:
    return InMemoryStore() if request.param == "langgraph" else ours(memory)


def keys(items: Any) -> list[str]:
    return sorted(item.key for item in items)


def test_what_is_put_is_got_replaced_and_deleted(store: BaseStore) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    value = {"text": "likes tea", "n": 1.5, "nested": {"list": [1, None, {"a": True}]}, "é": "ü"}
    store.put(("users", "alice"), "k", value)
    item = store.get(("users", "alice"), "k")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("users", "alice"), "k", value)
    assert before < item.created_at <= item.updated_at < datetime.now(UTC) + timedelta(seconds=1)
    store.put(("users", "alice"), "k", {"other": 1})
    again = store.get(("users", "alice"), "k")
    assert again is not None
    assert again.value == {"other": 1}
    assert again.updated_at > item.updated_at
    store.put(("users", "alice"), "k", {"other": 1})  # the same once more is an update too
    once_more = store.get(("users", "alice"), "k")
    assert once_more is not None
    assert once_more.updated_at > again.updated_at
    store.delete(("users", "alice"), "k")
    store.delete(("users", "alice"), "never there")
    assert store.get(("users", "alice"), "k") is None
    store.put(("users", "alice"), "k", {"back": True})
    back = store.get(("users", "alice"), "k")
    assert back is not None
    assert back.value == {"back": True}


def test_the_same_key_in_other_namespaces_is_another_item(store: BaseStore) -> None:
    places: list[tuple[str, ...]] = [
        ("a", "b/c"),
        ("a/b", "c"),
        ("a", "b", "c"),
        ("a",),
        ("a b", "%2F"),
        ("A",),
    ]
    for number, place in enumerate(places):
        store.put(place, "k", {"n": number})
    for number, place in enumerate(places):
        item = store.get(place, "k")
        assert item is not None
        assert (item.value, item.namespace) == ({"n": number}, place)
    store.delete(("a",), "k")
    assert store.get(("a", "b", "c"), "k") is not None
    assert {item.namespace for item in store.search(("a",))} == {("a", "b/c"), ("a", "b", "c")}


@pytest.mark.parametrize("key", ["", " ", "with space", "x" * 1_000, "a\nb", "../..", "ключ", "sha256-"])
def test_any_text_is_a_key(store: BaseStore, key: str) -> None:
    store.put(("keys",), key, {"text": "one"})
    item = store.get(("keys",), key)
    assert item is not None
    assert (item.key, keys(store.search(("keys",)))) == (key, [key])
    store.delete(("keys",), key)
    assert store.get(("keys",), key) is None


def test_pages_cover_all_once(store: BaseStore) -> None:
    for number in range(7):
        store.put(("docs", f"d{number % 3}"), f"k{number}", {"n": number})
    pages = [store.search(("docs",), limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    assert [len(page) for page in pages] == [3, 3, 1, 0]
    assert keys(item for page in pages for item in page) == [f"k{number}" for number in range(7)]
    assert len(store.search(())) == 7
    assert store.search(("other",)) == []
    assert store.search(("docs",), limit=0) == []


def test_operations_of_one_batch_answer_in_their_order(store: BaseStore) -> None:
    store.put(("a",), "k", {"n": 1})
    ops: list[Op] = [
        GetOp(("a",), "k"),
        PutOp(("b",), "k", {"n": 2}),
        PutOp(("b",), "other", {"n": 4}),
        SearchOp(("a",), filter={"n": 1}),
        PutOp(("c",), "k", {"n": 3}),
        PutOp(("a",), "gone", None),
        ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
        GetOp(("nowhere",), "k"),
    ]
    got, put, second, found, third, deleted, listed, missing = store.batch(ops)
    assert (put, second, third, deleted, missing) == (None, None, None, None, None)
    assert getattr(got, "value", None) == {"n": 1}
    assert (keys(found), listed) == (["k"], [("a",)])
    assert [getattr(store.get((name,), "k"), "value", None) for name in "bc"] == [{"n": 2}, {"n": 3}]
    store.batch([PutOp(("d",), "k", {"n": number}) for number in range(3)])
    last = store.get(("d",), "k")
    assert last is not None
    assert last.value == {"n": 2}


def test_all_of_it_is_there_for_tasks(store: BaseStore) -> None:
    async def use() -> None:
        await asyncio.gather(*(store.aput(("t",), f"k{n}", {"text": f"note {n}", "n": n}) for n in range(8)))
        item = await store.aget(("t",), "k3")
        assert item is not None
        assert item.value["n"] == 3
        assert keys(await store.asearch(("t",), filter={"n": {"$gte": 6}})) == ["k6", "k7"]
        assert await store.alist_namespaces(suffix=("t",)) == [("t",)]
        await store.adelete(("t",), "k3")
        results = await store.abatch([GetOp(("t",), "k3"), GetOp(("t",), "k4")])
        assert [result is None for result in results] == [True, False]

    asyncio.run(use())


def test_a_namespace_that_can_be_none_is_refused(store: BaseStore) -> None:
    for wrong in ((), ("",), ("a.b",), ("langgraph",)):
        with pytest.raises(InvalidNamespaceError):
            store.put(wrong, "k", {})
    for operator in ({"$like": 1}, {"$eq": 1, "$in": [1]}):
        store.put(("a",), "k", {"n": 1})
        with pytest.raises(ValueError, match=r"\$(like|in)"):
            store.search(("a",), filter={"n": operator})


SCALARS = st.none() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "2", "$x", 0.5, 2.5])


def nested(leaves: st.SearchStrategy[Any], *names: str) -> st.SearchStrategy[Any]:
    """JSON of these leaves."""
    name = st.sampled_from(names)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(name, inner, max_size=2),
        max_leaves=5,
    )


UNMIXED = nested(SCALARS, "x", "y")
"""Without true and false, which to Python are 1 and 0: there the two stores differ on purpose."""

VALUES = st.fixed_dictionaries({"n": st.integers(-3, 3)}, optional=dict.fromkeys(("a", "b", "c.d"), UNMIXED))
ORDERS = st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.integers(-3, 3), min_size=1)
EQUALS = UNMIXED | st.dictionaries(st.sampled_from(["$eq", "$ne"]), UNMIXED, min_size=1)
CONDITIONS = st.fixed_dictionaries({}, optional={"n": ORDERS, "a": EQUALS, "c.d": EQUALS})


@examples(40)
@given(st.lists(VALUES, min_size=1, max_size=6), st.lists(CONDITIONS, min_size=1, max_size=6))
def test_filters_find_what_those_of_langgraph_find(memory: Memory, values: Any, conditions: Any) -> None:
    stores = [InMemoryStore(), ours(memory)]
    for one in stores:
        one.batch([PutOp(("f",), str(number), value) for number, value in enumerate(values)])
    for condition in conditions:
        theirs, found = (keys(one.search(("f",), filter=condition)) for one in stores)
        assert found == theirs, condition


PARTS = st.sampled_from(["a", "b", "c"])
NAMES = st.lists(PARTS, min_size=1, max_size=4).map(tuple)
PATHS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3).map(tuple)


ASKS = st.tuples(st.none() | PATHS, st.none() | PATHS)


@examples(25)
@given(
    st.lists(NAMES, min_size=1, max_size=8),
    st.lists(st.tuples(*[st.none() | PATHS] * 2), min_size=1, max_size=4),
)
def test_namespaces_are_listed_as_langgraph_lists_them(memory: Memory, names: Any, asks: Any) -> None:
    stores = [InMemoryStore(), ours(memory)]
    for one in stores:
        one.batch([PutOp(name, "k", {"n": 1}) for name in names])
    for prefix, suffix in asks:
        for depth, limit, offset in ((None, 100, 0), (2, 100, 0), (1, 2, 1)):
            how: Any = {"max_depth": depth, "limit": limit, "offset": offset}
            theirs, found = (one.list_namespaces(prefix=prefix, suffix=suffix, **how) for one in stores)
            assert found == theirs


FIELDS = st.sampled_from(["a", "text", "kind", "tags", "importance", "$x", "é"])


@examples(30)
@given(st.dictionaries(FIELDS, nested(SCALARS | st.booleans(), "a", "b", "c.d"), max_size=4))
def test_a_value_comes_back_equal(memory: Memory, value: dict[str, Any]) -> None:
    store = ours(memory)
    store.put(("v",), "k", value)
    item = store.get(("v",), "k")
    (found,) = store.search(("v",), query="anything at all")
    assert item is not None
    assert item.value == found.value == value
    told = (json.dumps(one, sort_keys=True) for one in (item.value, value))
    assert len(set(told)) == 1  # true is not 1 there, nor 1.0


def test_a_value_that_nests_deep_comes_back_equal(memory: Memory) -> None:
    store, deep = ours(memory), [1]
    for _ in range(40):
        deep = [{"in": deep}]  # type: ignore[list-item]
    store.put(("v",), "k", {"deep": deep, "color": "red"})
    (found,) = store.search(("v",), filter={"color": "red", "deep": {"$ne": None}})
    assert found.value == {"deep": deep, "color": "red"}
    assert keys(store.search(("v",), filter={"deep": deep})) == ["k"]
