"""A reader of real tables: kept fresh while they change, over flips, and with more namespaces than fit."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.caches import contents
from support.histories import NAMESPACES, START, Step, histories, to_records
from support.properties import examples
from support.shards import EMBEDDER

import mnemolog
from mnemolog.processors.inline import InlineRunner
from mnemolog.processors.replay import replay
from mnemolog.processors.shards import make_generation
from mnemolog.producers.clock import utc_now
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.query.live import live_at
from mnemolog.query.reader import ViewReader
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import ViewError, ViewMissingError
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.rows import memories_schema
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Views
from mnemolog.storage.looks import looking_once
from mnemolog.storage.table import LanceTable, connect_shard

ALICE = NAMESPACES[0]


class Place:
    """A log, its views, and what keeps them up."""

    def __init__(self, folder: Path, log: EmbeddedLog) -> None:
        self.log = log
        self.views = Views(folder / "views")
        self.runner = InlineRunner(log, self.views, EMBEDDER, utc_now, time.monotonic)

    def write(self, *events: Envelope) -> None:
        """Append events and apply them."""
        self.log.append([record for event in events for record in encode(event)])
        self.runner.catch_up()


@contextmanager
def a_place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder, EmbeddedLog(Path(folder) / "log.sqlite") as log:
        yield Place(Path(folder), log)


@pytest.fixture
def place() -> Iterator[Place]:
    with a_place() as made:
        yield made


def read(reader: ViewReader, namespace: Namespace = ALICE) -> dict[str, Any]:
    with reader.namespace(namespace) as cache:
        return contents(cache)


def make(namespace: Namespace = ALICE) -> Commands:
    return Commands(namespace)


@contextmanager
def many_namespaces(number: int) -> Iterator[None]:
    """So many are enough for one question about a table to answer for all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mnemolog.query.read_namespaces._MANY", number)
        yield


@examples(12)
@given(many=st.sampled_from([1, 2, 8]), steps=histories(40), data=st.data())
def test_a_reader_that_stayed_sees_what_a_new_one_sees(
    many: int, steps: list[Step], data: st.DataObject
) -> None:
    """Over every batch, and over a flip to a generation that was built anew."""
    with many_namespaces(many), a_place() as place:
        reader = ViewReader(place.views)
        place.runner.catch_up()
        records = to_records(steps)
        while records:
            size = data.draw(st.integers(1, len(records)), label="batch")
            place.log.append(records[:size])
            records = records[size:]
            place.runner.catch_up()
            if data.draw(st.booleans(), label="flip"):
                replay(place.log, place.views, EMBEDDER)
            for namespace in NAMESPACES:
                assert read(reader, namespace) == read(ViewReader(place.views), namespace)


@examples(3)
@given(steps=histories(40), data=st.data())
def test_the_order_of_memories_hangs_on_the_log_and_not_on_the_batches(
    steps: list[Step], data: st.DataObject
) -> None:
    """Of equals a recall takes those that come first: from any views of one log they are the same."""
    records = to_records(steps)
    found = []
    with a_place() as one, a_place() as other:
        for place in (one, other):
            place.runner.catch_up()
            reader, left = ViewReader(place.views), records
            while left:
                size = data.draw(st.integers(1, len(left)), label="batch")
                place.log.append(left[:size])
                left = left[size:]
                place.runner.catch_up()
                for namespace in NAMESPACES:
                    read(reader, namespace)
            found += [ordered(reader), ordered(ViewReader(place.views))]
    assert found == [found[0]] * 4


def ordered(reader: ViewReader) -> list[list[str]]:
    """The memories of each namespace as a recall goes through them."""
    orders = []
    for namespace in NAMESPACES:
        with reader.namespace(namespace) as cache:
            names = {slot: pk for pk, slot in cache.slot_of.items()}
            orders.append([names[slot] for slot in live_at(cache, START.timestamp()).slots.tolist()])
    return orders


@pytest.mark.parametrize("namespace", [("acme",), ("7",)])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_memory_used_again_after_it_was_forgotten_counts_for_every_reader(
    place: Place, namespace: Namespace, at_once: bool
) -> None:
    """The tombstones of what was said before must hide nothing, in whatever order the rows come."""
    mine = make(namespace)
    events: list[Envelope] = [
        mine.remember("text", id="m"),
        mine.feedback("before", used="m"),
        mine.forget("m"),
    ]
    events += [mine.remember("text again", id="m"), mine.feedback("after", used="m")]
    for batch in [events] if at_once else [[event] for event in events]:
        place.write(*batch)
    (found,) = read(ViewReader(place.views), namespace).values()
    assert found["usage"]["use_count"] == 1


def test_a_flip_to_views_that_lag_is_followed_once_they_have_what_was_seen(place: Place) -> None:
    place.write(make().remember("text", id="m"))
    reader = ViewReader(place.views)
    before, partition = read(reader), reader.partition_of(ALICE)
    assert before
    old = reader.manifest()
    lagging = make_generation(place.views, old.partitions, EMBEDDER)
    place.views.make_live(lagging.generation)
    assert reader.manifest() == old
    assert read(reader) == before
    assert reader.applied(MEMORIES, partition) == 1
    assert [row["id"] for row in reader.rows(ALICE, ["m"])] == ["m"]
    place.runner.catch_up()
    assert reader.manifest() == lagging
    assert read(reader) == before


def test_the_views_before_a_flip_may_go(place: Place) -> None:
    place.write(make().remember("text", id="m"))
    reader = ViewReader(place.views)
    before, old = read(reader), reader.manifest().generation
    replay(place.log, place.views, EMBEDDER)
    shutil.rmtree(Path(place.views.root) / old)
    assert read(reader) == before
    assert reader.manifest().generation != old


@pytest.mark.parametrize("many", [1, 8])
def test_vectors_that_come_late_are_seen(place: Place, many: int) -> None:
    with many_namespaces(many):
        _see_vectors_that_come_late(place)


def _see_vectors_that_come_late(place: Place) -> None:
    place.write(make().remember("text", id="m"))
    before = read(ViewReader(place.views))
    table = place.views.shard(place.views.current().generation, 0).open_table("memories")
    table.update(where="id = 'm'", values={"vector": None})
    reader = ViewReader(place.views)
    (without,) = read(reader).values()
    assert not without["flags"][0]
    place.write(make(("acme", "other")).remember("that all see", id="m"))
    assert list(read(reader).values()) == [without]
    assert place.runner._writer(0).fill_pending() == (1, 0)
    assert read(reader) == read(ViewReader(place.views)) == before


def test_there_is_nothing_to_read_before_anything_was_applied(tmp_path: Path) -> None:
    reader = ViewReader(Views(tmp_path))
    with pytest.raises(ViewMissingError), reader.namespace(ALICE):
        pass
    assert reader.rows(ALICE, ["m"]) == []
    assert reader.applied("mnemolog.memories", 0) == 0


def test_more_namespaces_than_fit_are_read_all_the_same(place: Place) -> None:
    names = [("acme", str(number)) for number in range(12)]
    place.write(*(make(name).remember(f"of {name}", id="m") for name in names))
    reader = ViewReader(place.views, cache_bytes=1)
    for _ in range(2):
        for name in names:
            (found,) = read(reader, name).values()
            assert found["row"]["text"] == f"of {name}"
    assert len(reader._read) == 1


def noted(names: list[str], method: Callable[..., Any]) -> Callable[..., Any]:
    """The same method, with its name put down at each call."""

    def call(*given: Any) -> Any:
        names.append(method.__name__)
        return method(*given)

    return call


def test_one_question_about_a_table_answers_for_all_namespaces(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [("acme", str(number)) for number in range(12)]
    place.write(*(make(name).remember(f"of {name}", id="m") for name in names))
    reader, asked = ViewReader(place.views), list[str]()
    for method in (LanceTable.where, LanceTable.count):
        monkeypatch.setattr(LanceTable, method.__name__, noted(asked, method))
    for round_ in range(4):
        place.write(make(names[round_]).remember("new", id=f"n{round_}"))
        del asked[:]
        found = {name: {one["row"]["text"] for one in read(reader, name).values()} for name in names}
        for at, name in enumerate(names):
            assert found[name] == {f"of {name}", *(["new"] if at <= round_ else [])}
    assert len(asked) < len(names) / 2


def test_a_namespace_is_read_whole_while_it_changes(place: Place) -> None:
    """Each batch puts two memories anew; no reader ever sees one of a batch without the other."""
    alice = make()
    place.write(*(alice.remember("text 0", id=one) for one in "ab"))
    done, torn = threading.Event(), list[set[str]]()
    readers = [ViewReader(place.views), ViewReader(place.views)]

    def look(reader: ViewReader) -> None:
        while not done.is_set():
            texts = {found["row"]["text"] for found in read(reader).values()}
            if len(texts) != 1:
                torn.append(texts)

    threads = [threading.Thread(target=look, args=(reader,)) for reader in [*readers, *readers]]
    for thread in threads:
        thread.start()
    for number in range(1, 30):
        place.write(*(alice.remember(f"text {number}", id=one) for one in "ab"))
    done.set()
    for thread in threads:
        thread.join()
    assert torn == []


def test_what_a_fresh_stamp_can_not_tell_the_names_of_the_versions_do(tmp_path: Path) -> None:
    """Every commit is seen, also several within one stamp; an unchanged table keeps its version."""
    schema = memories_schema(None)
    table = LanceTable.create(connect_shard(tmp_path), "memories", schema, "mnemolog.memories", 0)
    known = None
    for offset in range(12):
        table.commit([], offset)
        state = table.state(known)
        assert state.version == table.lance.version
        assert table.state(state).version == state.version
        assert state != known
        known = state


def test_within_one_look_a_table_stays_as_it_was_first_seen(tmp_path: Path) -> None:
    schema = memories_schema(None)
    table = LanceTable.create(connect_shard(tmp_path), "memories", schema, "mnemolog.memories", 0)
    with looking_once():
        before = table.state()
        table.commit([], 0)
        assert table.state() == before
    assert table.state(before).version == before.version + 1


def test_a_named_author_is_the_same_one_when_the_namespace_is_read_anew(tmp_path: Path) -> None:
    """Most of the cache is gone by the time the question is asked, so it is made again before the recall."""
    with mnemolog.open(tmp_path, embedder="none") as mem:
        for author, start, end in (("Ann", 0, 1_200), ("Bob", 1_200, 1_220), ("Ann", 1_220, 1_240)):
            mem.remember_many(
                [
                    {"text": "the garden has roses", "author": author, "id": f"m{at}"}
                    for at in range(start, end)
                ]
            )
        assert mem.recall("What did Bob say about the garden?", k=1)[0].memory.author == "Bob"
        for start in range(0, 1_200, 600):
            mem.forget([f"m{at}" for at in range(start, start + 600)])
        for _ in range(3):
            hits = mem.recall("What did Bob say about the garden?", k=40)
            assert {hit.memory.author for hit in hits} == {"Ann", "Bob"}
            for hit in hits:
                assert ("author" in hit.factors["relevance"].parts) == (hit.memory.author == "Bob")


@pytest.mark.parametrize("failing", ["edges", "usefulness"])
def test_a_read_that_fails_is_made_again_and_nothing_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The log goes on no further, so the next look must not take the views for known."""
    with mnemolog.open(tmp_path, "ann", embedder="none") as mem:
        mem.know_fact("Al", "likes", "tea", id="m")
        mem.wait(mem.feedback(mem.recall("tea").recall_id, used=["m"]).position)
        reader = ViewReader(Views(tmp_path / "views"))
        whole = LanceTable.where

        def fails(table: LanceTable, *arguments: Any) -> Any:
            if table.lance.name == failing:
                raise ViewError("away")
            return whole(table, *arguments)

        monkeypatch.setattr(LanceTable, "where", fails)
        with suppress(ViewError):
            knows(reader)
        monkeypatch.setattr(LanceTable, "where", whole)
        found, edges = knows(reader)
        assert found is not None and edges == ["al", "tea"]
        assert (found, edges) == knows(ViewReader(Views(tmp_path / "views")))


def knows(reader: ViewReader) -> tuple[Any, list[str]]:
    """What feedback taught, and the entities of the graph."""
    found = reader.learned.knowledge(("ann",))
    with reader.graphs.open(("ann",)) as graph:
        return found, list(graph.entities(""))
