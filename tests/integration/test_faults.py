"""Processes that die or stand still at a chosen step: every event is applied once all the same."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from support.programs import Program
from support.stores import NOON, MovingClock
from support.streams import append, mixed, remembered, users
from support.workers import (
    WorkerProcess,
    WorkerThread,
    folded,
    live,
    wait_until,
    wait_until_caught_up,
)

import mnemolog
from mnemolog.embedders import resolve
from mnemolog.processors.generations import compare
from mnemolog.processors.replay import replay
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.kafka import KafkaLog
from mnemolog.storage.layout import Views

MODEL = "hashing:16"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def log(kafka: str) -> Iterator[KafkaLog]:
    with KafkaLog(kafka) as opened:
        yield opened


DYING_WORKER = """
import os, signal, sys, threading
from mnemolog.embedders import resolve
from mnemolog.processors.materialize import ShardWriter
from mnemolog.storage import upkeep
from mnemolog.storage.table import LanceTable
from mnemolog.worker import run_worker

kafka, views, group, model, step, calls = *sys.argv[1:6], int(sys.argv[6])

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def count(place, name, when):
    real, left = getattr(place, name), [calls]
    def counted(*args, **kwargs):
        left[0] -= 1
        now = not left[0]
        if now:
            {"before": die, "during": threading.Timer(0.004, die).start, "after": lambda: None}[when]()
        result = real(*args, **kwargs)
        if now and when == "after":
            die()
        return result
    setattr(place, name, counted)

upkeep.COMMITS_BETWEEN = 2
count(*{
    "before a fold": (ShardWriter, "apply", "before"),
    "between a fold and its commit": (LanceTable, "commit", "before"),
    "in the midst of a commit": (LanceTable, "commit", "during"),
    "between the commits of two tables": (LanceTable, "commit", "after"),
    "after the commits, before they are acknowledged": (ShardWriter, "apply", "after"),
    "in the midst of a compaction": (upkeep, "_compact_some", "during"),
    "between a compaction and the cleaning": (upkeep, "_drop_old_pins", "before"),
}[step])
print("ready", flush=True)
run_worker(kafka=kafka, views=views, embedder=resolve(model), group=group)
"""
"""A worker that kills itself at the `calls`-th time that it comes to a step."""


@pytest.mark.parametrize(
    ("step", "calls"),
    [
        ("before a fold", 2),
        ("between a fold and its commit", 7),
        ("in the midst of a commit", 8),
        ("between the commits of two tables", 9),
        ("after the commits, before they are acknowledged", 3),
        ("in the midst of a compaction", 3),
        ("between a compaction and the cleaning", 2),
    ],
)
def test_a_worker_dies_and_the_next_one_goes_on(
    kafka: str, log: KafkaLog, tmp_path: Path, topic_prefix: str, step: str, calls: int
) -> None:
    views, who = tmp_path / "views", users(topic_prefix, 4)
    with Program(DYING_WORKER, kafka, views, topic_prefix, MODEL, step, calls) as dying:
        assert dying.line() == "ready"
        for number in range(40):
            append(log, mixed(who, 5, f"round{number}"))
            if dying.process.poll() is not None:
                break
            time.sleep(0.3)
        assert dying.process.wait(30) == -signal.SIGKILL
    append(log, mixed(who, 5, "afterwards"))
    with WorkerThread(kafka, views, f"{topic_prefix}next", resolve(MODEL)):
        wait_until_caught_up(log, views)
    assert live(views) == folded(log, resolve(MODEL))


def test_two_workers_that_both_own_every_partition_do_no_harm(
    kafka: str, log: KafkaLog, tmp_path: Path, topic_prefix: str
) -> None:
    """As after a network that was cut: each is alone in a group, and both write the same views."""
    views, who = tmp_path / "views", users(topic_prefix, 6)
    groups = (f"{topic_prefix}{name}" for name in ("one", "other"))
    first, second = (WorkerProcess(kafka, views, group, MODEL) for group in groups)
    with first, second:
        for number in range(12):
            append(log, mixed(who, 15, f"round{number}"))
            time.sleep(0.2)
        for worker in (first, second):
            worker.wait_for("owns mnemolog")
        append(log, mixed(who, 100, "both"))
        wait_until_caught_up(log, views)
        assert (first.stop(), second.stop()) == (0, 0), first.said + second.said
    assert live(views) == folded(log, resolve(MODEL))


def test_a_worker_whose_disk_is_full_waits_until_there_is_room(
    kafka: str, log: KafkaLog, tmp_path: Path, topic_prefix: str
) -> None:
    views, who = tmp_path / "views", users(topic_prefix, 4)
    with WorkerProcess(kafka, views, topic_prefix, "hashing:512") as worker:
        append(log, mixed(who, 20, "before"))
        wait_until_caught_up(log, views)
        limits = psutil.Process(worker.process.pid)
        room = limits.rlimit(psutil.RLIMIT_FSIZE)
        limits.rlimit(psutil.RLIMIT_FSIZE, (32_768, room[1]))
        append(log, remembered(who, 400, "while it is full"))
        worker.wait_for("can't apply offset", times=2)
        limits.rlimit(psutil.RLIMIT_FSIZE, room)
        wait_until_caught_up(log, views)
        append(log, mixed(who, 20, "afterwards"))
        wait_until_caught_up(log, views)
        assert worker.stop() == 0
    assert live(views) == folded(log, resolve("hashing:512"))


def test_what_one_handle_writes_another_recalls_by_its_token_over_rebalances(
    kafka: str, tmp_path: Path, topic_prefix: str
) -> None:
    """Two workers, then one that died: each of a thousand writes is seen, whoever applies it."""
    views, group = tmp_path / "views", topic_prefix
    with (
        mnemolog.connect(kafka, views, (topic_prefix,), embedder=MODEL) as writing,
        mnemolog.connect(kafka, views, (topic_prefix,), embedder=MODEL, wait_seconds=60) as reading,
        WorkerProcess(kafka, views, group, MODEL) as first,
        WorkerProcess(kafka, views, group, MODEL) as second,
        ThreadPoolExecutor(8) as threads,
    ):
        for worker in (first, second):
            worker.wait_for("owns ")

        def is_seen(number: int) -> bool:
            if number == 500:
                first.kill()
            who = (topic_prefix, f"user{number % 7}")
            receipt = writing.at(who).remember(f"fact number {number}", id=f"f{number}")
            return f"f{number}" in reading.at(who).recall(f"number {number}", after=receipt.position).ids

        unseen = [number for number, seen in enumerate(threads.map(is_seen, range(1_000))) if not seen]
        wait_until(lambda: second.said.count("owns mnemolog") >= 2, "the takeover")
    assert unseen == []


def test_random_kills_under_load_leave_a_clean_fold_and_nothing_out() -> None:
    """The soak for a few seconds; `python -m benchmarks.kills` runs it for as long as you like."""
    command = [sys.executable, "-m", "benchmarks.kills", "--seconds", "15", "--seed", "7"]
    soak = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert soak.returncode == 0, soak.stdout + soak.stderr
    assert "kill -9 of a worker" in soak.stdout
    assert int(re.findall(r"(\d+) writes acknowledged", soak.stdout)[0]) > 50


def test_a_clock_that_steps_back_or_far_ahead_loses_nothing_that_does_not_expire(tmp_path: Path) -> None:
    clock = MovingClock(NOON)
    with mnemolog.open(tmp_path, "alice", embedder=MODEL, clock=clock, track="off") as mem:
        for number, hours in enumerate((0, -30, 2, 24 * 400, -24 * 800, 5)):
            clock.now = clock.now + timedelta(hours=hours)
            mem.remember(f"at step {number}", id=f"m{number}", key="slot" if number % 2 else None)
            mem.mark_used("m0")
        assert {item.id for item in mem.list(include_superseded=True, limit=50).items} == {
            f"m{number}" for number in range(6)
        }
        used = mem.get("m0")
        assert used is not None
        assert used.use_count == 6
        assert set(mem.recall("at step", k=10).ids) >= {"m0", "m2", "m4", "m5"}
    views = Views(tmp_path / "views")
    with EmbeddedLog(tmp_path / "log.sqlite") as log:
        report = replay(log, views, resolve(MODEL), flip=False)
    assert compare(views, views.current().generation, report.manifest.generation).differing == []
