"""A replay against the live rate, and its memory. Run: python -m benchmarks.replay

A made-up log of memories, updates, forgetting and feedback in many namespaces. First it is written and
applied live, in one process, as an embedded memory does; then replayed, in one process and in one a core.
Both give the digest of the live views.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from benchmarks.measure import peak_rss_mib, report, texts
from mnemolog.allocator import hold_little
from mnemolog.embedders import resolve
from mnemolog.processors.generations import compare
from mnemolog.processors.inline import InlineRunner
from mnemolog.processors.replay import replay
from mnemolog.processors.replay_parts import Processes
from mnemolog.processors.shards import FED_TOPICS
from mnemolog.producers.clock import utc_now
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.codec import encode
from mnemolog.schemas.events import Envelope
from mnemolog.storage.engine import read_little_at_once
from mnemolog.storage.layout import Views

PER_NAMESPACE = 500
CHUNK = 500


def made_events(count: int, seed: int = 3) -> Iterator[Envelope]:
    """Of twenty events sixteen remember (two of them under one of ten keys), two update, one forgets and one
    is feedback."""
    chance = random.Random(seed)
    commands = [Commands((f"user{number}",)) for number in range(max(count // PER_NAMESPACE, 1))]
    known: dict[int, list[str]] = {}
    made = texts(min(count, 20_000))
    for number in range(count):
        at = chance.randrange(len(commands))
        mine, ids, kind = commands[at], known.setdefault(at, []), number % 20
        if kind < 16 or not ids:
            key = f"key{chance.randrange(10)}" if kind < 2 else None
            event = mine.remember(f"{made[number % len(made)]} {number}", key=key, id=f"m{number}")
            ids.append(f"m{number}")
            yield event
        elif kind < 18:
            yield mine.update(chance.choice(ids), text=f"changed {number}")
        elif kind == 18:
            yield mine.forget(ids.pop(chance.randrange(len(ids))))
        else:
            yield mine.feedback(used=[chance.choice(ids)])


def live(home: Path, count: int, partitions: int, embedder: str) -> tuple[float, float]:
    """Seconds to write `count` events and apply them while they come, and those of processor time."""
    with EmbeddedLog(home / "log.sqlite", partitions=partitions) as log:
        runner = InlineRunner(log, Views(home / "views"), resolve(embedder), utc_now, time.monotonic)
        runner.start()
        start, spent_before = time.perf_counter(), time.process_time()
        events = made_events(count)
        while some := list(islice(events, CHUNK)):
            log.append([record for event in some for record in encode(event)])
            runner.wake()
        for topic in FED_TOPICS:
            for partition, end in log.end_offsets(topic).items():
                if end and not runner.wait_for_progress(topic, partition, end - 1, 3_600):
                    raise RuntimeError("the live run did not end")
        taken = time.perf_counter() - start, time.process_time() - spent_before
        runner.stop()
    return taken


def open_log(home: Path) -> EmbeddedLog:
    """The log, for a process of the replay."""
    return EmbeddedLog(home / "log.sqlite")


def replayed(home: Path, processes: int, embedder: str) -> tuple[float, str, int]:
    """Seconds of a replay, its generation, and how many records it applied."""
    views = Views(home / "views")
    with open_log(home) as log:
        start = time.perf_counter()
        how = Processes(processes, partial(open_log, home), partial(resolve, embedder))
        done = replay(log, views, resolve(embedder), flip=False, processes=how)
        return time.perf_counter() - start, done.manifest.generation, done.applied


def in_a_fresh_process(
    home: Path, processes: int, embedder: str
) -> tuple[float, str, int, float, float, float]:
    """`replayed`, the peak memory of the process itself and of the largest that it started, in MiB, and the
    seconds of processor time that all of them took."""
    command = [sys.executable, "-m", "benchmarks.replay", "--one", str(home)]
    command += ["--processes", str(processes), "--embedder", embedder]
    done = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(done[0]), done[1], int(done[2]), float(done[3]), float(done[4]), float(done[5])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--embedder", default="none", help='such as "hashing:64": its vectors are compared as well'
    )
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    if given.one is not None:
        hold_little()  # as the command line does
        read_little_at_once(given.one)
        seconds, generation, applied = replayed(given.one, given.processes, given.embedder)
        child = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = time.process_time() + child.ru_utime + child.ru_stime
        print(seconds, generation, applied, peak_rss_mib(), child.ru_maxrss / 1024, spent)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder), given)


def measure(home: Path, given: argparse.Namespace) -> int:
    """Run all and print it; 1 if a digest differs."""
    seconds, live_spent = live(home, given.count, given.partitions, given.embedder)
    live_rate = given.count / seconds
    one = in_a_fresh_process(home, 1, given.embedder)
    many = in_a_fresh_process(home, given.processes, given.embedder)
    views = Views(home / "views")
    equal = all(compare(views, views.current().generation, run[1]).equal for run in (one, many))
    others = given.processes - 1  # beside the one that asks, which folds too
    rates = [run[2] / run[0] for run in (one, many)]
    rows: list[tuple[str, object, str]] = [
        ("events", given.count, ""),
        ("live, written and applied, events/s", live_rate, ""),
        ("replay in one process, records/s", rates[0], ""),
        (f"replay in {given.processes} processes, records/s", rates[1], "20,000"),
        ("processor time live, µs an event", live_spent / given.count * 1e6, ""),
        (f"processor time of {given.processes} processes, µs a record", many[5] / many[2] * 1e6, ""),
        ("replay to live", rates[1] / live_rate, "5"),
        ("peak memory, one process, MiB", one[3], "1,024"),
        (f"peak memory of the largest of {given.processes}, MiB", max(many[3], many[4]), "1,024"),
        ("peak memory of all of them, at most, MiB", many[3] + others * many[4], ""),
        ("digests equal to the live views", equal, "True"),
    ]
    report(f"Replay, embedder: {given.embedder}", rows, given.results)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
