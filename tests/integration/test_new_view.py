"""A view that a later release adds: the old views say what to run, and a replay fills it from the log."""

from __future__ import annotations

from pathlib import Path

import pytest

import mnemolog
from mnemolog.processors import shards
from mnemolog.processors.replay import replay
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.errors import ViewError
from mnemolog.storage.layout import Views


def test_a_replay_fills_a_view_that_was_added_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(shards, "VIEWS", [view for view in shards.VIEWS if view.name != "usage"])
        with mnemolog.open(tmp_path, embedder="none") as mem:
            mem.remember("a red bike", id="m")
            mem.feedback("r", used=["m"])
            mem.wait(mem.remember("a blue boat").position)
    with pytest.raises(ViewError, match="mnemolog replay"):
        mnemolog.open(tmp_path, embedder="none")
    log = EmbeddedLog(tmp_path / "log.sqlite")
    replay(log, Views(tmp_path / "views"), None)
    log.close()
    with mnemolog.open(tmp_path, embedder="none") as mem:
        item = mem.get("m")
        assert item is not None
        assert (item.use_count, mem.list().total) == (1, 2)
