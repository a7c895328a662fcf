"""Reactors on real tables and a real log: several of them, started anew at any time, evict what one would."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st
from support.properties import examples
from support.shards import EMBEDDER

from mnemolog.processors.inline import InlineRunner
from mnemolog.processors.reactors.reactor import AllReactors
from mnemolog.processors.replay import replay
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.codec import encode
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.evictions import eviction_counts, evictions_pk
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Views
from mnemolog.storage.table import LanceTable

NAMESPACE: Namespace = ("acme", "alice")
LIMIT = 3


class Place:
    """A folder with a log, one writer that applies when told, and reactors that look when told."""

    def __init__(self, home: Path) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.log = EmbeddedLog(home / "log.sqlite")
        self.views = Views(home / "views")
        self.runner = InlineRunner(self.log, self.views, EMBEDDER, self.clock, time.monotonic)
        self.commands = Commands(NAMESPACE, clock=self.clock)
        self.reactors = [self.reactor(), self.reactor()]

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def reactor(self) -> AllReactors:
        """A reactor as a process makes it when it starts."""
        return AllReactors(self.views, self.log, self.clock)

    def append(self, *events: Envelope) -> None:
        self.log.append([record for event in events for record in encode(event)])

    def configure(self, **settings: Any) -> None:
        self.append(*(self.commands.configure(name, value, NAMESPACE) for name, value in settings.items()))

    def settle(self) -> None:
        """Apply and look until nothing goes any more."""
        for _ in range(20):
            self.runner.catch_up()
            if not sum(reactor.look() for reactor in self.reactors):
                return
        raise AssertionError("reactors never come to rest")

    @property
    def table(self) -> LanceTable:
        shard = self.views.shard(self.views.current().generation, 0)
        return LanceTable.open(shard, "memories", MEMORIES, 0)

    def left(self) -> set[str]:
        return {row["id"] for row in self.table.scan() if not row["deleted"]}

    def active(self) -> set[str]:
        return {row["id"] for row in self.table.scan() if not row["deleted"] and row["superseded_by"] is None}

    def counts(self) -> dict[str, int]:
        found = self.table.lookup("pk", [evictions_pk(NAMESPACE)])
        return eviction_counts(found[0] if found else None)


@contextmanager
def a_place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as home:
        place = Place(Path(home))
        try:
            yield place
        finally:
            place.log.close()


STEPS = st.lists(
    st.sampled_from(["remember", "remember", "remember", "update", "apply", "look 0", "look 1", "restart 0"]),
    min_size=4,
    max_size=24,
)


@examples(12)
@given(steps=STEPS)
def test_however_reactors_and_the_writer_take_turns_exactly_the_excess_goes(steps: list[str]) -> None:
    with a_place() as place:
        place.configure(max_items_per_scope=LIMIT)
        place.runner.catch_up()
        made = 0
        for step in steps:
            match step.split():
                case ["remember"]:
                    fields: dict[str, Any] = {"id": f"m{made}", "importance": made % 7 / 7}
                    place.append(place.commands.remember(f"note {made}", **fields))
                    made += 1
                case ["update"] if made:
                    place.append(place.commands.update(f"m{made // 2}", importance=0.95))
                case ["apply"]:
                    place.runner.catch_up()
                case ["look", number]:
                    place.reactors[int(number)].look()
                case ["restart", number]:
                    place.reactors[int(number)] = place.reactor()
        place.settle()
        event(f"{min(made // 6, 2)}: evicts" if made > LIMIT else "evicts nothing")
        assert len(place.left()) == min(made, LIMIT)
        assert place.counts() == ({"capacity": made - LIMIT} if made > LIMIT else {})


def test_two_reactors_on_one_view_decide_the_same_and_it_counts_once() -> None:
    with a_place() as place:
        place.configure(max_items_per_scope=LIMIT)
        place.append(*(place.commands.remember(f"note {at}", id=f"m{at}") for at in range(10)))
        place.runner.catch_up()
        standing = place.now
        place.clock = lambda: standing  # type: ignore[method-assign]
        place.reactors = [place.reactor(), place.reactor()]
        assert [reactor.look() for reactor in place.reactors] == [7, 7]
        place.runner.catch_up()
        assert (len(place.left()), place.counts()) == (LIMIT, {"capacity": 7})
        assert [reactor.look() for reactor in place.reactors] == [0, 0]


def test_a_reactor_does_not_decide_again_before_its_decision_shows() -> None:
    with a_place() as place:
        place.configure(max_items_per_scope=LIMIT)
        place.append(*(place.commands.remember(f"note {at}", id=f"m{at}") for at in range(5)))
        place.runner.catch_up()
        assert [place.reactors[0].look() for _ in range(3)] == [2, 0, 0]


def test_more_than_a_thousand_go_at_once() -> None:
    with a_place() as place:
        place.append(*(place.commands.remember(f"note {at}") for at in range(2_503)))
        place.configure(max_items_per_scope=LIMIT)
        place.settle()
        assert (len(place.left()), place.counts()) == (LIMIT, {"capacity": 2_500})


def test_a_replay_gives_the_same_memories_and_reactors_find_nothing_left_to_do() -> None:
    with a_place() as place:
        place.configure(max_items_per_scope=6, near_duplicate=0.99)
        texts = ["tea", "tea", "boats", "bikes", "rain", "Rome", "tea", "snow", "wind"]
        place.append(*(place.commands.remember(text, id=f"m{at}") for at, text in enumerate(texts)))
        place.settle()
        before = (place.left(), place.active(), place.counts())
        assert before[2] == {"near_duplicate": 2, "capacity": 3}
        assert "m6" in before[1]
        replay(place.log, place.views, EMBEDDER)
        assert (place.left(), place.active(), place.counts()) == before
        place.settle()
        assert (place.left(), place.active(), place.counts()) == before


def test_a_vector_that_comes_late_is_compared_when_it_is_there() -> None:
    with a_place() as place:
        place.configure(near_duplicate=0.99)
        place.append(place.commands.remember("tea", id="old"), place.commands.remember("tea", id="new"))
        place.runner.catch_up()
        rows = place.table.lookup("id", ["new"])
        vector = rows[0]["vector"]
        place.append(place.commands.update("new", importance=0.5))
        place.runner.catch_up()
        blank = {**place.table.lookup("id", ["new"])[0], "vector": None}
        place.table.fill([blank])
        place.settle()
        assert place.active() == {"old", "new"}
        place.table.fill([{**blank, "vector": np.asarray(vector)}])
        place.settle()
        assert place.active() == {"new"}
