"""The logs that the contract suite runs on: a SQLite file a test, and a real broker of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from mnemolog.broker import LocalBroker
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.kafka import KafkaLog, create_topics
from mnemolog.schemas.ports import Log

OpenLog: TypeAlias = Callable[[], Log]


@pytest.fixture(scope="session")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """A broker with our topics; its tests may kill it, if they start it again."""
    broker = LocalBroker(tmp_path_factory.mktemp("broker"), heap_mb=256).start()
    create_topics(broker.bootstrap, partitions=3)
    yield broker
    broker.kill()


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def open_log(request: pytest.FixtureRequest, tmp_path: Path) -> OpenLog:
    """Opens one more handle on this test's log."""
    if request.param == "embedded":
        return lambda: EmbeddedLog(tmp_path / "log.sqlite", partitions=3)
    broker: LocalBroker = request.getfixturevalue("own_broker")
    return lambda: KafkaLog(broker.bootstrap)
