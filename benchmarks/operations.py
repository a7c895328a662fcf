"""Each operation's time among many memories: embedded, through Kafka with a worker, and heapdb-memory's.

Run: python -m benchmarks.operations [--memories N] [--large N] [--no-kafka] [--heapdb PYTHON]

PYTHON is the interpreter of an environment that has heapdb-memory, which is no dependency of ours. A write is
timed until it is durable; "then get", until the same handle reads it back. All search 512 hashed dimensions
beside keywords.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

import mnemolog
from benchmarks.measure import p50, p99, questions, texts, timed
from benchmarks.pipeline import kafka, worker
from mnemolog.memory import Memory
from mnemolog.producers.commands import Commands
from mnemolog.producers.memory_producer import MemoryProducer

MEMORIES, LARGE = 10_000, 100_000
CALLS, FEW = 200, 50
NAMESPACE = ("bench",)
EMBEDDER = "hashing:512"
AIMS = {
    ("remember", "embedded"): 2.0,
    ("remember", "Kafka"): 5.0,
    ("get_context", "embedded"): 2.0,
    ("get_context", "Kafka"): 2.0,
    ("cache check", "embedded"): 2.0,
    ("cache check", "Kafka"): 2.0,
}
READER = """
import sys, mnemolog
from benchmarks.measure import questions, resident_mib
bare = resident_mib()
with mnemolog.open(sys.argv[1], ("bench",), embedder=sys.argv[2]) as memory:
    for question in questions(50):
        for hit in memory.recall(question, k=8):
            memory.get(hit.memory.id)
    memory.list(limit=100)
    print(bare, resident_mib())
"""
THEIRS = Path(__file__).with_name("operations_heapdb.py")
Times = dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Operation:
    """One call, which is told how often it was made before."""

    name: str
    call: Callable[[int], object]
    times: int = CALLS


def events(memories: int) -> Iterator[object]:
    """Memories `m0`, `m1`, … with keys, tags and numbers, as events."""
    commands = Commands(NAMESPACE)
    for number, text in enumerate(texts(memories)):
        yield commands.remember(
            text,
            id=f"m{number}",
            key=f"key {number}",
            kind="fact" if number % 3 else "note",
            tags=[f"tag{number % 50}"],
            importance=number % 10 / 10,
            metadata={"cost": number % 100},
        )


def written(producer: MemoryProducer, memories: int) -> str:
    """Append that many memories; the last position."""
    reports = producer.write_batch(events(memories))  # type: ignore[arg-type]  # they are envelopes
    failed = [report.error for report in reports if report.error is not None]
    if failed:
        raise failed[0]
    return str(reports[-1].position)


def operations(memory: Memory) -> list[Operation]:
    """All that is timed, writes after reads."""
    asked, ask = questions(CALLS), {"model": "m", "messages": ["hi"]}
    memory.set_context("k", {"state": 1})
    memory.cache.llm.store(ask, "hello")
    for number in range(FEW):
        memory.know_fact(f"entity {number}", "knows", f"entity {number // 2}")
    shown = memory.recall(asked[0])
    return [
        Operation("recall", lambda n: memory.recall(asked[n], k=5)),
        Operation(
            "recall, by kind and tag", lambda n: memory.recall(asked[n], kinds=["fact"], tags=["tag7"])
        ),
        Operation("get", lambda n: memory.get(f"m{n}")),
        Operation("find_by_key", lambda n: memory.find_by_key(f"key {n}")),
        Operation("list", lambda n: memory.list(limit=20, offset=n)),
        Operation("list, by metadata", lambda n: memory.list(filters={"metadata.cost": {"lt": n}}), FEW),
        Operation("history", lambda n: memory.history(f"m{n}")),
        Operation("aggregate", lambda _: memory.aggregate("kind", {"avg": "importance"}), FEW),
        Operation("stats", lambda _: memory.stats(), FEW),
        Operation("neighbours, depth 2", lambda n: memory.neighbours(f"entity {n % FEW}", depth=2)),
        Operation("get_context", lambda _: memory.get_context("k")),
        Operation("cache check", lambda _: memory.cache.llm.check(ask)),
        Operation("remember", lambda n: memory.remember(f"the {n}th new note")),
        Operation("remember, then get", lambda n: memory.get(memory.remember(f"{n} more").id), FEW),
        Operation("update", lambda n: memory.update(f"m{n}", importance=0.5), FEW),
        Operation("supersede", lambda n: memory.supersede(f"m{n}", by=f"m{n + CALLS}"), FEW),
        Operation("feedback", lambda n: memory.feedback(shown.recall_id, used=[f"m{n}"])),
        Operation("set_context", lambda n: memory.set_context(f"k{n}", {"state": n})),
        Operation("cache store", lambda n: memory.cache.llm.store({**ask, "seed": n}, "hello")),
        Operation("forget", lambda n: memory.forget(f"m{n}")),
    ]


def measured(memory: Memory) -> Times:
    """Operation → p50 and p99 in milliseconds, each after one call that warms up."""
    found = {}
    for operation in operations(memory):
        operation.call(0)
        spent = timed([lambda n=n, call=operation.call: call(n) for n in range(operation.times)])  # type: ignore[misc]
        found[operation.name] = p50(spent), p99(spent)
    return found


def embedded(home: Path, memories: int) -> Times:
    """On a folder."""
    with MemoryProducer.open(home, NAMESPACE) as producer:
        last = written(producer, memories)
    with mnemolog.open(home, NAMESPACE, embedder=EMBEDDER) as memory:
        memory.wait(last, 3_600)
        return measured(memory)


def through_kafka(home: Path, memories: int) -> Times:
    """On a broker of our own, with a worker in a process of its own."""
    with kafka(home) as bootstrap, worker(bootstrap, home, EMBEDDER) as working:
        with MemoryProducer.connect(bootstrap, NAMESPACE) as producer:
            last = written(producer, memories)
        with mnemolog.connect(bootstrap, working.views, NAMESPACE, embedder=EMBEDDER) as memory:
            memory.wait(last, 3_600)
            return measured(memory)


def heapdbs(python: str, home: Path, memories: int) -> Times:
    """heapdb-memory's, in its own interpreter, on the same texts and questions."""
    given = json.dumps({"texts": texts(memories), "questions": questions(CALLS), "few": FEW})
    done = subprocess.run(
        [python, str(THEIRS), str(home)], input=given, capture_output=True, text=True, check=True
    )
    return {name: (p50(spent), p99(spent)) for name, spent in json.loads(done.stdout).items()}


def large(home: Path, memories: int) -> tuple[list[float], list[float]]:
    """MiB of a process that only reads, before opening and at the end; milliseconds of aggregates."""
    with MemoryProducer.open(home, NAMESPACE) as producer:
        last = written(producer, memories)
    with mnemolog.open(home, NAMESPACE, embedder="hashing:384") as memory:
        memory.wait(last, 7_200)
        memory.aggregate("kind")
        spent = timed([lambda: memory.aggregate("kind", {"avg": "importance"})] * FEW)
    command = [sys.executable, "-c", READER, str(home), "hashing:384"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(figure) for figure in done.stdout.split()], spent


def show(memories: int, columns: dict[str, Times]) -> None:
    """Print p50 and p99 of each operation, with the aims."""
    table = Table(title=f"Operations among {memories:,} memories: p50 / p99, ms", title_justify="left")
    for column in ("operation", *columns, "aim (p50)"):
        table.add_column(column, justify="left" if column == "operation" else "right", no_wrap=True)
    for name in next(iter(columns.values())):
        cells = [
            f"{times[name][0]:.3g} / {times[name][1]:.3g}" if name in times else ""
            for times in columns.values()
        ]
        aims = [f"{AIMS[name, where]:g} {where}" for where in columns if (name, where) in AIMS]
        table.add_row(name, *cells, ", ".join(aims))
    Console(width=140).print(table)
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=MEMORIES)
    parser.add_argument(
        "--large", type=int, default=LARGE, help="how many a reading handle has; 0 leaves it out"
    )
    parser.add_argument("--no-kafka", action="store_true")
    parser.add_argument("--heapdb", help="an interpreter that has heapdb-memory")
    options = parser.parse_args()
    with scratch() as home:
        columns = {"embedded": embedded(home / "embedded", options.memories)}
        if not options.no_kafka:
            columns["Kafka"] = through_kafka(home / "broker", options.memories)
        if options.heapdb:
            columns["heapdb-memory"] = heapdbs(options.heapdb, home / "heapdb", options.memories)
        show(options.memories, columns)
        if options.large:
            (bare, full), spent = large(home / "large", options.large)
            print(
                f"a handle that only reads {options.large:,} memories: {full:.0f} MiB, "
                f"{bare:.0f} before it opened (aim 300)"
            )
            print(f"aggregate over them: p50 {p50(spent):.3g} ms, p99 {p99(spent):.3g} (aim 100)")


if __name__ == "__main__":
    main()
