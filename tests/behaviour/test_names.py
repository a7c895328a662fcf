"""The names that programs rely on, used exactly as they are promised."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.stores import OpenMemory, texts

import mnemolog
from mnemolog.schemas.positions import Position

WHEN = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)


def test_remember_takes_every_name_and_keeps_every_value(open_memory: OpenMemory) -> None:
    with open_memory(("acme", "alice")) as mem:
        receipt = mem.remember(
            "text", kind="note", importance=.8, tags=["ui"], key="diet", ttl_seconds=600, agent_id="a",
            thread_id="t", author="Alice", source="chat", metadata={"city": "Paris"}, occurred_at=WHEN,
            id="m1",
        )  # fmt: skip
        assert receipt.id == "m1"
        assert isinstance(receipt.position, Position)
        item = mem.get("m1")
        assert item is not None
        assert (item.text, item.kind, item.importance, item.tags) == ("text", "note", 0.8, ("ui",))
        assert (item.key, item.agent_id, item.thread_id) == ("diet", "a", "t")
        assert (item.author, item.source, item.metadata) == ("Alice", "chat", {"city": "Paris"})
        assert item.occurred_at == WHEN
        assert item.expires_at is not None
        assert item.namespace == mem.namespace


def test_recall_takes_every_name(open_memory: OpenMemory) -> None:
    with open_memory(("acme", "alice")) as mem:
        receipt = mem.remember("the question is answered", tags=["ui"], metadata={"city": "Paris"})
        hits = mem.recall(
            "question", k=5, kinds=["note"], tags=["ui"], filters={"metadata.city": {"eq": "Paris"}},
            threshold=None, weights=None, after=receipt.position, group_by_kind=False, now=None,
        )  # fmt: skip
        assert hits.recall_id
        assert hits[0].memory.id == receipt.id
        assert hits[0].memory.text == "the question is answered"
        assert hits[0].score > 0
        assert hits[0].factors["relevance"].value > 0
        assert "relevance" in hits[0].explain()


def test_recall_takes_the_other_names_too(open_memory: OpenMemory) -> None:
    with open_memory() as mem:
        receipt = mem.remember("the question is answered")
        hits = mem.recall("question", min_score=0.0, include_superseded=True, after=str(receipt.position))
        assert (hits.ids, hits.query, hits.warnings, len(hits)) == ([receipt.id], "question", (), 1)
        assert hits.candidates == 1
        assert [hit.memory.id for hit in hits] == [receipt.id]
        assert mem.recall("question", group_by_kind=True)["note"].ids == [receipt.id]


def test_the_other_verbs(open_memory: OpenMemory) -> None:
    with open_memory(("acme", "alice")) as mem:
        one, other = mem.remember("one question"), mem.remember("other question")
        hits = mem.recall("question")
        given = mem.feedback(hits.recall_id, used=[one.id], ignored=[other.id])
        assert given.position.topic == "mnemolog.feedback"
        mem.update(one.id, text="one answer")
        mem.forget(other.id, reason="wrong")
        item = mem.get(one.id)
        assert item is not None
        assert (item.text, item.use_count) == ("one answer", 1)
        assert mem.get(other.id) is None
        assert [change.type for change in mem.history(one.id)] == ["MemoryRemembered", "MemoryUpdated"]
        assert mem.history(other.id)[-1].reason == "wrong"
        page = mem.list(limit=20, offset=0)
        assert (texts(page.items), page.total) == (["one answer"], 1)


def test_supersede_forget_scope_stats_lag_and_wait(open_memory: OpenMemory) -> None:
    with open_memory() as mem:
        old, new = mem.remember("old"), mem.remember("new", kind="fact")
        mem.wait(mem.supersede(old.id, new.id, reason="moved").position, timeout=60)
        stats = mem.stats()
        assert (stats["memories"], stats["active"], stats["kinds"]) == (2, 1, {"note": 1, "fact": 1})
        assert mem.forget_scope({"kind": "fact"}, dry_run=True) == 1
        assert mem.forget_scope({"kind": "fact"}, reason="done") == 1
        assert [receipt.id for receipt in mem.remember_many(["a", {"text": "b", "id": "b"}])][1] == "b"
        topics = {"mnemolog.memories", "mnemolog.feedback", "mnemolog.context", "mnemolog.config"}
        assert mem.stats()["lag"] == dict.fromkeys(topics, 0)
        assert set(mem.lag()) == topics


def test_a_folder_and_a_namespace_are_all_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with mnemolog.open("./memory", namespace=("acme", "alice"), embedder="none") as mem:
        receipt = mem.remember("kept")
    with mnemolog.open("./memory", namespace=("acme", "alice"), embedder="none") as again:
        assert again.recall("kept", after=receipt.position).ids == [receipt.id]


def test_every_error_is_one_of_ours(open_memory: OpenMemory) -> None:
    mem = open_memory()
    with pytest.raises(mnemolog.MnemologError):
        mem.remember("")
    with pytest.raises(mnemolog.MnemologError):
        mem.update("unknown", text="x")
    mem.close()
    with pytest.raises(mnemolog.MnemologError):
        mem.recall("x")
