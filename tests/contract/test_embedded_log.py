"""What can go wrong with one file that several processes share, done for real."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.errors import InvalidInputError, LogError, LogUnavailableError
from mnemolog.schemas.records import Record
from mnemolog.schemas.topics import MEMORIES

APPEND_FOR_EVER = """
import itertools, sys
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.records import Record
log = EmbeddedLog(sys.argv[1])
for i in itertools.count():
    log.append([Record("mnemolog.memories", sys.argv[2].encode(), b"%s %d" % (sys.argv[2].encode(), i))] * 3)
    print(i, flush=True)
"""

APPEND_SOME = """
import sys
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.records import Record
with EmbeddedLog(sys.argv[1]) as log:
    for i in range(50):
        log.append([Record("mnemolog.memories", b"key", b"%s %d" % (sys.argv[2].encode(), i))])
"""

FILL_THE_DISK = """
import json, resource, sys, threading
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.errors import LogUnavailableError
from mnemolog.schemas.records import Record
log = EmbeddedLog(sys.argv[1])
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
acked, errors = [], []

def append(value, padding=2_000):
    try:
        log.append([Record("mnemolog.memories", b"key", value.encode(), (("padding", b"x" * padding),))])
        acked.append(value)
    except LogUnavailableError as error:
        errors.append(str(error))

append("before")
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
threads = [
    threading.Thread(target=lambda n=n: [append(f"{n}/{i}") for i in range(100)]) for n in range(4)
]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
append("too big", 1_000_000)
readable = len(log.read("mnemolog.memories", 0, 0, 10_000))
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
append("after")
print(json.dumps({"acked": acked, "errors": errors, "readable": readable}))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


def record(value: bytes, timestamp: int | None = None) -> Record:
    return Record(MEMORIES, b"key", value, (), timestamp)


def stored_values(path: Path) -> list[bytes | None]:
    with EmbeddedLog(path) as log:
        return [stored.value for stored in log.read(MEMORIES, 0, 0, 1_000_000)]


def child(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kill_after(process: subprocess.Popen[str], lines: int) -> int:
    """Kill `process` when it has said `lines` lines; how many it said in the end."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    process.kill()
    said += process.stdout.readlines()
    process.wait()
    return sum(line.endswith("\n") for line in said)


@pytest.mark.parametrize("lines", [1, 20, 57])
def test_kill_9_loses_no_acknowledged_record_and_tears_no_batch(path: Path, lines: int) -> None:
    """M38, M39: two writers killed in mid append; the log opens and holds all that was acknowledged."""
    writers = {name: child(APPEND_FOR_EVER, path, name) for name in ("a", "b")}
    acked = {name: kill_after(writer, lines) for name, writer in writers.items()}
    values = stored_values(path)
    for name, count in acked.items():
        mine = [value for value in values if value is not None and value.startswith(name.encode())]
        assert len(mine) in (3 * count, 3 * count + 3)
        assert mine == [b"%s %d" % (name.encode(), i // 3) for i in range(len(mine))]
    with EmbeddedLog(path) as log:
        assert log.append([record(b"after")])[0].offset == len(values)


def test_a_full_disk_is_a_clear_error_and_passes(path: Path) -> None:
    process = child(FILL_THE_DISK, path)
    told = json.loads(process.communicate(timeout=60)[0])
    assert told["acked"][0] == "before"
    assert told["acked"][-1] == "after"
    assert len(told["errors"]) == 403 - len(told["acked"]) > 0
    assert all("free" in error.lower() or "can't be read or written" in error for error in told["errors"])
    assert told["readable"] == len(told["acked"]) - 1
    assert sorted(map(str, (value.decode() for value in stored_values(path) if value))) == sorted(
        told["acked"]
    )


def test_processes_that_make_and_share_one_file(path: Path) -> None:
    """M38: four processes open a new directory at once and write."""
    writers = [child(APPEND_SOME, path, number) for number in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    values = stored_values(path)
    for number in range(4):
        expected = [b"%d %d" % (number, i) for i in range(50)]
        assert [value for value in values if value in expected] == expected
    assert len(values) == 200


def append_inherited(log: EmbeddedLog) -> None:
    for i in range(10):
        log.append([record(b"child %d" % i)])
    log.close()


def test_a_fork_while_threads_append(path: Path) -> None:
    """SQLite forbids a connection across a fork; parent and child both go on, each with its own."""
    log = EmbeddedLog(path)
    stop = threading.Event()
    counts = [0, 0]

    def work(number: int) -> None:
        while not stop.is_set():
            log.append([record(b"parent")])
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    context = multiprocessing.get_context("fork")
    for _ in range(5):
        worker = context.Process(target=append_inherited, args=(log,))
        worker.start()
        worker.join(60)
        assert worker.exitcode == 0
    stop.set()
    for thread in threads:
        thread.join()
    log.close()
    values = stored_values(path)
    assert values.count(b"parent") == sum(counts)
    assert len(values) == sum(counts) + 50


def test_readers_are_not_held_up_by_a_writer(path: Path) -> None:
    with EmbeddedLog(path) as log:
        log.append([record(b"x")])
        writer = sqlite3.connect(path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        assert len(log.read(MEMORIES, 0, 0, 10)) == 1
        assert log.end_offsets(MEMORIES) == {0: 1}
        writer.close()


def test_the_number_of_partitions_stays(path: Path) -> None:
    EmbeddedLog(path, partitions=3).close()
    with EmbeddedLog(path) as log:
        assert log.partitions(MEMORIES) == 3
    EmbeddedLog(path, partitions=3).close()
    with pytest.raises(InvalidInputError, match="3 partitions") as caught:
        EmbeddedLog(path, partitions=4)
    assert caught.value.field == "partitions"
    for number in (0, -1, 5_000, True):
        with pytest.raises(InvalidInputError):
            EmbeddedLog(path, partitions=number)


def test_a_clock_that_steps_back_repeats_the_last_stamp(path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    moments = iter([start, start - timedelta(hours=1), start + timedelta(milliseconds=5)])
    with EmbeddedLog(path, clock=lambda: next(moments)) as log:
        for value in (b"a", b"b", b"c"):
            log.append([record(value)])
        stamps = [stored.timestamp for stored in log.read(MEMORIES, 0, 0, 10)]
    assert [stamp - stamps[0] for stamp in stamps] == [0, 0, 5]


def test_offsets_by_time_agree_with_a_plain_search(path: Path) -> None:
    stamps = [(i * 7919) % 101 for i in range(200)]
    with EmbeddedLog(path) as log:
        log.append([record(b"x", stamp) for stamp in stamps])
        for time in range(103):
            expected = next((i for i, stamp in enumerate(stamps) if stamp >= time), len(stamps))
            assert log.offset_at(MEMORIES, 0, time) == expected


def cut(path: Path, size: int) -> None:
    os.truncate(path, size)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: cut(path, path.stat().st_size - 1),
        lambda path: cut(path, path.stat().st_size - 8192),
        lambda path: cut(path, 100),
        lambda path: path.write_bytes(b"not a database " * 1_000),
    ],
)
def test_a_damaged_file_is_reported_when_opened(path: Path, damage: Callable[[Path], object]) -> None:
    with EmbeddedLog(path) as log:
        log.append([record(b"x" * 1_000) for _ in range(200)])
    damage(path)
    with pytest.raises(LogError, match=r"damaged.*recover"):
        EmbeddedLog(path)


def test_a_wal_that_was_cut_serves_all_before_the_cut(path: Path) -> None:
    """M39: what the kill left of the last record is dropped, the rest is served."""
    process = child(APPEND_FOR_EVER, path, "a")
    kill_after(process, 10)
    wal = path.with_name("log.sqlite-wal")
    whole = wal.stat().st_size
    cut(wal, whole - 10)
    values = stored_values(path)
    assert len(values) >= 9 * 3
    assert values == [b"a %d" % (i // 3) for i in range(len(values))]


def test_what_is_no_log_is_said(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    with pytest.raises(LogError, match="no mnemolog log"):
        EmbeddedLog(other)
    with pytest.raises(LogUnavailableError, match="can't be read or written"):
        EmbeddedLog(tmp_path)
    with pytest.raises(LogUnavailableError, match="directory"):
        EmbeddedLog(other / "log.sqlite")


def test_a_later_format_is_refused(path: Path) -> None:
    EmbeddedLog(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE log SET format = 2")
    connection.close()
    with pytest.raises(LogError, match="update mnemolog"):
        EmbeddedLog(path)


def test_one_callers_failure_is_not_the_others(path: Path) -> None:
    with EmbeddedLog(path) as log:
        with pytest.raises((TypeError, AttributeError)):
            log.append([Record(MEMORIES, None, b"x")])  # type: ignore[arg-type]
        assert log.append([record(b"y")])[0].offset == 0


def test_a_killed_writer_holds_nobody_up(path: Path) -> None:
    process = child(APPEND_FOR_EVER, path, "a")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    process.kill()
    process.wait()
    with EmbeddedLog(path) as log:
        log.append([record(b"mine")])
