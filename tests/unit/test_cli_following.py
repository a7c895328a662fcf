"""Waiting for views: as long as they move, and no longer."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.command_line import CommandLine, on_terminal

import mnemolog
from mnemolog.cli.following import follow
from mnemolog.memory import Memory
from mnemolog.producers import MemoryProducer
from mnemolog.schemas.errors import WaitTimeoutError
from mnemolog.schemas.positions import Position
from mnemolog.schemas.topics import MEMORIES


class Slow:
    """An embedder that takes its time."""

    name, dim = "slow", 4

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        time.sleep(0.6)
        return np.ones((len(texts), 4), dtype=np.float32) / np.float32(2)


def lagging(path: Path, texts: int) -> tuple[Memory, Position]:
    """A memory whose views have a lot to do, and the position that they will come to."""
    with MemoryProducer.open(path) as producer:
        positions = [producer.remember(f"note {number}").position for number in range(texts)]
    return mnemolog.open(path, embedder=Slow()), positions[-1]


def test_views_that_move_are_waited_for_beyond_the_patience(tmp_path: Path) -> None:
    memory, last = lagging(tmp_path, 3_000)
    with memory:
        started = time.monotonic()
        follow(memory, [last], 1.5, shown=False)
        assert memory.list().total == 3_000
        assert time.monotonic() - started > 1.5


def test_views_that_stand_still_are_given_up(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        memory.remember("text")
        started = time.monotonic()
        with pytest.raises(WaitTimeoutError):
            follow(memory, [Position(MEMORIES, 0, 99)], 0.3, shown=False)
        assert time.monotonic() - started < 10


def test_a_terminal_shows_how_views_catch_up(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path / "memory")
    file = tmp_path / "many.jsonl"
    file.write_text("".join(json.dumps({"text": f"note {number}"}) + "\n" for number in range(3_000)))
    loaded = cli.json("ingest", file)
    assert (loaded["written"], loaded["failed"]) == (3_000, 0)
    code, seen = on_terminal(cli.home, "list", "--limit", "1")
    assert code == 0
    assert "bringing the views up to date" in seen
    assert "1 of 3000" in seen
