"""The memory block for LlamaIndex, in a `Memory` of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.core.memory import Memory as Chat
from pydantic import ValidationError

from mnemolog import Memory
from mnemolog.adapters.llamaindex_block import MnemologMemoryBlock
from mnemolog.schemas.errors import InvalidInputError, NotFoundError

TURNS = [
    ("I eat fish on Fridays", "Noted, fish on Fridays it is"),
    ("My sister lives in Oslo", "Oslo is lovely in the summer"),
    ("I paint old houses", "What colours do you like most?"),
    ("Blue and white mostly", "Good choice for a house"),
]


def said(user: str, assistant: str = "") -> list[ChatMessage]:
    told = [ChatMessage(role="user", content=user)]
    return [*told, ChatMessage(role="assistant", content=assistant)] if assistant else told


def put(block: MnemologMemoryBlock, *messages: ChatMessage, session: str | None = "s") -> None:
    asyncio.run(block.aput(list(messages), from_short_term_memory=True, session_id=session))


def get(block: MnemologMemoryBlock, *messages: ChatMessage) -> list[str]:
    return asyncio.run(block.aget(list(messages))).splitlines()


def talk(memory: Memory, session: str, turns: Sequence[tuple[str, str]], question: str, **fields: Any) -> Any:
    """A chat with little short-term memory: the block, and the messages that a model gets to read."""
    block = MnemologMemoryBlock(memory=memory, **fields)
    chat = Chat.from_defaults(
        session_id=session,
        memory_blocks=[block],
        token_limit=40,
        token_flush_size=10,
        chat_history_token_ratio=0.5,
        tokenizer_fn=str.split,
    )

    async def run() -> list[ChatMessage]:
        for turn in turns:
            await chat.aput_messages(said(*turn))
        return await chat.aget(input=question)

    return block, asyncio.run(run())


def test_a_chat_remembers_what_leaves_its_short_term_memory(place: Memory) -> None:
    block, messages = talk(place, "s1", TURNS, "what do I eat on Fridays?", k=2)
    assert messages[0].role == MessageRole.SYSTEM
    assert "user: I eat fish on Fridays" in messages[0].content
    assert "<LongTermMemory>" in messages[0].content
    assert [one.content for one in messages[1:]] == [text for turn in TURNS[2:] for text in turn]
    kept = {(one.text, one.author, one.thread_id, one.kind, one.source) for one in place}
    assert kept == {
        (text, author, "s1", "message", "llamaindex")
        for turn in TURNS[:2]
        for text, author in zip(turn, ("user", "assistant"), strict=True)
    }
    assert len(block.last_recall_ids) == 2


def test_a_later_session_recalls_what_an_earlier_one_said(place: Memory) -> None:
    talk(place, "s1", TURNS, "hello")
    _, messages = talk(place, "s2", [], "where does my sister live?", k=1)
    assert "My sister lives in Oslo" in messages[0].content
    _, elsewhere = talk(place.at((*place.namespace, "bob")), "s2", [], "where does my sister live?")
    assert elsewhere == []


def test_what_helped_teaches_recall(place: Memory) -> None:
    block = MnemologMemoryBlock(memory=place, k=3)
    with pytest.raises(NotFoundError):
        block.feedback(used=[])
    put(block, *(message for turn in TURNS for message in said(*turn)))
    get(block, *said("what do I eat?"))
    first, second, third = block.last_recall_ids
    block.feedback(used=first)
    counts = {one.id: (one.use_count, one.ignore_count) for one in place}
    assert (counts[first], counts[second], counts[third]) == ((1, 0), (0, 1), (0, 1))
    assert sum(link.count for link in place.explain_usefulness()) > 0
    with pytest.raises(NotFoundError, match="nope"):
        block.feedback(used=["nope"])
    other = next(one.id for one in place if one.id not in block.last_recall_ids)
    block.mark_used([other])  # shown or not
    block.mark_ignored(first)
    counts = {one.id: (one.use_count, one.ignore_count) for one in place}
    assert (counts[other], counts[first]) == ((1, 0), (0, 1))


def test_how_much_of_the_chat_is_the_question(place: Memory) -> None:
    place.remember("the harbour has a lighthouse", id="lighthouse")
    place.remember("pizza is best with anchovies", id="pizza")
    chat = [*said("tell me of the lighthouse"), *said("and pizza?"), *said("yes")]
    for window, found in (
        (1, set()),
        (2, {"pizza"}),
        (3, {"pizza", "lighthouse"}),
        (9, {"pizza", "lighthouse"}),
    ):
        block = MnemologMemoryBlock(memory=place, context_window=window, explain=True)
        lines = get(block, *chat)
        shown = zip(block.last_recall_ids, lines, strict=True)
        assert {one for one, line in shown if "+ keyword]" in line} == found


def test_only_the_roles_that_are_named_count(place: Memory) -> None:
    block = MnemologMemoryBlock(memory=place, roles=("user",))
    tool = ChatMessage(role="tool", content="fish: 12 hits")
    picture = ChatMessage(
        role="user", blocks=[ImageBlock(url="https://example.org/x.png"), TextBlock(text=" ")]
    )
    put(block, *said("I eat fish", "Do you?"), tool, picture, session=None)
    assert [(one.text, one.thread_id) for one in place] == [("I eat fish", None)]
    assert get(block, tool, picture) == get(block) == []
    assert (block.last_recall_ids, block.last_recall_id) == ([], None)


def test_no_message_is_too_long_or_too_odd_to_be_kept(place: Memory) -> None:
    block = MnemologMemoryBlock(memory=place)
    long = "字" * 20_000
    put(block, *said(long), *said("half \ud800 a pair"), *said("plain"))
    kept = [one.text for one in reversed(list(place))]
    assert ("".join(kept[:2]), kept[2:]) == (long, ["half ? a pair", "plain"])


def test_it_says_why_and_gets_shorter_from_the_end(place: Memory) -> None:
    block = MnemologMemoryBlock(memory=place, explain=True, k=4, priority=1)
    put(block, *(message for turn in TURNS for message in said(*turn)))
    lines = get(block, *said("what do I eat?"))
    assert all(" = relevance " in line for line in lines)
    assert (len(lines), len(block.last_recall_ids)) == (4, 4)
    shorter = asyncio.run(block.atruncate("\n".join(lines), len(lines[3]) // 4 + 1))
    assert shorter is not None
    assert lines[: len(shorter.splitlines())] == shorter.splitlines()
    assert 0 < len(shorter.splitlines()) == len(block.last_recall_ids) < 4
    assert asyncio.run(block.atruncate(shorter, 10_000)) is None
    assert block.last_recall_ids == []
    tight = MnemologMemoryBlock(memory=place, max_tokens=12, k=4)
    assert 0 < len(get(tight, *said("what do I eat?"))) < 4


def test_a_setting_that_makes_no_sense_is_refused(place: Memory) -> None:
    for wrong in ({"k": 0}, {"context_window": 0}, {"memory": "no memory"}):
        with pytest.raises(ValidationError):
            MnemologMemoryBlock(**{"memory": place, **wrong})
    with pytest.raises(InvalidInputError):
        put(MnemologMemoryBlock(memory=place, kind=" "), *said("x"))
