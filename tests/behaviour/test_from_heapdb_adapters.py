"""Servers and adapters as heapdb-memory has them, in our names: each test shows rows of that page."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import cast

from langgraph.store.base import GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp
from llama_index.core.base.llms.types import ChatMessage
from support.agents import agent
from support.mapping import rows

from mnemolog import Memory
from mnemolog.adapters.langgraph_store import MnemologStore
from mnemolog.adapters.llamaindex_block import MnemologMemoryBlock
from mnemolog.adapters.mcp_server import build_server

shows = partial(rows, "heapdb-memory")


@shows("heapdb-memory-mcp", "remember", "recall", "reject_others", "forget", "list_memories")
def test_the_tools_of_the_server(place: Memory) -> None:
    with agent(build_server(place, name="memory")) as alice:
        told = {"kind": "preference", "importance": 0.9, "tags": ["food"], "key": "diet", "source": "chat"}
        old = alice.ok("remember", text="Alice eats meat", key="diet")
        new = alice.ok("remember", text="Alice is vegetarian", **told)
        assert (new["kind"], new["importance"], new["superseded"]) == ("preference", 0.9, [old["id"]])
        alice.ok("remember", text="Alice lives in Rome")
        alice.ok("remember", text="Alice likes trains", id="trains")
        found = alice.ok("recall", query="what does Alice eat?", k=2, kinds=["preference", "note"])
        best, other = found["memories"]
        assert (best["id"], set(best) >= {"text", "kind", "score", "why"}) == (new["id"], True)
        judged = alice.ok("mark_used", ids=[best["id"]], recall_id=found["recall_id"], reject_others=True)
        assert (judged["used"], judged["ignored"]) == ([best["id"]], [other["id"]])
        assert alice.ok("mark_ignored", ids=["trains"])["ignored"] == ["trains"]
        page = alice.ok("list_memories", limit=1, offset=1, tags=["food"])
        assert (page["total"], page["memories"]) == (1, [])
        (item,) = alice.ok("list_memories", kinds=["preference"])["memories"]
        assert (item["key"], item["tags"], item["uses"]) == ("diet", ["food"], 1)
        assert alice.ok("forget", ids=[new["id"]])["forgotten"] == [new["id"]]
    assert place.get(new["id"]) is None


@shows("HeapDBStore")
def test_the_store(place: Memory) -> None:
    store = MnemologStore(place, default_kind="fact")
    _, got, found, listed = store.batch(
        [
            PutOp(
                ("users", "alice"), "k", {"memory": "Alice eats fish", "tags": ["food"], "importance": 0.9}
            ),
            GetOp(("users", "alice"), "k"),
            SearchOp(("users",), query="what does Alice eat?"),
            ListNamespacesOp(),
        ]
    )
    assert isinstance(got, Item)
    assert (got.value["tags"], listed, store.supports_ttl) == (["food"], [("users", "alice")], True)
    (item,) = cast("list[SearchItem]", found)
    assert item.score is not None
    store.mark_used(item)
    store.mark_ignored(item)
    (memory,) = place.at((*place.namespace, "langgraph", "users", "alice"))
    assert (memory.kind, memory.tags, memory.importance) == ("fact", ("food",), 0.9)
    assert (memory.use_count, memory.ignore_count) == (0, 1)  # the last word on what a recall showed
    store.put(("a", "b/c"), "k", {"n": 1})
    store.put(("a/b", "c"), "k", {"n": 2})
    assert [one.value["n"] for one in store.search(("a",), filter={"n": {"$gt": 0}})] == [1]


@shows("HeapDBMemoryBlock")
def test_the_memory_block(place: Memory) -> None:
    block = MnemologMemoryBlock(memory=place, k=2, context_window=1, roles=("user",), explain=True)
    told = ("I eat fish", "I live in Rome", "I like trains")
    asyncio.run(block.aput([ChatMessage(role="user", content=text) for text in told]))
    shown = asyncio.run(block.aget([ChatMessage(role="user", content="what do I eat?")]))
    assert shown.splitlines()[0].endswith("[vector + keyword])")
    best, other = block.last_recall_ids
    block.feedback(used=[best])
    block.mark_used(other)
    block.mark_ignored(best)
    counts = {one.id: (one.use_count, one.ignore_count) for one in place}
    assert (counts[best], counts[other]) == ((0, 1), (1, 0))  # the last word on what a recall showed
