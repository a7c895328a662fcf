"""What the LangGraph store does beyond a dictionary: recall, learning, times to live, a root of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import GetOp, Item, ListNamespacesOp, PutOp, SearchOp
from support.stores import NOON, MovingClock

import mnemolog
from mnemolog import Memory
from mnemolog.adapters.langgraph_store import MnemologStore, RecalledItem
from mnemolog.schemas.errors import InvalidInputError

ALICE = ("users", "alice")


@pytest.fixture
def store(place: Memory) -> MnemologStore:
    return MnemologStore(place)


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[tuple[Memory, MovingClock]]:
    clock = MovingClock(NOON)
    with mnemolog.open(tmp_path, embedder="hashing", clock=clock) as memory:
        yield memory, clock


def keys(items: Any) -> list[str]:
    return [item.key for item in items]


def expires_in(memory: Memory, clock: MovingClock) -> list[float]:
    return [(one.expires_at - clock()).total_seconds() for one in memory.list().items if one.expires_at]


def test_a_search_with_a_query_is_a_recall(store: MnemologStore) -> None:
    for key, text in {
        "diet": "Alice eats fish",
        "trip": "Alice flies to Lisbon",
        "job": "Alice paints",
    }.items():
        store.put(ALICE, key, {"text": text, "sure": key != "job"})
    found = store.search(ALICE, query="what does Alice eat?", limit=2)
    assert found[0].key == "diet"
    assert [isinstance(one, RecalledItem) for one in found] == [True, True]
    assert found[0].score is not None
    assert found[1].score is not None
    assert found[0].score > found[1].score
    assert isinstance(found[0], RecalledItem)
    assert found[0].why.startswith(f"{found[0].score:.6g} = relevance")
    assert keys(store.search(ALICE, query="what does Alice paint?", filter={"sure": True}))[0] != "job"
    pages = [store.search(ALICE, query="Alice fish", limit=1, offset=offset) for offset in range(4)]
    assert sorted(key for page in pages for key in keys(page)) == ["diet", "job", "trip"]


def test_a_search_over_many_namespaces_finds_the_best_of_all(store: MnemologStore) -> None:
    """Each namespace has a best of its own, which is alone there and has a word of the query."""
    for number in range(4):
        store.put(("users", f"u{number}"), "note", {"text": f"where user {number} keeps an umbrella"})
    store.put(("users", "u3"), "food", {"text": "the best pizza is at the harbour"})
    store.put(("users", "u3"), "more", {"text": "the best pizza at the harbour is Luigi's pizza"})
    first, second, *others = store.search(
        ("users",), query="where is the best pizza at the harbour?", limit=9
    )
    assert {(one.namespace, one.key) for one in (first, second)} == {
        (("users", "u3"), "food"),
        (("users", "u3"), "more"),
    }
    assert len(others) == 4
    assert second.score is not None
    assert all(one.score is not None and one.score < second.score for one in others)


def test_true_is_not_1_in_a_filter(store: MnemologStore) -> None:
    for key, value in {"true": True, "one": 1, "false": False, "none": None}.items():
        store.put(ALICE, key, {"a": value, "b": [value], "c": {"d": value}})
    for wanted, key in ((True, "true"), (1, "one"), (False, "false"), (None, "none")):
        conditions: list[dict[str, Any]] = [{"a": wanted}, {"b": [wanted]}, {"c": {"d": wanted}}]
        for condition in (*conditions, {"a": {"$eq": wanted}}, {"b": {"$eq": [wanted]}}):
            assert keys(store.search(ALICE, filter=condition)) == [key], condition


def test_what_was_used_teaches_recall(store: MnemologStore, place: Memory) -> None:
    for key in ("tea", "coffee", "cake"):
        store.put(ALICE, key, {"text": f"Alice likes {key}"})
    found = store.search(ALICE, query="what does Alice like?")
    store.mark_used(found[0])
    asyncio.run(store.amark_ignored(found[1:]))
    namespace = place.at((*place.namespace, "langgraph", *ALICE))
    counts = {one.id: (one.use_count, one.ignore_count) for one in namespace.list().items}
    assert counts == {found[0].key: (1, 0), found[1].key: (0, 1), found[2].key: (0, 1)}
    assert sum(link.count for link in namespace.explain_usefulness()) > 0
    item = store.get(ALICE, "tea")
    assert item is not None
    store.mark_used([item])  # without a search
    with pytest.raises(InvalidInputError):
        store.mark_used([])
    with pytest.raises(InvalidInputError):
        store.mark_used(["tea"])  # type: ignore[list-item]


def test_what_is_put_again_keeps_its_beginning_and_its_use(
    clocked: tuple[Memory, MovingClock],
) -> None:
    memory, clock = clocked
    store = MnemologStore(memory, clock=clock)
    store.put(ALICE, "diet", {"text": "eats meat"})
    store.mark_used(store.search(ALICE))
    clock.advance(hours=2)
    store.put(ALICE, "diet", {"text": "eats fish", "kind": "preference", "importance": 0.9, "tags": ["food"]})
    item = store.get(ALICE, "diet")
    assert item is not None
    assert ((item.created_at - NOON).seconds, (item.updated_at - NOON).seconds) == (0, 7200)
    (kept,) = memory.at((*memory.namespace, "langgraph", *ALICE)).list().items
    assert (kept.text, kept.kind, kept.importance, kept.tags) == ("eats fish", "preference", 0.9, ("food",))
    assert kept.use_count == 1
    clock.advance(hours=1)
    store.put(ALICE, "diet", {"text": "eats fish", "kind": 3, "importance": "high", "tags": "food"})
    (kept,) = memory.at((*memory.namespace, "langgraph", *ALICE)).list().items
    assert (kept.kind, kept.importance, kept.tags) == ("note", None, ())  # a value may be anything


def test_a_batch_reads_what_it_wrote(store: MnemologStore) -> None:
    _, got, _, gone = store.batch(
        [PutOp(ALICE, "k", {"n": 1}), GetOp(ALICE, "k"), PutOp(ALICE, "k", None), GetOp(ALICE, "k")]
    )
    assert isinstance(got, Item)
    assert (got.value, gone) == ({"n": 1}, None)


def test_it_sees_nothing_but_its_own(place: Memory) -> None:
    store, other = MnemologStore(place), MnemologStore(place, prefix=("graphs", "other"))
    place.remember("a secret of the agent")
    place.at((*place.namespace, "langgraph", *ALICE)).remember("a secret beside the items", id="k")
    other.put(ALICE, "k", {"text": "a secret of the other store"})
    assert store.get(ALICE, "k") is None
    assert store.search((), query="secret") == store.search(()) == []
    store.put(ALICE, "mine", {"text": "mine"})
    assert (store.list_namespaces(), other.list_namespaces()) == ([ALICE], [ALICE])
    store.delete(ALICE, "mine")
    assert other.get(ALICE, "k") is not None
    with pytest.raises(InvalidInputError):
        MnemologStore(place, prefix=())


def test_what_is_indexed_is_a_choice(store: MnemologStore, place: Memory) -> None:
    titles = MnemologStore(place, prefix="titles", fields=["title", "parts[*].name"])
    titles.put(ALICE, "both", {"title": "harbour", "parts": [{"name": "lighthouse"}], "body": "pizza"})
    titles.put(ALICE, "body", {"title": "harbour", "body": "pizza"}, index=["body"])
    titles.put(ALICE, "none", {"title": "lighthouse pizza"}, index=False)
    for query, best in (("lighthouse", "both"), ("pizza", "body")):
        found = titles.search(ALICE, query=query)
        assert found[0].key == best
        assert [(one.key, one.score) for one in found][-1] == (
            "none",
            None,
        )  # no query finds it, yet it is there
    assert titles.get(ALICE, "none") is not None
    store.put(ALICE, "json", {"colour": "turquoise"})
    assert keys(store.search(ALICE, query="turquoise")) == ["json"]
    with pytest.raises(InvalidInputError):
        MnemologStore(place, fields="title")


def test_a_time_to_live_begins_anew_on_reads_and_writes(clocked: tuple[Memory, MovingClock]) -> None:
    memory, clock = clocked
    store = MnemologStore(memory, clock=clock, ttl={"default_ttl": 10, "refresh_on_read": True})
    inside = memory.at((*memory.namespace, "langgraph", *ALICE))
    store.put(ALICE, "k", {"text": "short-lived"})
    store.put(ALICE, "forever", {"text": "stays"}, ttl=None)
    assert expires_in(inside, clock) == [600]
    clock.advance(minutes=9)
    read = store.get(ALICE, "k")
    assert read is not None
    assert (expires_in(inside, clock), read.updated_at) == ([600], NOON)  # a read is no update
    clock.advance(minutes=9)
    assert sorted(keys(store.search(ALICE, query="short"))) == ["forever", "k"]
    assert expires_in(inside, clock) == [600]
    clock.advance(minutes=5)
    assert store.get(ALICE, "k", refresh_ttl=False) is not None
    assert expires_in(inside, clock) == [300]
    again = store.get(ALICE, "k", refresh_ttl=False)
    assert again is not None
    assert again.updated_at == NOON
    store.put(ALICE, "k", {"text": "short-lived"}, ttl=1)
    clock.advance(seconds=61)
    assert store.get(ALICE, "k") is None
    assert keys(store.search(ALICE)) == ["forever"]
    store.put(ALICE, "k", {"text": "again"}, ttl=None)
    clock.advance(days=1_000)
    assert store.get(ALICE, "k") is not None


def test_reads_in_quick_succession_write_nothing(clocked: tuple[Memory, MovingClock]) -> None:
    memory, clock = clocked
    store = MnemologStore(memory, clock=clock)
    store.put(ALICE, "k", {"text": "x"}, ttl=10)
    before = len(memory.at((*memory.namespace, "langgraph", *ALICE)).history("k"))
    for _ in range(50):
        store.get(ALICE, "k")
    assert len(memory.at((*memory.namespace, "langgraph", *ALICE)).history("k")) == before


@pytest.mark.parametrize(
    "value",
    [[1], "text", {1: 2}, {"n": float("nan")}, {"n": object()}, {"big": "x" * 70_000}, {"half": "\ud800"}],
    ids=["list", "text", "number as name", "nan", "object", "too large", "half a pair"],
)
def test_what_is_no_json_is_refused_and_nothing_of_its_batch_is_written(
    store: MnemologStore, place: Memory, value: Any
) -> None:
    with pytest.raises(InvalidInputError):
        store.batch([PutOp(ALICE, "good", {"text": "good"}), PutOp(ALICE, "bad", value)])
    assert store.list_namespaces() == []


@pytest.mark.parametrize(
    "condition",
    [
        {"n": {"$gt": None}},
        {"n": {"$lt": [1]}},
        {"n": {"$like": 1}},
        {"n": [1], "m": {"in": {"$like": 1}}},
        {"n": [{"$gte": True}]},
        {1: 2},
        ["n"],
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(store: MnemologStore, condition: Any) -> None:
    for there_is_one in (False, True):
        with pytest.raises(InvalidInputError):
            store.search(ALICE, filter=condition)
        if not there_is_one:
            store.put(ALICE, "k", {"n": 1})


NONSENSE: Any = 5


@pytest.mark.parametrize(
    "op",
    [
        "no operation",
        GetOp(ALICE, NONSENSE),
        PutOp(ALICE, NONSENSE, {"n": 1}),
        PutOp(ALICE, NONSENSE, None),
        PutOp(ALICE, "k", {"n": 1}, index=[NONSENSE]),
        PutOp(ALICE, "k", {"n": 1}, index=NONSENSE),
        PutOp(ALICE, "k", {"n": 1}, index="n"),  # type: ignore[arg-type]
        SearchOp(ALICE, limit=-1),
        SearchOp(ALICE, query=NONSENSE),
        ListNamespacesOp(limit=-1),
        ListNamespacesOp(offset=-1),
        ListNamespacesOp(max_depth=-1),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(store: MnemologStore, op: Any) -> None:
    with pytest.raises(InvalidInputError):
        store.batch([op])
    assert store.list_namespaces() == []


@pytest.mark.parametrize("items", [NONSENSE, None, [], "k", [NONSENSE]])
def test_a_judgement_of_what_is_no_item_is_refused(store: MnemologStore, items: Any) -> None:
    for judge in (store.mark_used, store.mark_ignored):
        with pytest.raises(InvalidInputError):
            judge(items)


@pytest.mark.parametrize(
    "metadata",
    [
        {"langgraph": "text"},
        {"langgraph": {"put_at": "2026-01-01T00:00:00+00:00"}},
        {"langgraph": {"key": "odd", "put_at": "no time"}, "value": {}},
        {"langgraph": {"key": "odd", "put_at": 5}, "value": {}},
        {"langgraph": {"key": "odd", "put_at": "2026-01-01"}, "value": {}},
        {"langgraph": {"key": "odd", "put_at": "2026-01-01T00:00:00+00:00", "ttl": "x"}, "value": {}},
        {"langgraph": {"key": "odd", "put_at": "2026-01-01T00:00:00+00:00"}},
        {"langgraph": {"key": "odd", "put_at": "2026-01-01T00:00:00+00:00"}, "value": "text"},
        {"langgraph": {"key": "odd", "put_at": "2026-01-01T00:00:00+00:00", "json": "{"}},
        {"langgraph": {"key": "odd", "put_at": "2026-01-01T00:00:00+00:00", "json": "[1]"}},
        {"langgraph": {"key": "another", "put_at": "2026-01-01T00:00:00+00:00"}, "value": {}},
    ],
)
def test_what_only_looks_like_an_item_is_none_and_stops_no_search(
    store: MnemologStore, place: Memory, metadata: dict[str, Any]
) -> None:
    store.put(ALICE, "k", {"text": "fish on Fridays"})
    marked = {**metadata, "langgraph": metadata["langgraph"]}
    if isinstance(marked["langgraph"], dict):
        marked["langgraph"] = {**marked["langgraph"], "indexed": True}
    place.at((*place.namespace, "langgraph", *ALICE)).remember(
        "fish", id="odd", source="langgraph", metadata=marked
    )
    assert store.get(ALICE, "odd") is None
    assert keys(store.search(ALICE, query="fish")) == keys(store.search(ALICE)) == ["k"]


class State(TypedDict):
    """What flows through the graph."""

    user: str
    question: str
    answer: str


def test_a_graph_remembers_and_recalls_through_it(store: MnemologStore) -> None:
    def remember(state: State, runtime: Runtime[None]) -> dict[str, str]:
        assert runtime.store is not None
        runtime.store.put(("users", state["user"]), state["question"], {"text": state["question"]})
        return {}

    async def recall(state: State, runtime: Runtime[None]) -> dict[str, str]:
        assert runtime.store is not None
        found = await runtime.store.asearch(("users", state["user"]), query="what about fish?")
        return {"answer": found[0].value["text"]}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_node("recall", recall)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", "recall")
    builder.add_edge("recall", END)
    graph = builder.compile(store=store)

    def ask(user: str, said: str) -> str:
        answer: str = asyncio.run(graph.ainvoke(State(user=user, question=said, answer="")))["answer"]
        return answer

    assert ask("alice", "I eat fish on Fridays") == "I eat fish on Fridays"
    assert ask("alice", "I paint houses") == "I eat fish on Fridays"
    assert ask("bob", "I sail") == "I sail"
