"""Memories with structure: what each helper keeps, finds and refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from support.stores import OpenMemory, Store, texts

from mnemolog import Memory
from mnemolog.query.models import MemoryItem
from mnemolog.schemas.details import Episode, Procedure, Reflection, Reward, Step, Triple
from mnemolog.schemas.errors import InvalidInputError, MnemologError, NotFoundError

DAY = timedelta(days=1)
MAY = datetime(2024, 5, 1, tzinfo=UTC)
STEPS: list[dict[str, Any]] = [
    {"action": "compose", "parameters": {"to": ["…", None, 1.5]}, "expected_outcome": "draft ready"},
    {"action": "send"},
]
GENERAL: dict[str, Any] = {
    "importance": 0.9,
    "tags": ["x"],
    "key": "slot",
    "author": "Al",
    "source": "chat",
    "metadata": {"lang": "en"},
    "pinned": True,
    "agent_id": "agent",
    "thread_id": "thread",
    "occurred_at": MAY,
    "valid_from": MAY,
    "valid_to": MAY + DAY,
    "expires_at": datetime(2999, 1, 1, tzinfo=UTC),
    "id": "mine",
}
WRITES: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "episode": (
        lambda mem, **more: mem.remember_episode(
            "Asked about Paris", context={"user": "Al"}, outcome="success", **more
        ),
        Episode(context={"user": "Al"}, outcome="success"),
        "Asked about Paris",
    ),
    "fact": (
        lambda mem, **more: mem.know_fact(
            "Zoë", "lives in", "東京", content="since May", confidence=0.5, **more
        ),
        Triple(subject="Zoë", predicate="lives in", object="東京", content="since May", confidence=0.5),
        "Zoë lives in 東京\nsince May",
    ),
    "procedure": (
        lambda mem, **more: mem.learn_procedure(
            "send_email", STEPS, description="To a contact", trigger_conditions=["a mail is due"], **more
        ),
        Procedure(
            name="send_email",
            description="To a contact",
            steps=tuple(Step(**step) for step in STEPS),
            trigger_conditions=("a mail is due",),
        ),
        "send_email\nTo a contact\n1. compose → draft ready\n2. send",
    ),
    "reflection": (
        lambda mem, **more: mem.reflect(
            "I guessed the city", "Clarify places", improvement="Ask which Paris", confidence=0.9, **more
        ),
        Reflection(
            content="I guessed the city",
            lesson="Clarify places",
            improvement="Ask which Paris",
            confidence=0.9,
        ),
        "I guessed the city\nLesson: Clarify places\nTo improve: Ask which Paris",
    ),
    "reward": (
        lambda mem, **more: mem.record_reward(
            "battery low",
            "recharge",
            -1.5,
            outcome="restored",
            policy="energy",
            next_state="charged",
            context={"n": 1},
            **more,
        ),
        Reward(
            state="battery low",
            action="recharge",
            reward=-1.5,
            outcome="restored",
            policy="energy",
            next_state="charged",
            context={"n": 1},
        ),
        "battery low\nAction: recharge\nOutcome: restored",
    ),
}


def item_of(mem: Memory, memory_id: str) -> MemoryItem:
    item = mem.get(memory_id)
    assert item is not None
    return item


@pytest.mark.parametrize("kind", WRITES)
def test_each_helper_keeps_all_that_it_is_given(mem: Memory, kind: str) -> None:
    write, detail, text = WRITES[kind]
    item = item_of(mem, write(mem, **GENERAL).id)
    assert (item.kind, item.detail, item.text) == (kind, detail, text)
    assert {name: getattr(item, name) for name in GENERAL} == GENERAL | {"tags": ("x",)}


@pytest.mark.parametrize("kind", WRITES)
def test_what_is_embedded_is_found_by_the_words_of_each_part(mem: Memory, kind: str) -> None:
    write, _, text = WRITES[kind]
    mem.remember("something else altogether")
    written = write(mem).id
    for line in text.splitlines():
        assert mem.recall(line, k=1).ids == [written]
    assert set(mem.recall(text, group_by_kind=True)) >= {kind}


@pytest.mark.parametrize(
    ("filters", "kind"),
    [
        ({"outcome": "success"}, "episode"),
        ({"subject": "Zoë", "predicate": {"in": ["lives in"]}, "object": {"contains": "東"}}, "fact"),
        ({"confidence": {"lt": 0.6}}, "fact"),
        ({"name": "send_email"}, "procedure"),
        ({"lesson": {"contains": "places"}}, "reflection"),
        ({"state": "battery low", "action": "recharge", "next_state": "charged"}, "reward"),
        ({"reward": {"lt": 0}, "policy": "energy"}, "reward"),
    ],
)
def test_the_parts_are_fields_of_filters(mem: Memory, filters: dict[str, Any], kind: str) -> None:
    ids = {name: write(mem).id for name, (write, _, _) in WRITES.items()}
    assert [item.id for item in mem.list(filters=filters).items] == [ids[kind]]


def test_numbers_of_structure_can_be_added_up(mem: Memory) -> None:
    for reward in (1, -3, 0.5):
        mem.record_reward("s", "a", reward, policy="p")
    mem.record_reward("s", "a", 7)
    rows = {row["policy"]: row for row in mem.aggregate("policy", {"sum": "reward"})}
    assert rows["p"]["sum_reward"] == -1.5
    assert rows["default"]["sum_reward"] == 7


def test_a_new_detail_brings_its_text_and_fields(mem: Memory) -> None:
    written = mem.know_fact("Al", "likes", "tea").id
    mem.update(written, detail={"form": "triple", "subject": "Al", "predicate": "likes", "object": "mate"})
    item = item_of(mem, written)
    assert (item.text, mem.list(filters={"object": "mate"}).total) == ("Al likes mate", 1)
    mem.update(written, detail=Triple(subject="Al", predicate="likes", object="rum"), text="my own words")
    assert item_of(mem, written).text == "my own words"
    mem.update(written, detail=None)
    assert item_of(mem, written).detail is None
    assert mem.list(filters={"subject": {"exists": True}}).total == 0


def test_a_fact_under_a_key_supersedes_the_one_before(mem: Memory) -> None:
    mem.know_fact("Al", "lives in", "Paris", key="home")
    mem.know_fact("Al", "lives in", "Rome", key="home")
    assert texts(mem.list().items) == ["Al lives in Rome"]


def test_what_was_true_on_a_date(mem: Memory) -> None:
    """Valid time is apart from when it was said; without `valid_at` nothing is left out."""
    mem.know_fact("Al", "lives in", "Paris", valid_to=MAY)
    mem.know_fact("Al", "lives in", "Rome", valid_from=MAY, valid_to=MAY + DAY)
    mem.know_fact("Al", "lives in", "Oslo", valid_from=MAY + DAY)
    mem.know_fact("Al", "born in", "Bern")
    expected = {MAY - DAY: "Paris", MAY: "Rome", MAY + DAY: "Oslo", MAY + 9 * DAY: "Oslo"}
    for moment, city in expected.items():
        shown = {f"Al lives in {city}", "Al born in Bern"}
        assert set(texts(mem.list(valid_at=moment).items)) == shown
        assert set(texts(mem.recall("where does Al live?", valid_at=moment))) == shown
        assert {row["count"] for row in mem.aggregate(valid_at=moment)} == {2}
    assert mem.list().total == len(mem.recall("where does Al live?")) == 4
    assert mem.list(filters={"valid_from": {"exists": False}}).total == 2


def test_validity_can_be_ended_later(mem: Memory) -> None:
    written = mem.know_fact("Al", "lives in", "Paris", valid_from=MAY).id
    mem.update(written, valid_to=MAY + DAY, reason="moved")
    assert mem.list(valid_at=MAY + DAY).total == 0
    with pytest.raises(InvalidInputError, match="after valid_from") as caught:
        mem.update(written, valid_from=MAY + DAY)
    assert caught.value.field == "valid_to"
    mem.update(written, valid_to=None)
    assert mem.list(valid_at=MAY + DAY).total == 1


def test_the_same_call_again_is_harmless(mem: Memory) -> None:
    for write, _, _ in WRITES.values():
        for _ in range(2):
            write(mem, dedupe=True)
    assert mem.list().total == len(WRITES)


BAD: list[tuple[str, Callable[[Memory], object]]] = [
    ("content", lambda mem: mem.remember_episode(" ")),
    ("content", lambda mem: mem.remember_episode(None)),  # type: ignore[arg-type]
    ("outcome", lambda mem: mem.remember_episode("x", outcome="fine")),
    ("context", lambda mem: mem.remember_episode("x", context=["x"])),  # type: ignore[arg-type]
    ("context", lambda mem: mem.remember_episode("x", context={"x": math.nan})),
    ("subject", lambda mem: mem.know_fact("", "p", "o")),
    ("predicate", lambda mem: mem.know_fact("s", " ", "o")),
    ("object", lambda mem: mem.know_fact("s", "p", "")),
    ("object", lambda mem: mem.know_fact("s", "p", None)),  # type: ignore[arg-type]
    ("object", lambda mem: mem.know_fact("s", "p", 7)),  # type: ignore[arg-type]
    ("object", lambda mem: mem.know_fact("s", "p", "o" * 1_001)),
    ("confidence", lambda mem: mem.know_fact("s", "p", "o", confidence=1.01)),
    ("confidence", lambda mem: mem.know_fact("s", "p", "o", confidence=-0.1)),
    ("confidence", lambda mem: mem.know_fact("s", "p", "o", confidence=math.nan)),
    ("confidence", lambda mem: mem.know_fact("s", "p", "o", confidence=True)),
    ("valid_to", lambda mem: mem.know_fact("s", "p", "o", valid_from=MAY, valid_to=MAY)),
    ("valid_from", lambda mem: mem.know_fact("s", "p", "o", valid_from="soon")),  # type: ignore[arg-type]
    ("name", lambda mem: mem.learn_procedure("", STEPS)),
    ("steps", lambda mem: mem.learn_procedure("p", [])),
    ("steps", lambda mem: mem.learn_procedure("p", "abc")),  # type: ignore[arg-type]
    ("steps", lambda mem: mem.learn_procedure("p", [{"parameters": {}}])),
    ("steps", lambda mem: mem.learn_procedure("p", [{"action": "a", "then": "b"}])),
    ("steps", lambda mem: mem.learn_procedure("p", [{"action": "a", "parameters": {"x": math.inf}}])),
    ("trigger_conditions", lambda mem: mem.learn_procedure("p", STEPS, trigger_conditions="x")),
    ("lesson", lambda mem: mem.reflect("x", "")),
    ("content", lambda mem: mem.reflect("", "x")),
    ("confidence", lambda mem: mem.reflect("x", "y", confidence=2)),
    ("source_episode_id", lambda mem: mem.reflect("x", "y", source_episode_id="")),
    ("state", lambda mem: mem.record_reward("", "a", 1)),
    ("action", lambda mem: mem.record_reward("s", "", 1)),
    ("reward", lambda mem: mem.record_reward("s", "a", math.nan)),
    ("reward", lambda mem: mem.record_reward("s", "a", -math.inf)),
    ("reward", lambda mem: mem.record_reward("s", "a", True)),
    ("reward", lambda mem: mem.record_reward("s", "a", "1")),  # type: ignore[arg-type]
    ("policy", lambda mem: mem.record_reward("s", "a", 1, policy="")),
    ("text", lambda mem: mem.learn_procedure("p", [{"action": "x" * 65_000}, {"action": "y" * 600}])),
    ("detail", lambda mem: mem.remember("x", detail={"form": "triple", "subject": "s"})),
    ("detail", lambda mem: mem.remember("x", detail={"form": "dream"})),
    ("detail", lambda mem: mem.update("m", detail={"form": "reward"})),
    ("sources", lambda mem: mem.remember("x", sources="m")),
    ("sources", lambda mem: mem.remember("x", sources=["a\nb"])),
    ("target", lambda mem: mem.link("m", "m")),
    ("relation", lambda mem: mem.link("m", "n", "")),
]
UNKNOWN: list[tuple[str, Callable[[Memory, str], object]]] = [
    ("source_episode_id", lambda mem, other: mem.reflect("x", "y", source_episode_id=other)),
    ("sources", lambda mem, other: mem.remember("x", sources=["m", other])),
    ("sources", lambda mem, other: mem.know_fact("s", "p", "o", sources=[other])),
    ("sources", lambda mem, other: mem.remember_many(["fine", {"text": "x", "sources": [other]}])),
    ("target", lambda mem, other: mem.link("m", other)),
    ("id", lambda mem, other: mem.link(other, "m")),
    ("id", lambda mem, other: mem.unlink(other, "m")),
]


@pytest.fixture
def kept(store: Store) -> Memory:
    """A handle on a namespace that holds the memory "m"."""
    mem = store.open()
    mem.wait(mem.remember("kept", id="m").position, 60)
    return mem


def refusal(call: Callable[[], object], error: type[MnemologError]) -> tuple[str | None, str]:
    """The field that an error names, and what it says."""
    with pytest.raises(error) as caught:
        call()
    return getattr(caught.value, "field", None), str(caught.value)


def test_bad_parts_are_refused_by_name(store: Store, kept: Memory) -> None:
    before = store.ends()
    for number, (field, call) in enumerate(BAD):
        named, message = refusal(partial(call, kept), InvalidInputError)
        assert (number, named) == (number, field)
        assert field in message
    assert store.ends() == before


def test_a_memory_that_is_not_in_the_namespace_cannot_be_named(store: Store, kept: Memory) -> None:
    """Unknown, of another namespace, forgotten, or expired: nothing is appended."""
    other = store.open("bob")
    other.wait(other.remember("of Bob", id="of Bob").position, 60)
    kept.forget(kept.remember("gone", id="gone").id)
    kept.remember("over", id="over", expires_at=MAY)
    kept.list()
    before = store.ends()
    for number, (field, call) in enumerate(UNKNOWN):
        for name in ("unknown", "of Bob", "gone", "over"):
            named, message = refusal(partial(call, kept, name), NotFoundError)
            assert (number, named) == (number, field)
            assert repr(name) in message
    assert store.ends() == before


def test_memories_made_together_may_rest_on_each_other(mem: Memory) -> None:
    mem.remember_many([{"text": "raw", "id": "raw"}, {"text": "sum", "id": "sum", "sources": ["raw"]}])
    assert item_of(mem, "sum").sources == ("raw",)


def test_heapdb_kinds_and_own_ones_are_just_kinds(mem: Memory) -> None:
    kinds = ["instruction", "preference", "summary", "fact", "note", "episode", "tool_result", "日記"]
    mem.remember_many([{"text": f"a {kind} of tea", "kind": kind} for kind in kinds])
    assert set(mem.recall("tea", k=3, group_by_kind=True)) == set(kinds)


def test_other_namespaces_have_none_of_it(mem: Memory, open_memory: OpenMemory) -> None:
    for write, _, _ in WRITES.values():
        write(mem)
    mem.list()
    assert open_memory("bob").list(filters={"subject": {"exists": True}}).total == 0
