"""Settings that change while programs run: who wins, who follows, and what is refused or ignored."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.stores import NOON, OpenMemory, Store, texts
from support.workers import wait_until

from mnemolog import Memory, Weights
from mnemolog.query.config import Config
from mnemolog.schemas import events as ev
from mnemolog.schemas.codec import encode
from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.namespaces import make_namespace


@pytest.fixture
def globally(mem: Memory) -> Iterator[Callable[..., None]]:
    """Makes global settings, and takes them back at the end: the tests of this folder share a broker."""
    made: set[str] = set()

    def change(**settings: Any) -> None:
        made.update(name for name in settings if name != "weights")
        mem.set_config(globally=True, **settings)

    yield change
    mem.set_config(globally=True, **dict.fromkeys(made | {"scoring"}))  # type: ignore[arg-type]
    mem.current_config()


def test_nothing_set_is_the_handles_own(open_memory: OpenMemory) -> None:
    mine = Weights(recency=0.7)
    assert open_memory(weights=mine).current_config() == Config(weights=mine)
    assert open_memory().current_config() == Config()


def test_settings_are_made_changed_and_taken_back(mem: Memory) -> None:
    mem.set_config(threshold=0.8, max_items_per_scope=1_000_000, near_duplicate=None)
    mem.set_config(weights={"recency": 1.0, "vector": 0.2}, half_life=3600.0, recency_floor=0.1)
    config = mem.current_config()
    assert (config.threshold, config.max_items_per_scope, config.near_duplicate) == (0.8, 1_000_000, None)
    expected = Weights(recency=1.0, vector=0.2, half_life=3600.0, recency_floor=0.1)
    assert config.weights == expected
    assert config.origins == dict.fromkeys(
        ["threshold", "max_items_per_scope", "weights.recency", "weights.vector", "weights.half_life",
         "weights.recency_floor"], "namespace",
    )  # fmt: skip
    mem.set_config(threshold=None, weights={"recency": None})
    config = mem.current_config()
    assert (config.threshold, config.weights.recency, config.weights.vector) == (None, 0.0, 0.2)


def test_a_preset_gives_weights_that_single_ones_change(mem: Memory) -> None:
    mem.set_config(scoring="ongoing", weights={"vector": 0.1})
    config = mem.current_config()
    assert config.scoring == "ongoing"
    assert (config.weights.recency > 0, config.weights.vector) == (True, 0.1)
    mem.set_config(scoring="default")
    assert mem.current_config().weights == Weights(vector=0.1)


def test_the_call_beats_the_namespace_beats_all_beats_the_handle(
    open_memory: OpenMemory, globally: Callable[..., None]
) -> None:
    mem = open_memory("carol", weights=Weights(recency=0.1, importance=0.3))
    mem.remember("a red bike", importance=0.5)

    def exponents(**call: float) -> dict[str, float]:
        (hit,) = mem.recall("bike", weights=call)
        return {name: factor.exponent for name, factor in hit.factors.items()}

    assert (exponents()["recency"], exponents()["importance"]) == (0.1, 0.3)
    globally(threshold=1.9)
    globally(weights={"recency": 0.2})
    wait_until(lambda: mem.current_config().weights.recency == 0.2, "the global setting", 20)
    assert (exponents()["recency"], exponents()["importance"]) == (0.2, 0.3)
    mem.set_config(weights={"recency": 0.4})
    assert exponents()["recency"] == 0.4
    assert exponents(recency=0.8)["recency"] == 0.8
    config = mem.current_config()
    assert (config.origins["weights.recency"], config.origins["threshold"]) == ("namespace", "global")
    mem.set_config(weights={"recency": None})
    assert exponents()["recency"] == 0.2
    globally(weights={"recency": None})


def test_every_reader_follows(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    one.remember("a red bike")
    assert len(other.recall("boat", after=one.remember("a blue boat").position)) == 2
    one.set_config(threshold=0.0)
    assert len(one.recall("boat")) == 0
    wait_until(lambda: len(other.recall("boat")) == 0, "the other handle to follow", 20)
    assert len(other.recall("boat", threshold=2.0)) == 2
    one.set_config(threshold=None)
    assert len(one.recall("boat")) == 2


def test_a_namespace_keeps_its_settings_to_itself(open_memory: OpenMemory) -> None:
    alice, bob = open_memory("alice"), open_memory("bob")
    receipt = alice.set_config(threshold=0.5)
    assert bob.current_config(after=receipt.position) == Config()
    assert open_memory("alice").current_config(after=receipt.position).threshold == 0.5


BAD: list[tuple[str, dict[str, Any]]] = [
    ("threshold", {"threshold": 2.1}),
    ("threshold", {"threshold": -0.1}),
    ("threshold", {"threshold": math.nan}),
    ("threshold", {"threshold": "low"}),
    ("threshold", {"threshold": True}),
    ("scoring", {"scoring": "best"}),
    ("scoring", {"scoring": 1}),
    ("scoring", {"scoring": ""}),
    ("weights", {"weights": {"relevence": 1.0}}),
    ("weights", {"weights": [1]}),
    ("weights", {"weights": None}),
    ("weights", {"weights": {1: 2}}),
    ("recency", {"weights": {"recency": -1}}),
    ("recency", {"weights": {"recency": math.inf}}),
    ("half_life", {"half_life": 0}),
    ("half_life", {"half_life": "a week"}),
    ("recency_floor", {"recency_floor": 1.5}),
    ("max_items_per_scope", {"max_items_per_scope": 0}),
    ("max_items_per_scope", {"max_items_per_scope": 2.5}),
    ("max_items_per_scope", {"max_items_per_scope": True}),
    ("near_duplicate", {"near_duplicate": 0}),
    ("near_duplicate", {"near_duplicate": 1.01}),
    ("colour", {"colour": "red"}),
    ("globally", {"globally": "yes", "threshold": 1.0}),
]


@pytest.mark.parametrize(
    ("field", "settings"), [pytest.param(*case, id=f"{case[0]}-{at}") for at, case in enumerate(BAD)]
)
def test_a_setting_that_makes_no_sense_is_refused(
    folder_store: Store, field: str, settings: dict[str, Any]
) -> None:
    mem = folder_store.open()
    before = folder_store.ends()
    with pytest.raises(InvalidInputError) as caught:
        mem.set_config(**{"threshold": 1.0, **settings})
    assert caught.value.field == field
    assert folder_store.ends() == before
    assert mem.current_config() == Config()


def test_nothing_to_set_is_refused(folder_store: Store) -> None:
    with pytest.raises(InvalidInputError, match="threshold"):
        folder_store.open().set_config()


def append_config(store: Store, mem: Memory, setting: str, value: Any) -> None:
    """What another release might append."""
    event = ev.ConfigChanged(
        event_id=uuid.uuid4().hex,
        namespace=mem.namespace,
        occurred_at=NOON,
        setting=setting,
        value=value,
    )
    log = store.log()
    try:
        (position,) = log.append(encode(event))
    finally:
        log.close()
    mem.wait(position, 60)


def test_readers_ignore_what_makes_no_sense_with_one_warning(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    mem = store.open()
    mem.set_config(threshold=1.5)
    odd = {"threshold": "low", "weights.mood": 1, "telepathy": True, "scoring": "best"}
    for setting, value in odd.items():
        append_config(store, mem, setting, value)
    mem.set_config(max_items_per_scope=7)
    with caplog.at_level(logging.WARNING, "mnemolog.query"):
        for _ in range(3):
            config = mem.current_config()
    assert (config.threshold, config.weights, config.max_items_per_scope) == (None, Weights(), 7)
    read = [record for record in caplog.records if record.name.startswith("mnemolog.query")]
    assert len(read) == len(odd)
    mem.recall("anything")


def test_nobody_can_name_the_place_of_settings_for_all(open_memory: OpenMemory) -> None:
    with pytest.raises(InvalidInputError):
        make_namespace(EVERYWHERE)
    with pytest.raises(ValueError, match="namespace"):
        ev.MemoryForgotten(event_id="e", namespace=EVERYWHERE, occurred_at=NOON, memory_ids=("m",))
    odd = open_memory(("|", "threshold"))
    odd.remember("x")
    odd.set_config(threshold=0.3)
    assert open_memory(("|",)).current_config(after=odd.remember("y").position) == Config()


def test_settings_survive_forgetting_and_a_new_handle(open_memory: OpenMemory) -> None:
    mem = open_memory()
    mem.remember("x")
    receipt = mem.set_config(threshold=0.9)
    mem.forget_scope(everything=True)
    assert texts(mem.list().items) == []
    assert open_memory().current_config(after=receipt.position).threshold == 0.9
