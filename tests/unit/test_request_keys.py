"""Keys of cached answers: the same for requests that mean the same, another for any other."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from mnemolog import async_caches
from mnemolog.caches.caches import Caches
from mnemolog.caches.llm import LlmCache
from mnemolog.caches.requests import call_key, request_key
from mnemolog.caches.sessions import SessionCache
from mnemolog.caches.tool import ToolCache

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def shuffled(value: Any, dice: random.Random) -> Any:
    """The same JSON with its keys in another order, and whole numbers written the other way."""
    if isinstance(value, dict):
        items = [(name, shuffled(one, dice)) for name, one in value.items()]
        dice.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        return [shuffled(one, dice) for one in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        return float(value)
    return value


@examples(150)
@given(args=plain, dice=st.randoms(use_true_random=False))
def test_the_order_of_keys_and_the_way_of_writing_numbers_do_not_matter(
    args: Any, dice: random.Random
) -> None:
    assert call_key("t", args) == call_key("t", shuffled(args, dice))


@examples(150)
@given(one=plain, other=plain)
def test_different_arguments_have_different_keys(one: Any, other: Any) -> None:
    assert (call_key("t", one) == call_key("t", other)) == (_typed(one) == _typed(other))


def _typed(value: Any) -> Any:
    """Equal if and only if the JSON is: Python has True == 1, JSON has not."""
    match value:
        case bool():
            return ("bool", value)
        case dict():
            return {name: _typed(one) for name, one in value.items()}
        case list():
            return [_typed(one) for one in value]
    return value


def test_a_key_stays_the_same_in_every_release() -> None:
    """What a deployment has cached must be found after an update."""
    ask = {"model": "m", "messages": [{"role": "user", "content": "é"}], "temperature": 0.5, "top_p": 1.0}
    assert request_key(ask) == "5b114089fb36cdcf1acb9685c52ee9f0d03d1fc0ae3812cc5c7c278e2cc6219a"
    assert (
        call_key("search", {"q": "é", "k": 3})
        == "7d26ee9c0311b9210c006ca5a3ccdc25095184e4f6f8b7a831b19c00b0839e26"
    )


@pytest.mark.parametrize(
    "same",
    [
        {"stream": True, "stream_options": {"include_usage": True}},
        {"seed": None, "tool_choice": None},
        {"temperature": 1},
        {"tools": [{"type": "function", "function": {"name": "b"}}, {"name": "a", "x": {"y": 1, "z": 2}}]},
    ],
)
def test_what_says_nothing_about_the_answer_does_not_matter(same: dict[str, Any]) -> None:
    tools = [{"name": "a", "x": {"z": 2, "y": 1}}, {"type": "function", "function": {"name": "b"}}]
    ask = {"model": "m", "temperature": 1.0, "tools": tools}
    assert request_key(ask) == request_key({**ask, **same})


CACHES = [
    (Caches, async_caches.AsyncCaches),
    (LlmCache, async_caches.AsyncLlmCache),
    (ToolCache, async_caches.AsyncToolCache),
    (SessionCache, async_caches.AsyncSessionCache),
]


@pytest.mark.parametrize(("plain_cache", "twin"), CACHES)
def test_every_method_of_a_cache_has_a_twin_with_the_same_signature(plain_cache: type, twin: type) -> None:
    methods = {name for name in vars(plain_cache) if not name.startswith("_")} - {"close"}
    assert {name for name in vars(twin) if not name.startswith("_")} == methods
    for name in methods:
        assert inspect.iscoroutinefunction(getattr(twin, name))
        assert inspect.signature(getattr(twin, name)) == inspect.signature(getattr(plain_cache, name))
