"""Brokers of a test's own, or of a file's, beside the one that all share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog.broker import LocalBroker
from mnemolog.producers.kafka import create_topics


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[LocalBroker]:
    """A broker for this test alone, which may kill and restart it."""
    broker = LocalBroker(tmp_path / "kafka")
    try:
        yield broker.start()
    finally:
        broker.stop(timeout=10)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Brokers whose log holds what this file appends, and no more."""
    broker = LocalBroker(tmp_path_factory.mktemp("kafka"))
    try:
        create_topics(broker.start().bootstrap, partitions=2)
        yield broker.bootstrap
    finally:
        broker.stop(timeout=10)
