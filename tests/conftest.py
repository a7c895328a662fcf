"""A real broker for the tests. Where it can't be had they fail; they are never skipped."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import settings

from mnemolog.broker import LocalBroker

# What a shell runs in the background ignores Ctrl-C, and so would the programs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, and none fails for being slow on a busy machine.
settings.register_profile("mnemolog", derandomize=True, deadline=None)
settings.load_profile("mnemolog")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the broker, so that `-m "not kafka"` is the quick run.

    The integration tests come first: their workers begin with a log that is short yet, and where files run
    side by side no long one is left for the end.
    """
    items.sort(key=lambda item: "integration" not in item.path.parts)
    for item in items:
        if {"broker", "own_broker"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("kafka")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    """One broker for all tests of this process, to be shared: use names of your own, and do not stop it."""
    broker = LocalBroker(tmp_path_factory.mktemp("kafka"))
    try:
        yield broker.start()
    finally:
        broker.stop(timeout=10)


@pytest.fixture
def topic_prefix() -> str:
    """A prefix for topics, groups and namespaces that no other test has."""
    return f"t{uuid.uuid4().hex[:12]}."
