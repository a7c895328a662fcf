"""Arguments of a wrong type are errors of ours that name them, whatever Python would have said."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from support.stores import NOON, MovingClock, Store

from mnemolog import Memory
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.namespaces import make_namespace

FAR_AHEAD = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))
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
]


@pytest.fixture
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


@pytest.mark.parametrize("namespace", [5, None, (), ("a", 5), (["x"],), b"x", ("",), ("\ud800",)])
def test_what_is_no_namespace_is_refused(namespace: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make_namespace(namespace)
    assert caught.value.field == "namespace"


def test_forgetting_a_scope_takes_the_expired_and_their_counts_too(folder_store: Store) -> None:
    clock = MovingClock(NOON)
    mem = folder_store.open(clock=clock)
    mem.remember("soon gone", id="m", tags=["t"], ttl_seconds=60)
    mem.feedback("r", used=["m"])
    clock.advance(hours=1)
    assert mem.list().total == 0
    assert mem.forget_scope({"tags": {"contains": "t"}}) == 0
    mem.remember("again", id="m", occurred_at=NOON.astimezone(UTC))
    item = mem.get("m")
    assert item is not None
    assert (item.text, item.use_count) == ("again", 0)
