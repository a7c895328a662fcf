"""The logs that the contract suite runs on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.ports import Log


@pytest.fixture(params=["embedded"])
def open_log(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Log]:
    """Opens one more handle on this test's log."""
    return lambda: EmbeddedLog(tmp_path / "log.sqlite", partitions=3)
