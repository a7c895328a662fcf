"""The tools of the MCP server, through the protocol's own client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from support.agents import Agent, agent

import mnemolog
from mnemolog import Fact, Memory
from mnemolog.adapters.mcp_server import build_server

TOOLS = {
    "remember",
    "recall",
    "feedback",
    "mark_used",
    "mark_ignored",
    "get",
    "update",
    "forget",
    "list_memories",
    "history",
    "facts",
}


@pytest.fixture
def alice(place: Memory) -> Iterator[Agent]:
    """An agent whose server has `place`."""
    with agent(build_server(place)) as made:
        yield made


def state(memory: Memory) -> Any:
    """All that there is in a namespace."""
    memories = memory.list(include_superseded=True, limit=100).items
    learned = memory.explain_usefulness(min_count=0)
    return [asdict(one) for one in memories], [memory.history(one.id) for one in memories], learned


def test_the_server_says_what_it_is_for_and_what_its_tools_do(alice: Agent) -> None:
    told, tools = alice.instructions or "", alice.tools()
    assert all(word in told for word in ("recall", "remember", "feedback", "recall_id"))
    assert tools.keys() == TOOLS
    hints = {name: tool.annotations for name, tool in tools.items()}
    reads = {name for name, hint in hints.items() if hint is not None and hint.read_only_hint}
    ends = {name for name, hint in hints.items() if hint is not None and hint.destructive_hint}
    again = {name for name, hint in hints.items() if hint is not None and hint.idempotent_hint}
    assert reads == {"recall", "get", "list_memories", "history", "facts"}
    assert ends == {"update", "forget"}
    assert again == TOOLS - {"remember", "mark_used", "mark_ignored"}
    assert all(tool.description and "\n" not in tool.description for tool in tools.values())
    properties = [one for tool in tools.values() for one in tool.input_schema["properties"].values()]
    assert all("description" in one or "tags_mode" in str(one).lower() or "enum" in one for one in properties)


def test_an_agent_remembers_recalls_and_says_what_helped(alice: Agent, place: Memory) -> None:
    first = alice.ok("remember", text="Alice is vegetarian", kind="preference", key="diet", importance=0.8)
    second = alice.ok("remember", text="Alice eats fish now", kind="preference", key="diet", tags=["food"])
    alice.ok("remember", text="Alice flies to Lisbon on Friday", kind="fact", source="chat")
    assert (first["superseded"], second["superseded"]) == ([], [first["id"]])
    found = alice.ok("recall", query="what does Alice eat?", k=2)
    best = found["memories"][0]
    assert (best["id"], best["text"], best["kind"]) == (second["id"], "Alice eats fish now", "preference")
    assert best["why"].startswith(f"{best['score']:.6g} = relevance")
    tagged = alice.ok("recall", query="Alice", tags=["food"], kinds=["preference"])
    assert [one["id"] for one in tagged["memories"]] == [second["id"]]
    judged = alice.ok("feedback", recall_id=found["recall_id"], used=[second["id"]], reject_others=True)
    assert len(judged["ignored"]) == 1
    item, other = place.get(second["id"]), place.get(judged["ignored"][0])
    assert item is not None
    assert other is not None
    assert (item.use_count, item.ignore_count, other.ignore_count) == (1, 0, 1)
    assert place.explain_usefulness()


def test_the_same_feedback_twice_counts_once_and_grades_count(alice: Agent, place: Memory) -> None:
    for text in ("likes tea", "likes coffee"):
        alice.ok("remember", text=text, id=text[6:])
    found = alice.ok("recall", query="what does she like?")
    for _ in range(2):
        alice.ok("feedback", recall_id=found["recall_id"], ratings={"tea": 1.0, "coffee": 0.0})
    counts = [(one.use_count, one.ignore_count) for one in place.list(filters={"id": "tea"}).items]
    assert counts == [(1, 0)]
    alice.ok("mark_used", ids=["tea"])
    alice.ok("mark_ignored", ids=["coffee"], recall_id=found["recall_id"])
    assert alice.ok("get", id="tea")["use_count"] == 2


def test_an_agent_reads_corrects_and_forgets(alice: Agent, place: Memory) -> None:
    alice.ok(
        "remember", text="meets Bob at 9", id="m", metadata={"city": "Paris"}, ttl_seconds=3600, author="Al"
    )
    alice.ok("update", id="m", text='["at", 10]', reason="moved")  # text that looks like JSON stays text
    told = alice.ok("get", id="m")
    assert (told["text"], told["metadata"], told["author"]) == ('["at", 10]', {"city": "Paris"}, "Al")
    assert "expires_at" in told
    changes = alice.ok("history", id="m")["changes"]
    assert [(one["type"], one.get("reason")) for one in changes] == [
        ("MemoryRemembered", None),
        ("MemoryUpdated", "moved"),
    ]
    for number in range(3):
        alice.ok("remember", text=f"note {number}", kind="fact", tags=["odd"] if number % 2 else [])
    page = alice.ok("list_memories", limit=1, offset=1, kinds=["fact"])
    assert ([one["text"] for one in page["memories"]], page["total"]) == (["note 1"], 3)
    paris = alice.ok("list_memories", filters='{"metadata.city": {"eq": "Paris"}}', tags_mode="any")
    assert [one["id"] for one in paris["memories"]] == ["m"]
    assert alice.ok("forget", ids=["m", "nope"], reason="asked")["forgotten"] == ["m"]
    assert "'m'" in alice.fails("get", id="m")
    assert place.get("m") is None


def test_an_agent_sees_what_was_known_and_the_facts(alice: Agent, place: Memory) -> None:
    alice.ok("remember", text="Alice lives in Rome", id="m")
    then = place.update("m", text="Alice lives in Paris").position
    place.update("m", text="Alice lives in Oslo")
    assert alice.ok("get", id="m", as_of=str(then))["text"] == "Alice lives in Paris"
    past = alice.ok("recall", query="where does Alice live?", as_of=str(then))
    assert [one["text"] for one in past["memories"]] == ["Alice lives in Paris"]
    place.consolidate(
        kinds=["note"], extract_facts=lambda memories: [Fact("Alice", "lives in Oslo", sources=("m",))]
    )
    (fact,) = alice.ok("facts", subject="alice", current=True)["facts"]
    assert (fact["statement"], fact["sources"], fact["current"]) == ("lives in Oslo", ["m"], True)


BY_ID: dict[str, dict[str, Any]] = {
    "get": {"id": "theirs"},
    "history": {"id": "theirs"},
    "update": {"id": "theirs", "text": "mine now"},
    "forget": {"ids": ["theirs"]},
    "mark_used": {"ids": ["theirs"]},
    "mark_ignored": {"ids": ["theirs"]},
    "feedback": {"recall_id": "RECALL", "used": ["theirs"]},
}


@pytest.fixture
def others(place: Memory) -> Memory:
    """A namespace below that of the agent, with a memory, a recall of it, and what was learned."""
    other = place.at((*place.namespace, "other"))
    other.remember("their secret is tea", id="theirs", key="slot", tags=["t"])
    hits = other.recall("what is their secret?")
    other.feedback(hits.recall_id, used=hits.ids)
    return other


def test_of_any_number_of_ids_the_unknown_are_named(alice: Agent, place: Memory) -> None:
    kept = place.remember("Alice eats fish").id
    answer = alice.ok("forget", ids=[*map(str, range(12_000)), kept, kept])
    assert (answer["forgotten"], len(answer["unknown"])) == ([kept], 12_000)


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_no_tool_reaches_into_another_namespace(alice: Agent, others: Memory, tool: str) -> None:
    before, recall_id = state(others), others.recall("tea").recall_id
    if tool in BY_ID:
        given = {**BY_ID[tool], **({"recall_id": recall_id} if tool == "feedback" else {})}
        unknown = {name: _renamed(value) for name, value in given.items()}
        answer, of_unknown = alice.result(tool, **given), alice.result(tool, **unknown)
        told, told_of_unknown = str(answer.content), str(of_unknown.content)
        assert answer.is_error == (tool != "forget")  # it says which ids are unknown
        assert told.replace("theirs", "nothing") == told_of_unknown
        assert "secret" not in told
    elif tool == "remember":
        assert alice.ok("remember", text="mine", id="theirs", key="slot")["superseded"] == []
    else:
        asks = {"query": "their secret tea"} if tool == "recall" else {}
        assert "secret" not in str(alice.ok(tool, **asks))
    assert state(others) == before


def _renamed(value: Any) -> Any:
    return ["nothing"] if isinstance(value, list) else "nothing" if value == "theirs" else value


def test_a_recall_of_another_namespace_can_not_be_judged(alice: Agent, others: Memory) -> None:
    before, recall_id = state(others), others.recall("tea").recall_id
    alice.ok("remember", text="mine", id="mine")
    assert recall_id in alice.fails("feedback", recall_id=recall_id, used=["mine"], reject_others=True)
    alice.ok("mark_used", ids=["mine"], recall_id=recall_id)
    assert state(others) == before


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("remember", {"text": " "}, "blank"),
    ("remember", {"text": "x", "importance": 3}, "importance"),
    ("remember", {"text": "x", "tag": ["misspelt"]}, "tag"),
    ("remember", {"text": "x", "namespace": "other"}, "namespace"),
    ("remember", {}, "text"),
    ("recall", {"query": "x", "k": 0}, "k is a whole number"),
    ("recall", {"query": "x", "filters": {"colour": 1}}, "unknown field 'colour'"),
    ("recall", {"query": "x", "tags_mode": "some"}, "tags_mode"),
    ("recall", {"query": "x", "as_of": "yesterday"}, "as_of"),
    ("mark_used", {"ids": []}, ""),
    ("mark_used", {"ids": ["m"], "reject_others": True}, "recall_id"),
    ("feedback", {"recall_id": "r", "ratings": {"m": 2}}, "ratings"),
    ("update", {"id": "m"}, "at least one of"),
    ("list_memories", {"limit": -1}, "limit"),
    ("facts", {"subject": " "}, "subject"),
    ("bogus", {}, "bogus"),
]


def test_what_is_wrong_is_told_and_the_server_goes_on(alice: Agent, place: Memory) -> None:
    alice.ok("remember", text="stays", id="m")
    before = state(place)
    for tool, arguments, message in WRONG:
        assert message in alice.fails(tool, **arguments), (tool, arguments)
    assert state(place) == before


def test_a_call_that_takes_long_keeps_no_other_waiting(tmp_path: Path) -> None:
    go_on = threading.Event()

    def embed(texts: Sequence[str]) -> list[list[float]]:
        assert "slow" not in texts or go_on.wait(60)
        return [[1.0, float(len(text))] for text in texts]

    async def ask(memory: Memory) -> list[str]:
        ended = list[str]()
        async with Client(build_server(memory)) as client:

            async def call(tool: str, **arguments: str) -> None:
                assert not (await client.call_tool(tool, arguments)).is_error
                ended.append(tool)
                if tool == "get":
                    go_on.set()

            await asyncio.gather(call("recall", query="slow"), call("get", id="m"))
        return ended

    with mnemolog.open(tmp_path, embedder=embed) as memory:
        memory.remember("a note", id="m")
        assert asyncio.run(asyncio.wait_for(ask(memory), 60)) == ["get", "recall"]
