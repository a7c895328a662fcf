"""The facade on what it runs on: a folder a test, and one broker with one worker for all tests."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from support.stores import NOON, MovingClock, OpenMemory, Store
from support.workers import WorkerProcess, wait_until

import mnemolog
from mnemolog import Memory
from mnemolog.broker import LocalBroker
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.kafka import KafkaLog
from mnemolog.producers.kafka_topics import create_topics
from mnemolog.storage.layout import Views


@pytest.fixture(scope="package")
def worked_views(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Views that a worker of their own keeps up with the broker, as long as the tests of this folder run."""
    create_topics(broker.bootstrap)
    views = tmp_path_factory.mktemp("behaviour") / "views"
    with WorkerProcess(broker.bootstrap, views, f"behaviour-{uuid.uuid4().hex}", "hashing") as worker:
        wait_until(lambda: Views(views).exist, f"the worker to make its views:\n{worker.said}")
        yield views


IN_VIEW = frozenset({"test_recall_rules", "test_from_heapdb_recall", "test_scoring_options"})
"""The modules whose tests hold as well where a namespace is too large to be in memory."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what takes a store on each, those modules also on one that keeps no namespace in memory."""
    if "store" in metafunc.fixturenames:
        in_view = ["view"] if metafunc.module.__name__.rpartition(".")[2] in IN_VIEW else []
        kafka = pytest.param("kafka", marks=pytest.mark.kafka)
        metafunc.parametrize("store", ["embedded", *in_view, kafka], indirect=True)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """The store of this test; all handles on it are closed at the end."""
    made = _kafka(request) if request.param == "kafka" else _embedded(tmp_path / "memory")
    if request.param == "view":
        made.opening = partial(made.opening, cache_bytes=0)
    with made.held:
        yield made


@pytest.fixture(scope="module")
def clock() -> MovingClock:
    """The clock of `place`: it stands at noon until a test moves it on."""
    return MovingClock(NOON)


@pytest.fixture(scope="module", params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def shared_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store that the tests of a module share."""
    folder = tmp_path_factory.mktemp("shared") / "memory"
    made = _embedded(folder) if request.param == "embedded" else _kafka(request)
    with made.held:
        yield made


@pytest.fixture(scope="module")
def shared(shared_store: Store, clock: MovingClock) -> Memory:
    """A handle that the tests of a module share: most of the time of a short test is opening one."""
    return shared_store.open("shared", clock=clock)


@pytest.fixture
def place(shared: Memory) -> Memory:
    """A handle on an empty namespace of what the tests of a module share."""
    return shared.at((*shared.namespace, uuid.uuid4().hex))


@pytest.fixture
def folder_store(tmp_path: Path) -> Iterator[Store]:
    """A store in `tmp_path / "memory"`, for what only a folder can do."""
    made = _embedded(tmp_path / "memory")
    with made.held:
        yield made


@pytest.fixture
def open_memory(store: Store) -> OpenMemory:
    """Opens handles on the store of this test, "hashing" the embedder unless told otherwise."""
    return store.open


@pytest.fixture
def mem(store: Store) -> Memory:
    """A handle on an empty namespace."""
    return store.open()


def _embedded(home: Path) -> Store:
    return Store(partial(mnemolog.open, home), lambda: EmbeddedLog(home / "log.sqlite"), "test")


def _kafka(request: pytest.FixtureRequest) -> Store:
    broker: LocalBroker = request.getfixturevalue("broker")
    views: Path = request.getfixturevalue("worked_views")
    opening = partial(mnemolog.connect, broker.bootstrap, views, wait_seconds=60.0)
    return Store(opening, lambda: KafkaLog(broker.bootstrap), uuid.uuid4().hex)
