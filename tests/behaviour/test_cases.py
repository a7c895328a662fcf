"""Inputs that broke other systems, each as its rule."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.stores import NOON, MovingClock, OpenMemory, at_once, texts

from mnemolog import Memory
from mnemolog.schemas.errors import InvalidInputError

FAR = datetime(9999, 12, 31, tzinfo=UTC)


@pytest.mark.parametrize("how", [{"key": "diet"}, {"dedupe": True}])
def test_the_same_text_again_is_one_memory_that_was_touched(mem: Memory, how: dict[str, object]) -> None:
    first, second = (mem.remember("vegetarian", **how) for _ in range(2))  # type: ignore[arg-type]
    assert first.id == second.id
    page = mem.list()
    assert (page.total, page.items[0].text) == (1, "vegetarian")
    assert page.items[0].touched_at is not None


def test_the_same_text_twice_without_a_key_is_two_memories(mem: Memory) -> None:
    assert mem.remember("vegetarian").id != mem.remember("vegetarian").id
    assert mem.list().total == 2


def test_forgetting_one_scope_leaves_the_others(open_memory: OpenMemory) -> None:
    alice, bob = open_memory(("acme", "alice")), open_memory(("acme", "bob"))
    for mem in (alice, bob):
        mem.remember_many(["one", "two"], tags=["t"], agent_id="a")
    assert alice.forget_scope({"agent_id": "a"}) == 2
    assert (alice.list().total, bob.list().total) == (0, 2)
    assert texts(bob.recall("one"))[0] == "one"


def test_forgetting_without_a_scope_is_refused(mem: Memory) -> None:
    mem.remember("kept")
    nothing: list[dict[str, Any] | None] = [None, {}]
    for filters in nothing:
        with pytest.raises(InvalidInputError, match="everything=True"):
            mem.forget_scope(filters)
    assert mem.list().total == 1


@pytest.fixture
def far_zone(monkeypatch: pytest.MonkeyPatch) -> object:
    """This process in a zone that is a day off at times; the zone is set back at the end."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/Los_Angeles")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_zone")
def test_a_day_in_a_filter_is_that_day_in_utc_whatever_the_zone(mem: Memory) -> None:
    mem.remember("early", occurred_at=datetime(2026, 5, 1, 2, tzinfo=UTC))
    mem.remember("naive", occurred_at=datetime(2026, 5, 1, 3))
    mem.remember("day before", occurred_at=datetime(2026, 4, 30, 23, 59, tzinfo=UTC))
    for day in ("2026-05-01", datetime(2026, 5, 1).date()):
        assert texts(mem.list(filters={"occurred_at": {"eq": day}}).items) == ["naive", "early"]


def test_concurrent_adds_under_one_id_are_one_memory(open_memory: OpenMemory) -> None:
    handles = [open_memory(), open_memory()]
    at_once([lambda m=m: m.remember("fact", id="once") for m in handles * 4], threads=8)  # type: ignore[misc]
    for mem in handles:
        assert (mem.list().total, len(mem.history("once"))) == (1, 1)


def test_a_scope_inside_metadata_is_plain_metadata(open_memory: OpenMemory) -> None:
    alice, bob = open_memory("alice"), open_memory("bob")
    scope = {"namespace": "bob", "user_id": "bob", "id": "other"}
    receipt = alice.remember("mine", metadata=scope)
    alice.update(receipt.id, text="still mine")
    alice.update(receipt.id, metadata=scope | {"deleted": True})
    item = alice.get(receipt.id)
    assert item is not None
    assert (item.namespace, item.metadata) == (alice.namespace, scope | {"deleted": True})
    assert bob.list(after=receipt.position).total == 0


def test_an_update_of_the_text_leaves_all_else(mem: Memory) -> None:
    receipt = mem.remember(
        "old", kind="fact", tags=["a", "b"], importance=0.9, metadata={"x": [1]}, key="k", occurred_at=NOON,
        author="Alice", source="chat", agent_id="a", thread_id="t", pinned=True, expires_at=FAR,
    )  # fmt: skip
    before = mem.get(receipt.id)
    mem.update(receipt.id, text="new")
    after = mem.get(receipt.id)
    assert before is not None
    assert after is not None
    changed = {name for name in before.__slots__ if getattr(before, name) != getattr(after, name)}
    assert changed == {"text", "updated_at"}
    assert texts(mem.recall("new")) == ["new"]


def test_a_time_in_the_far_future_breaks_no_read(mem: Memory) -> None:
    mem.remember("for ever", expires_at=FAR)
    mem.remember("science fiction", occurred_at=FAR)
    assert texts(mem.list().items) == ["science fiction", "for ever"]
    assert texts(mem.recall("for ever"))[0] == "for ever"


def test_the_last_page_and_the_total(mem: Memory) -> None:
    mem.remember_many([{"text": f"row {number}", "id": f"m{number}"} for number in range(25)])
    first, second = mem.list(limit=20), mem.list(limit=20, offset=20)
    assert (len(second.items), second.total, first.total) == (5, 25, 25)
    assert len({item.id for page in (first, second) for item in page.items}) == 25
    assert (mem.list(offset=25).items, mem.list(offset=25).total) == ([], 25)


ALIKE = [
    ("john_doe",),
    ("john-doe",),
    ("john%doe",),
    ("john*doe",),
    ("john", "doe"),
    ("john/doe",),
    ("john",),
]


def test_namespaces_that_look_alike_never_meet(open_memory: OpenMemory) -> None:
    handles = [open_memory(name) for name in ALIKE]
    for name, mem in zip(ALIKE, handles, strict=True):
        mem.remember(f"secret of {name}", key="secret", id="m")
    for name, mem in zip(ALIKE, handles, strict=True):
        assert texts(mem.recall("secret")) == texts(mem.list().items) == [f"secret of {name}"]
    handles[0].forget_scope(everything=True)
    assert [mem.list().total for mem in handles] == [0, 1, 1, 1, 1, 1, 1]


def test_an_expired_memory_is_never_returned(open_memory: OpenMemory) -> None:
    clock = MovingClock(datetime.now(UTC))
    mem = open_memory(clock=clock)
    mem.remember("short lived", id="m", ttl_seconds=60)
    mem.remember("long lived", expires_at=clock.now + timedelta(seconds=61))
    assert len(mem.recall("lived")) == 2
    clock.advance(seconds=60)
    assert texts(mem.recall("lived")) == texts(mem.list().items) == ["long lived"]
    assert mem.get("m") is None
    assert texts(mem.recall("lived", group_by_kind=True)["note"]) == ["long lived"]
    assert mem.forget_scope({"id": "m"}, dry_run=True) == 0
    assert mem.stats()["memories"] == 1


def test_the_first_call_ever_may_be_a_recall(mem: Memory) -> None:
    assert list(mem.recall("anything")) == []


def test_every_read_of_nothing_is_empty(mem: Memory) -> None:
    assert (mem.list().items, mem.list().total, mem.get("m"), mem.history("m")) == ([], 0, None, [])
    assert mem.recall("anything", group_by_kind=True) == {}
    assert mem.stats()["memories"] == 0
    assert mem.forget_scope(everything=True) == 0


def test_a_forgotten_namespace_can_be_loaded_again(mem: Memory) -> None:
    source: list[dict[str, Any]] = [
        {"text": "by id", "id": "m1"},
        {"text": "by key", "key": "k"},
        {"text": "by text", "dedupe": True},
    ]
    for _ in range(2):
        mem.remember_many(source)
        assert sorted(texts(mem.list().items)) == ["by id", "by key", "by text"]
        assert mem.forget_scope(everything=True) == 3
        assert mem.list().total == 0
    mem.remember_many(source)
    assert sorted(texts(mem.recall("by"))) == ["by id", "by key", "by text"]


def test_two_concurrent_supersedes_leave_one_active(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    one.remember("meat", key="diet")
    receipts = at_once(
        [lambda: one.remember("fish", key="diet"), lambda: other.remember("plants", key="diet")]
    )
    last = max(receipts, key=lambda receipt: receipt.position.offset)
    ids = [receipt.id for receipt in receipts]
    one.wait(last.position, 60)
    active = one.list(filters={"key": "diet"}).items
    assert [item.id for item in active] == [last.id]
    (loser,) = set(ids) - {active[0].id}
    lost = one.get(loser)
    assert lost is not None
    assert lost.superseded_by == active[0].id
    assert [change.type for change in one.history(loser)] == ["MemoryRemembered", "MemoryRemembered"]
    assert one.list(filters={"key": "diet"}, include_superseded=True).total == 3


def test_a_time_ahead_of_the_clock_counts_as_now(open_memory: OpenMemory) -> None:
    mem = open_memory(clock=MovingClock(NOON))
    mem.remember("the plan", id="future", occurred_at=NOON + timedelta(days=10), thread_id="a")
    mem.remember("the plan", id="fresh", occurred_at=NOON, thread_id="b")
    hits = {hit.memory.id: hit for hit in mem.recall("the plan", weights={"recency": 1.0})}
    assert hits["future"].factors["recency"].value == 1.0
    assert math.isfinite(hits["future"].score)
    assert hits["future"].score <= hits["fresh"].score


def test_a_chinese_word_inside_a_sentence_is_found_by_keyword(open_memory: OpenMemory) -> None:
    mem = open_memory(embedder="none")
    mem.remember("我昨天去了北京的故宫博物院", id="m")
    mem.remember("今天天气很好")
    hit = mem.recall("北京")[0]
    assert (hit.memory.id, hit.origins) == ("m", ("keyword",))


def test_of_one_key_twice_in_a_batch_the_last_wins(mem: Memory) -> None:
    mem.remember_many([{"text": "first", "key": "k"}, {"text": "second", "key": "k"}])
    assert texts(mem.list().items) == ["second"]
    mem.remember_many([{"text": "third", "id": "m"}, {"text": "fourth", "id": "m"}])
    item = mem.get("m")
    assert item is not None
    assert item.text == "fourth"


@pytest.mark.parametrize("odd", ["x' OR 1=1 --", "O'Brien", 'say "hi"', "a\\", "%", "_", "🦊", "it''s"])
def test_quotes_select_only_the_exact_row(mem: Memory, odd: str) -> None:
    mem.remember_many(["one", "two"], tags=["plain"], author="x", metadata={"who": "x"})
    mem.remember("odd one", id=odd, tags=[odd], author=odd, metadata={"who": odd})
    item = mem.get(odd)
    assert item is not None
    assert (item.id, item.tags) == (odd, (odd,))
    for filters in ({"id": odd}, {"author": odd}, {"tags": {"contains": odd}}, {"metadata.who": odd}):
        assert texts(mem.list(filters=filters).items) == ["odd one"]
        assert texts(mem.recall("one", filters=filters)) == ["odd one"]
    mem.forget(odd)
    assert sorted(texts(mem.list().items)) == ["one", "two"]


def test_a_text_of_emoji_alone_is_found_by_keyword(open_memory: OpenMemory) -> None:
    mem = open_memory(embedder="none")
    mem.remember_many([{"text": "🦊🎉", "id": "fox"}, {"text": "a fox at a party", "id": "words"}])
    hit = mem.recall("🎉")[0]
    assert (hit.memory.id, hit.origins) == ("fox", ("keyword",))


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u3000"])
def test_a_blank_text_is_rejected_and_a_batch_is_checked_before_anything_is_written(
    mem: Memory, text: str
) -> None:
    with pytest.raises(InvalidInputError, match="empty or blank"):
        mem.remember_many(["good", text])
    assert mem.list().total == 0
