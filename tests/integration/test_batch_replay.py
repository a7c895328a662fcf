"""Replays in processes: equal to the live views, whole after a kill, without a failed read at the flip."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.command_line import CommandLine

import mnemolog
from mnemolog.embedders import HashingEmbedder, resolve
from mnemolog.processors.generations import compare, keep_newest, read_contents
from mnemolog.processors.replay import replay, roll_back
from mnemolog.processors.replay_parts import Part, Processes, fold_in_processes
from mnemolog.processors.shards import FED_TOPICS, make_generation, new_manifest
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.errors import InvalidInputError, ViewError, ViewMissingError
from mnemolog.storage.layout import Views
from mnemolog.transfer.records import read_log

MODEL = "hashing:16"


def fill(home: Path, count: int = 60, partitions: int = 3) -> None:
    """A memory with updates, forgetting, feedback, context and settings in several namespaces."""
    home.mkdir(parents=True, exist_ok=True)
    EmbeddedLog(home / "log.sqlite", partitions=partitions).close()
    with mnemolog.open(home, namespace="n0", embedder=MODEL) as root:
        for name in range(5):
            mem = root.at(f"n{name}")
            made = mem.remember_many(f"memory {number} of {name}" for number in range(count // 5))
            mem.update(made[0].id, text="another text")
            mem.forget(made[1].id)
            mem.mark_used(made[2].id)
            mem.set_context("state", {"step": name}, agent_id="a")
        root.list()
        for name in range(5):
            root.at(f"n{name}").wait(root.at(f"n{name}").remember("the last").position)


def log_of(home: Path) -> EmbeddedLog:
    return EmbeddedLog(home / "log.sqlite")


def processes(home: Path, count: int = 2) -> Processes:
    """What the processes make must be importable there, where no test is."""
    return Processes(count, partial(EmbeddedLog, home / "log.sqlite"), partial(resolve, MODEL))


def test_parts_folded_in_processes_give_the_live_views(tmp_path: Path) -> None:
    fill(tmp_path)
    views = Views(tmp_path / "views")
    live = views.current().generation
    with log_of(tmp_path) as log:
        manifest = make_generation(views, log.partitions(FED_TOPICS[0]), resolve(MODEL))
        parts = [
            Part(topic, partition, end)
            for topic in FED_TOPICS
            for partition, end in log.end_offsets(topic).items()
        ]
        told: list[tuple[int, int]] = []
        done = fold_in_processes(views, manifest, parts, processes(tmp_path), lambda *at: told.append(at))
    assert done.applied == sum(part.end for part in parts)
    compared = compare(views, live, manifest.generation)
    assert (compared.differing, compared.lags) == ([], False)
    assert all(0 <= so_far <= total for so_far, total in told)


class CountingEmbedder(HashingEmbedder):
    """Counts the texts that it is asked for."""

    def __init__(self) -> None:
        super().__init__(16)
        self.count = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.count += len(texts)
        return super().embed(texts)


@pytest.mark.parametrize("partitions", [1, 3, 5])
def test_vectors_are_taken_from_live_views_of_any_number_of_partitions(
    tmp_path: Path, partitions: int
) -> None:
    fill(tmp_path, partitions=3)
    views, embedder = Views(tmp_path / "views"), CountingEmbedder()
    with EmbeddedLog(tmp_path / "other.sqlite", partitions=partitions) as other, log_of(tmp_path) as log:
        other.append(list(read_log(log)))
        report = replay(other, views, embedder)
    assert (report.flipped, report.rejected, embedder.count) == (True, 0, 0)
    assert views.current().partitions == partitions


def test_a_replay_gets_over_live_views_that_are_damaged(tmp_path: Path) -> None:
    fill(tmp_path, partitions=1)
    views, embedder = Views(tmp_path / "views"), CountingEmbedder()
    live = views.current().generation
    for file in (tmp_path / "views" / live / "p00" / "memories.lance" / "data").iterdir():
        file.write_bytes(b"no more")
    with log_of(tmp_path) as log:
        report = replay(log, views, embedder)
    assert report.flipped
    assert embedder.count > 0
    with mnemolog.open(tmp_path, namespace="n0", embedder=MODEL) as mem:
        assert mem.recall("memory 3", k=1)


def test_a_process_that_dies_is_an_error_that_says_what_to_run(tmp_path: Path) -> None:
    fill(tmp_path, partitions=1)
    views = Views(tmp_path / "views")
    manifest = make_generation(views, 1, resolve(MODEL))
    parts = [Part(FED_TOPICS[0], 0, 5)]
    dying = Processes(2, partial(os._exit, 1), partial(resolve, MODEL))
    with pytest.raises(ViewError, match="--resume"):
        fold_in_processes(views, manifest, parts, dying, lambda *_: None)
    assert not views.is_complete(manifest.generation)


REPLAY = """
import sys
from pathlib import Path
import mnemolog.processors.replay_parts as parts
from mnemolog.embedders import resolve
from mnemolog.processors.replay import replay
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.storage.layout import Views
parts.BATCH = 5
home = Path(sys.argv[1])
with EmbeddedLog(home / "log.sqlite") as log:
    replay(log, Views(home / "views"), resolve(sys.argv[2]), on_progress=lambda *at: print(*at, flush=True))
"""


@pytest.mark.parametrize("batches", [1, 4, 9])
def test_a_killed_replay_goes_on_where_it_was(tmp_path: Path, batches: int) -> None:
    fill(tmp_path, partitions=1)
    views = Views(tmp_path / "views")
    live = views.current().generation
    command = [sys.executable, "-c", REPLAY, str(tmp_path), MODEL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        lines = [killed.stdout.readline() for _ in range(batches + 1)]
        killed.kill()
    assert all(lines)
    left = views.generations()[-1]
    assert (views.current().generation, views.is_complete(left)) == (live, False)
    with log_of(tmp_path) as log:
        total = sum(sum(log.end_offsets(topic).values()) for topic in FED_TOPICS)
        report = replay(log, views, resolve(MODEL), resume=True, verify=True)
    assert (report.manifest.generation, report.resumed, report.flipped) == (left, True, True)
    assert report.applied < total
    assert report.compared is not None
    assert report.compared.equal
    assert compare(views, live, left).equal


def test_resume_starts_anew_where_nothing_of_the_same_making_was_left(tmp_path: Path) -> None:
    fill(tmp_path, partitions=1)
    views = Views(tmp_path / "views")
    other = views.add(new_manifest(1, resolve("hashing:8")))
    with log_of(tmp_path) as log:
        report = replay(log, views, resolve(MODEL), resume=True)
    assert not report.resumed
    assert report.manifest.generation != other.generation


def test_a_difference_keeps_the_old_views_live_until_told_otherwise(tmp_path: Path) -> None:
    fill(tmp_path, partitions=1)
    views = Views(tmp_path / "views")
    live = views.current().generation
    import sqlite3

    with sqlite3.connect(tmp_path / "log.sqlite") as connection:
        connection.execute(
            "UPDATE records SET value = replace(CAST(value AS TEXT), 'memory 5 of', 'memory 6 of')"
            " WHERE CAST(value AS TEXT) LIKE '%memory 5 of%'"
        )
    connection.close()
    with log_of(tmp_path) as log:
        report = replay(log, views, resolve(MODEL), verify=True)
        assert report.compared is not None
        assert (report.flipped, report.compared.differing) == (False, ["memories"])
        assert views.current().generation == live
        roll_back(log, views, report.manifest.generation, resolve(MODEL))
    assert views.current().generation == report.manifest.generation


def test_rolling_back_brings_the_old_generation_up_to_date(tmp_path: Path) -> None:
    fill(tmp_path, partitions=1)
    views = Views(tmp_path / "views")
    first = views.current().generation
    with log_of(tmp_path) as log:
        second = replay(log, views, resolve(MODEL)).manifest.generation
        with mnemolog.open(tmp_path, namespace="n0", embedder=MODEL) as mem:
            mem.wait(mem.remember("after the flip").position)
            assert roll_back(log, views, first, resolve(MODEL)).applied == 1
            assert mem.list(limit=1).items[0].text == "after the flip"
            mem.wait(mem.remember("after the rollback").position)
    assert views.current().generation == first
    assert read_contents(views, second).applied != read_contents(views, first).applied


def test_the_newest_generations_stay_and_the_live_one_is_never_dropped(tmp_path: Path) -> None:
    fill(tmp_path, count=15, partitions=1)
    views = Views(tmp_path / "views")
    with log_of(tmp_path) as log:
        for _ in range(3):
            replay(log, views, None)
        interrupted = views.add(new_manifest(1, None)).generation
    names = views.generations()
    assert keep_newest(views, 2) == names[:2]
    assert views.generations() == names[2:]
    assert not (tmp_path / "views" / names[0]).exists()
    with pytest.raises(InvalidInputError, match="live"):
        views.drop(views.current().generation)
    views.drop(interrupted)
    with pytest.raises(ViewMissingError):
        views.drop(interrupted)


def test_no_read_of_eight_threads_fails_or_mixes_while_generations_flip(tmp_path: Path) -> None:
    fill(tmp_path, partitions=1)
    views = Views(tmp_path / "views")
    problems: list[object] = []
    counts = [0] * 8
    stop = threading.Event()
    with mnemolog.open(tmp_path, namespace="n1", embedder=MODEL) as mem, log_of(tmp_path) as log:
        wanted = mem.list(limit=100).items
        ids = mem.recall("memory 3", k=5).ids

        def read(at: int) -> None:
            while not stop.is_set():
                try:
                    if mem.list(limit=100).items != wanted or mem.recall("memory 3", k=5).ids != ids:
                        problems.append("another answer")
                except Exception as error:
                    problems.append(error)
                counts[at] += 1
                time.sleep(0.02)

        threads = [threading.Thread(target=read, args=(at,)) for at in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            replay(log, views, resolve(MODEL))
            keep_newest(views, 2)
            time.sleep(0.1)
        stop.set()
        for thread in threads:
            thread.join()
    assert not problems
    assert min(counts) > 0


def test_generations_are_listed_rolled_back_and_dropped_by_command(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path / "memory")
    cli.ok("remember", "one", "--wait")
    for _ in range(2):
        cli.ok("replay")
    Views(tmp_path / "memory" / "views").add(new_manifest(1, resolve("hashing")))
    states = [(one["generation"], one["state"]) for one in cli.lines("generations", "list")]
    assert states == [("g000002", "kept"), ("g000003", "live"), ("g000004", "interrupted")]
    cli.ok("remember", "two", "--wait")
    assert cli.json("generations", "rollback") == {"generation": "g000002", "applied": 1}
    assert [one["text"] for one in cli.lines("list")] == ["two", "one"]
    assert cli.run("generations", "rollback").exit_code == 1
    assert cli.run("generations", "rollback", "g000004").exit_code == 3
    assert cli.json("generations", "drop", "g000003", "--interrupted") == {"dropped": ["g000003", "g000004"]}
    assert cli.run("generations", "drop", "g000002").exit_code == 2
    assert cli.run("generations", "drop").exit_code == 2
