"""A broker of a test's own, beside the one that all share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog.broker import LocalBroker


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[LocalBroker]:
    """A broker for this test alone, which may kill and restart it."""
    broker = LocalBroker(tmp_path / "kafka")
    try:
        yield broker.start()
    finally:
        broker.stop(timeout=10)
