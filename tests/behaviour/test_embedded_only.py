"""What only a folder can meet: several programs, kills, other embedders, replays under a running handle."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.programs import reader, writer
from support.stores import Store, texts
from support.workers import wait_until

from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.replay import replay
from mnemolog.schemas.errors import EmbedderMismatchError, EmbeddingError
from mnemolog.storage.layout import Views

PAUSE = 0.02
"""Seconds between two reads of a thread: without it a replay would get little of the processor and,
as recalls are logged, ever more to apply."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of `folder_store`."""
    return tmp_path / "memory"


def rebuild(store: Store, home: Path, embedder: HashingEmbedder) -> None:
    """Replay the log into a new generation, as `mnemolog replay` does."""
    log = store.log()
    try:
        replay(log, Views(home / "views"), embedder)
    finally:
        log.close()


class ShakyEmbedder(HashingEmbedder):
    """Fails on texts that contain `poison`, and on all while it is `down`."""

    def __init__(self, dim: int = 256) -> None:
        super().__init__(dim)
        self.down = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.down or any("poison" in text for text in texts):
            raise EmbeddingError("no answer")
        return super().embed(texts)


def test_two_programs_write_one_folder(folder_store: Store, home: Path) -> None:
    with writer(home, "a", 40) as one, writer(home, "b", 40) as other:
        assert [program.line() for program in (one, other)] == ["ready", "ready"]
        for program in (one, other):
            program.tell()
        written = one.rest() + other.rest()
    mem = folder_store.open()
    mem.remember("last", id="last")
    page = mem.list(limit=1_000)
    assert len(written) == 80
    assert sorted(item.id for item in page.items) == sorted([*written, "last"])


def test_a_reader_in_another_program_sees_a_write_by_its_token(folder_store: Store, home: Path) -> None:
    mem = folder_store.open()
    with reader(home) as program:
        assert program.line() == "0"
        for number in range(5):
            program.tell(str(mem.remember(f"text {number}", id=f"m{number}").position))
            assert program.line().split() == [f"m{number}" for number in range(number + 1)]
        program.tell(str(mem.forget("m0").position))
        assert program.line().split() == ["m1", "m2", "m3", "m4"]


def test_what_was_acknowledged_before_a_kill_is_there_once(folder_store: Store, home: Path) -> None:
    acknowledged: list[str] = []
    for name in ("a", "b"):
        with writer(home, name, 100_000) as program:
            assert program.line() == "ready"
            program.tell()
            acknowledged += [program.line() for _ in range(40)]
            program.kill()
            acknowledged += program.rest()
    mem = folder_store.open()
    mem.remember("last", id="last")
    ids = [item.id for item in mem.list(limit=10_000).items]
    assert len(ids) == len(set(ids))
    assert set(acknowledged) - {""} <= set(ids)
    assert len(ids) - len(acknowledged) <= 3
    assert all(len(mem.history(name)) == 1 for name in acknowledged[:5])


def test_another_embedder_is_refused_until_a_replay(folder_store: Store, home: Path) -> None:
    with folder_store.open() as mem:
        mem.remember_many(["one", "two"])
        mem.list()
    with pytest.raises(EmbedderMismatchError, match="mnemolog replay"):
        folder_store.open(embedder="hashing:64")
    with folder_store.open() as mem:
        assert mem.list().total == 2
        assert mem.recall("one")[0].factors["relevance"].parts["cosine"] > 0.9
    rebuild(folder_store, home, HashingEmbedder(64))
    mem = folder_store.open(embedder="hashing:64")
    assert mem.stats()["embedder"] == HashingEmbedder(64).name
    assert mem.recall("one")[0].origins == ("vector", "keyword")
    assert sorted(texts(mem.list().items)) == ["one", "two"]
    with pytest.raises(EmbedderMismatchError, match="mnemolog replay"):
        folder_store.open()


def test_a_text_that_cannot_be_embedded_is_found_by_keyword(folder_store: Store) -> None:
    mem = folder_store.open(embedder=ShakyEmbedder())
    mem.remember_many(["a good text", "a poison text", "another good text"])
    assert mem.list().total == 3
    assert mem.stats()["lacking_vectors"] == 1
    origins = {hit.memory.text: hit.origins for hit in mem.recall("text")}
    assert origins["a poison text"] == ("keyword",)
    assert origins["a good text"] == ("vector", "keyword")


def test_an_embedder_that_was_down_catches_up(folder_store: Store) -> None:
    embedder = ShakyEmbedder()
    mem = folder_store.open(embedder=embedder)
    mem.remember("written before")
    mem.list()
    embedder.down = True
    mem.remember("written while it was down")
    hits = mem.recall("down")
    assert texts(hits)[0] == "written while it was down"
    assert hits.warnings
    assert mem.stats()["lacking_vectors"] == 1
    embedder.down = False
    wait_until(lambda: mem.stats()["lacking_vectors"] == 0, "the vector to come")
    hits = mem.recall("down")
    assert (hits.warnings, hits[0].origins) == ((), ("vector", "keyword"))


def test_an_embedder_that_is_down_from_the_start_stops_nothing(folder_store: Store) -> None:
    embedder = ShakyEmbedder()
    embedder.down = True
    mem = folder_store.open(embedder=embedder)
    mem.remember_many(["one", "two"])
    assert mem.recall("one").ids
    assert mem.stats()["lacking_vectors"] == 2


def test_replays_flip_under_a_running_handle(folder_store: Store, home: Path) -> None:
    mem = folder_store.open()
    mem.remember_many([f"seed {number}" for number in range(50)])
    generation = mem.stats()["generation"]
    flipping = threading.Event()
    flipping.set()
    errors: list[str] = []

    def read() -> None:
        while flipping.is_set():
            try:
                if len(mem.recall("seed", k=50)) != 50 or mem.list().total < 50:
                    errors.append("memories are missing")
            except Exception as error:
                errors.append(repr(error))
            time.sleep(PAUSE)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for thread in readers:
        thread.start()
    try:
        for _ in range(4):
            rebuild(folder_store, home, HashingEmbedder())
    finally:
        flipping.clear()
        for thread in readers:
            thread.join()
    assert errors == []
    assert mem.stats()["generation"] != generation
    mem.remember("after the flips", id="last")
    assert mem.get("last") is not None
    assert mem.list().total == 51


def test_a_handle_sees_its_own_writes_over_a_flip(folder_store: Store, home: Path) -> None:
    mem = folder_store.open()
    mem.remember_many([f"seed {number}" for number in range(50)])
    done = threading.Event()
    missing: list[str] = []

    def write() -> None:
        number = 0
        while not done.is_set():
            receipt = mem.remember("new", id=f"new{number}")
            if mem.get(receipt.id) is None:
                missing.append(receipt.id)
            number += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(4):
            rebuild(folder_store, home, HashingEmbedder())
    finally:
        done.set()
        thread.join()
    assert missing == []
