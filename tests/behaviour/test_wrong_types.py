"""Arguments of a wrong type are errors of ours that name them, whatever Python would have said."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.stores import NOON, MovingClock, Store

import mnemolog
from mnemolog import Memory
from mnemolog.producers import MemoryProducer
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.errors import InvalidInputError, LogUnavailableError
from mnemolog.schemas.namespaces import make_namespace

STRINGS = ("text", "kind", "key", "id", "event_id", "author", "source", "agent_id", "thread_id")
ODD_SECONDS = ("x", None, -1, math.nan, math.inf, True)
FAR_AHEAD = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))


def remembering(fields: dict[str, Any]) -> Callable[[Memory], object]:
    """A call that remembers something good and then something with `fields`, all or nothing."""
    return lambda mem: mem.remember_many([{"text": "good"}, {"text": "x", **fields}])


def opening_with(options: dict[str, Any]) -> Callable[[Path], object]:
    """A call that opens a folder with `options`."""
    return lambda home: mnemolog.open(home, embedder="none", **options)


async def opened(opening: Any) -> object:
    return await opening


CASES: list[tuple[str, Callable[[Any], object]]] = [
    ("position", lambda mem: mem.recall("x", after=123)),
    ("position", lambda mem: mem.get("x", after=b"mnemolog.memories/0/1")),
    ("position", lambda mem: mem.wait(5)),
    ("position", lambda mem: mem.wait(None)),
    ("now", lambda mem: mem.recall("x", now="2024-01-01")),
    ("now", lambda mem: mem.recall("x", now=1714521600)),
    ("now", lambda mem: mem.recall("x", now=FAR_AHEAD)),
    ("kinds", lambda mem: mem.recall("x", kinds=5)),
    ("tags", lambda mem: mem.recall("x", tags=5)),
    ("tags", lambda mem: mem.list(tags="")),
    ("weights", lambda mem: mem.recall("x", weights="recency")),
    ("weights", lambda mem: mem.recall("x", weights=[1])),
    ("filters", lambda mem: mem.recall("x", filters=[])),
    ("filters", lambda mem: mem.list(filters="")),
    ("filters", lambda mem: mem.list(filters=0)),
    ("filters", lambda mem: mem.forget_scope([1])),
    ("filters", lambda mem: mem.forget_scope({"text": {"contains": "\ud800"}})),
    ("filters", lambda mem: mem.forget_scope({"metadata.\ud800": 1})),
    ("filters", lambda mem: mem.forget_scope({"metadata.x": {"in": ["\udc00"]}})),
    ("filters", lambda mem: mem.forget_scope({"importance": {"lt": math.inf}})),
    ("items", lambda mem: mem.remember_many("abc")),
    ("items", lambda mem: mem.remember_many({"text": "abc"})),
    ("items", lambda mem: mem.remember_many(None)),
    ("text", lambda mem: mem.remember_many([1])),
    ("ids", lambda mem: mem.forget(5)),
    ("used", lambda mem: mem.feedback("r", used=5)),
    ("recall_id", lambda mem: mem.feedback(5, used=["a"])),
    ("limit", lambda mem: mem.list(limit=None)),
    ("threshold", lambda mem: mem.recall("x", threshold="0.5")),
    *[("timeout", lambda mem, odd=odd: mem.wait("mnemolog.memories/0/0", odd)) for odd in ODD_SECONDS],
    ("id", lambda mem: mem.get(b"a")),
    ("id", lambda mem: mem.get(["a"])),
    ("id", lambda mem: mem.history(None)),
    ("id", lambda mem: mem.update(b"a", text="x")),
    ("id", lambda mem: mem.supersede(b"a", "b")),
    ("recall_id", lambda mem: mem.feedback(b"r", used=["a"])),
    ("ids", lambda mem: mem.forget([b"a"])),
    ("reason", lambda mem: mem.forget("a", reason=b"x")),
    ("reason", lambda mem: mem.forget_scope({"kind": "k"}, reason=b"x")),
    *[(name, remembering({name: odd})) for name in STRINGS for odd in (b"x", bytearray(b"x"), 5, ["x"])],
    *[("importance", remembering({"importance": odd})) for odd in ("0.5", b"1", True, math.nan, [1])],
    *[(name, remembering({name: odd})) for name in ("pinned", "dedupe") for odd in ("yes", "no", 1, 0, None)],
    *[("importance", lambda mem, odd=odd: mem.update("a", importance=odd)) for odd in ("0.5", True)],
    *[("pinned", lambda mem, odd=odd: mem.update("a", pinned=odd)) for odd in ("yes", 1)],
    *[("ttl_seconds", remembering({"ttl_seconds": odd})) for odd in ("5", True, math.inf, 0, -1)],
    *[("ttl_seconds", lambda mem, odd=odd: mem.set_context("k", 1, ttl_seconds=odd)) for odd in ("5", True)],
    ("tags", lambda mem: mem.remember("x", tags=[b"x"])),
    ("metadata", lambda mem: mem.remember("x", metadata={b"x": 1})),
    ("metadata", lambda mem: mem.remember("x", metadata={"x": {b"x": 1}})),
    ("metadata", lambda mem: mem.remember("x", metadata={"x": [{b"x": 1}]})),
]
OPENINGS: list[tuple[str | None, Callable[[Any], object]]] = [
    ("path", lambda home: mnemolog.open(None, embedder="none")),  # type: ignore[arg-type]
    ("path", lambda home: mnemolog.open(b"x", embedder="none")),  # type: ignore[arg-type]
    ("path", lambda home: mnemolog.open("a\0b", embedder="none")),
    ("wait_seconds", opening_with({"wait_seconds": "x"})),
    ("cache_bytes", opening_with({"cache_bytes": "x"})),
    ("weights", opening_with({"weights": "x"})),
    ("agent_id", opening_with({"agent_id": b"x"})),
    ("kafka", lambda home: mnemolog.connect(None, home, embedder="none")),  # type: ignore[arg-type]
    ("views", lambda home: mnemolog.connect("127.0.0.1:1", None, embedder="none")),  # type: ignore[arg-type]
    ("path", lambda home: mnemolog.open("", embedder="none")),
    ("views", lambda home: mnemolog.connect("127.0.0.1:1", "", embedder="none")),
    ("path", lambda home: MemoryProducer.open("")),
    ("path", lambda home: MemoryProducer.open(None)),  # type: ignore[arg-type]
    ("path", lambda home: MemoryProducer.open("a\0b")),
    ("kafka", lambda home: MemoryProducer.connect(5)),  # type: ignore[arg-type]
    ("kafka", lambda home: MemoryProducer.connect([5])),  # type: ignore[arg-type]
    ("timeout_seconds", lambda home: MemoryProducer.connect("127.0.0.1:1", timeout_seconds="x")),  # type: ignore[arg-type]
    ("source", lambda home: MemoryProducer.open(home).write_jsonl(5)),  # type: ignore[arg-type]
    ("events", lambda home: MemoryProducer.open(home).write_batch(5)),  # type: ignore[arg-type]
    ("event", lambda home: MemoryProducer.open(home).write(5)),  # type: ignore[arg-type]
    ("threads", lambda home: asyncio.run(opened(mnemolog.AsyncMemory.open(home, threads=0)))),
]


@pytest.fixture(scope="module")
def folder_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A folder that all cases share: what is refused leaves nothing in it."""
    home = tmp_path_factory.mktemp("wrong") / "memory"
    made = Store(partial(mnemolog.open, home), lambda: EmbeddedLog(home / "log.sqlite"), "test")
    with made.held:
        yield made


@pytest.fixture(scope="module")
def mem(folder_store: Store) -> Memory:
    return folder_store.open()


@pytest.mark.parametrize(
    ("field", "call"), [pytest.param(*one, id=f"{at}-{one[0]}") for at, one in enumerate(CASES)]
)
def test_a_wrong_type_is_an_error_that_names_the_argument(
    folder_store: Store, mem: Memory, field: str, call: Callable[[Any], object]
) -> None:
    before = folder_store.ends()
    with pytest.raises(InvalidInputError) as caught:
        call(mem)
    assert caught.value.field == field
    assert folder_store.ends() == before


@pytest.mark.parametrize(
    ("field", "opening"), [pytest.param(*one, id=f"{at}-{one[0]}") for at, one in enumerate(OPENINGS)]
)
def test_opening_with_a_wrong_type_is_an_error_that_names_it(
    tmp_path: Path, field: str, opening: Callable[[Any], object]
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        opening(tmp_path)
    assert caught.value.field == field


@pytest.mark.parametrize("opening", [mnemolog.open, MemoryProducer.open])
@pytest.mark.parametrize("folder", ["file", "file/below", "x" * 300, "x" * 300 + "/below"])
def test_a_folder_that_cannot_be_is_an_unavailable_log(
    tmp_path: Path, opening: Callable[[Path], object], folder: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(LogUnavailableError, match=folder.split("/")[0]):
        opening(tmp_path / folder)


@pytest.mark.parametrize("namespace", [5, None, (), ("a", 5), (["x"],), b"x", ("",), ("\ud800",)])
def test_what_is_no_namespace_is_refused(namespace: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make_namespace(namespace)
    assert caught.value.field == "namespace"


def test_forgetting_a_scope_takes_the_expired_and_their_counts_too(folder_store: Store) -> None:
    clock = MovingClock(NOON)
    mem = folder_store.open("scope", clock=clock)
    mem.remember("soon gone", id="m", tags=["t"], ttl_seconds=60)
    mem.feedback("r", used=["m"])
    clock.advance(hours=1)
    assert mem.list().total == 0
    assert mem.forget_scope({"tags": {"contains": "t"}}) == 0
    mem.remember("again", id="m", occurred_at=NOON.astimezone(UTC))
    item = mem.get("m")
    assert item is not None
    assert (item.text, item.use_count) == ("again", 0)
