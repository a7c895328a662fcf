"""The laws of materialization on real LanceDB tables and a real log: run inline, replayed, and killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.folding import snapshot
from support.histories import Step, histories, to_records, written
from support.properties import examples
from support.shards import EMBEDDER, one_by_one

import mnemolog
from mnemolog.processors.generations import read_contents
from mnemolog.processors.inline import InlineRunner
from mnemolog.processors.replay import replay
from mnemolog.processors.shards import FED_TOPICS, VIEWS
from mnemolog.producers.clock import utc_now
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.codec import encode
from mnemolog.schemas.positions import Position
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Views
from mnemolog.storage.table import LanceTable

HASHING = "hashing:16"


@contextmanager
def a_log() -> Iterator[tuple[EmbeddedLog, Views]]:
    with tempfile.TemporaryDirectory() as folder, EmbeddedLog(Path(folder) / "log.sqlite") as log:
        yield log, Views(Path(folder) / "views")


def inline(log: EmbeddedLog, views: Views) -> InlineRunner:
    """A runner as a process makes it when it starts."""
    return InlineRunner(log, views, EMBEDDER, utc_now, time.monotonic)


def rows_of(views: Views, generation: str) -> dict[str, dict[str, Row]]:
    shard = views.shard(generation, 0)
    tables = {view.name: LanceTable.open(shard, view.name, view.topic, 0) for view in VIEWS}
    return {name: snapshot(table.scan()) for name, table in tables.items()}


@examples(8)
@given(steps=histories(40), data=st.data())
def test_inline_replay_and_direct_folding_give_equal_views(steps: list[Step], data: st.DataObject) -> None:
    """The records come in pieces, and each piece may meet a runner of its own."""
    records = to_records(steps)
    with a_log() as (log, views):
        runner = inline(log, views)
        while records:
            size = data.draw(st.integers(1, len(records)), label="piece")
            log.append(records[:size])
            records = records[size:]
            if data.draw(st.booleans(), label="restart"):
                runner = inline(log, views)
            runner.catch_up()
        runner.catch_up()
        first = views.current().generation
        second = replay(log, views, EMBEDDER).manifest.generation
        third = replay(log, views, EMBEDDER, flip=False).manifest.generation
        expected = one_by_one(steps).snapshot()
        assert rows_of(views, first) == expected
        assert rows_of(views, second) == rows_of(views, third) == expected
        assert read_contents(views, first).differing(read_contents(views, second)) == []
        assert views.current().generation == second


@examples(6)
@given(steps=histories(30), data=st.data())
def test_any_batching_and_redelivery_give_the_same_tables(steps: list[Step], data: st.DataObject) -> None:
    with a_log() as (log, views):
        log.append(to_records(steps))
        runner = inline(log, views)
        writer = runner._writer(0)
        for topic in FED_TOPICS:
            end = log.end_offsets(topic)[0]
            while (done := writer.next_offset(topic)) < end:
                start = data.draw(st.integers(0, done), label="from")
                size = data.draw(st.integers(done - start + 1, end - start), label="size")
                writer.apply(topic, log.read(topic, 0, start, size))
        assert rows_of(views, views.current().generation) == one_by_one(steps).snapshot()


def test_a_replay_reuses_only_the_vectors_of_the_same_texts() -> None:
    """The live views may be behind the log: their vector of an older text is not this text's."""
    commands = Commands(("acme",))
    with a_log() as (log, views):
        first = [commands.remember(text, id=text) for text in ("stays", "changes")]
        later = [commands.update("changes", text="another text"), commands.update("stays", tags=["t"])]
        log.append([record for event in first for record in encode(event)])
        inline(log, views).catch_up()
        log.append([record for event in later for record in encode(event)])
        generation = replay(log, views, EMBEDDER).manifest.generation
        rows = rows_of(views, generation)["memories"]
    vectors = {row["text"]: row["vector"] for row in rows.values()}
    assert vectors == {text: EMBEDDER.embed([text])[0].tobytes() for text in ("stays", "another text")}


WRITE_FOR_EVER = """
import sys, mnemolog
from support.histories import written
mem = mnemolog.open(sys.argv[1], ("acme", "alice"), embedder=sys.argv[2])
for verb, number in written(int(sys.argv[3])):
    if verb == "remember":
        mem.remember(f"text {number}", id=f"m{number}", key=f"k{number % 5}", tags=[str(number % 3)])
    elif verb == "update":
        mem.update(f"m{number}", text=f"better {number}")
    else:
        mem.forget(f"m{number}")
    print(verb, number, flush=True)
"""


def acknowledged(folder: Path, first: int, lines: int, extra: float) -> int:
    """Kill a writer −9 a moment after it acknowledged `lines` operations: how many it did in all."""
    command = [sys.executable, "-c", WRITE_FOR_EVER, str(folder), HASHING, str(first)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        time.sleep(extra)
        writer.kill()
        said += writer.stdout.readlines()
    return sum(line.endswith("\n") for line in said)


def texts_after(first: int, operations: int) -> dict[str, str]:
    texts: dict[str, str] = {}
    for verb, number in islice(written(first), operations):
        if verb == "forget":
            del texts[f"m{number}"]
        else:
            texts[f"m{number}"] = f"{'text' if verb == 'remember' else 'better'} {number}"
    return texts


@pytest.mark.timeout(240)
def test_kill_9_loses_nothing_that_was_acknowledged_and_doubles_nothing(tmp_path: Path) -> None:
    """F16: three processes one after the other on one folder, each killed in mid write.

    Of each, what it acknowledged is there, and nothing more but the one operation that was under way.
    """
    counts = {
        first: acknowledged(tmp_path, first, lines, extra)
        for first, lines, extra in [(0, 1, 0.0), (10_000, 40, 0.013), (20_000, 90, 0.031)]
    }
    with mnemolog.open(tmp_path, ("acme", "alice"), embedder=HASHING) as mem:
        mem.wait(last_position(tmp_path))
        page = mem.list(limit=10_000, include_superseded=True)
    assert len(page.items) == page.total
    for first, count in counts.items():
        mine = {item.id: item.text for item in page.items if first <= int(item.id[1:]) < first + 10_000}
        assert mine in (texts_after(first, count), texts_after(first, count + 1))
    active = [item.key for item in page.items if item.active]
    assert len(active) == len(set(active)) == 5
    check_replay(tmp_path)


def last_position(folder: Path) -> Position:
    with EmbeddedLog(folder / "log.sqlite") as log:
        return Position(MEMORIES, 0, log.end_offsets(MEMORIES)[0] - 1)


def check_replay(folder: Path) -> None:
    views = Views(folder / "views")
    live = views.current().generation
    with EmbeddedLog(folder / "log.sqlite") as log:
        fresh = replay(log, views, mnemolog.embedders.resolve(HASHING), flip=False)
    assert fresh.rejected == 0
    assert rows_of(views, fresh.manifest.generation) == rows_of(views, live)
