"""The embedded default: how soon a write is durable and recallable. Run: python -m benchmarks.embedded"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mnemolog
from benchmarks.measure import p50, p99, peak_rss_mib, questions, report, texts, timed

COLD = """
import sys, time
start = time.perf_counter()
import mnemolog
mnemolog.open, __import__("lancedb"), __import__("mnemolog.storage.table")
imported = time.perf_counter()
with mnemolog.open(sys.argv[1], embedder=sys.argv[2]) as memory:
    memory.recall("What did Lena do with the piano?")
    print(imported - start, time.perf_counter() - imported)
"""


def acknowledged(folder: Path, count: int) -> list[float]:
    """Milliseconds until `remember` returns, one at a time, with MiniLM busy in the background."""
    with mnemolog.open(folder) as memory:
        memory.wait(memory.remember("warm up").position)
        return timed([lambda text=text: memory.remember(text) for text in texts(count)])  # type: ignore[misc]


def recallable(folder: Path, count: int) -> list[float]:
    """Milliseconds from the call of `remember` until a recall would see it, one at a time."""
    with mnemolog.open(folder) as memory:
        memory.wait(memory.remember("warm up").position)

        def write(text: str) -> None:
            memory.wait(memory.remember(text).position)

        return timed([lambda text=text: write(text) for text in texts(count)])  # type: ignore[misc]


def bulk(folder: Path, count: int, embedder: str) -> tuple[float, float]:
    """Memories a second: acknowledged, and recallable."""
    made = texts(count)
    with mnemolog.open(folder, embedder=embedder) as memory:
        start = time.perf_counter()
        receipts = memory.remember_many(made)
        durable = time.perf_counter()
        memory.wait(receipts[-1].position, 600)
        return count / (durable - start), count / (time.perf_counter() - start)


def cold(folder: Path, embedder: str) -> tuple[float, float]:
    """Seconds in a fresh process: import, then open with the first recall. The best of three."""
    runs = []
    for _ in range(3):
        command = [sys.executable, "-c", COLD, str(folder), embedder]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        runs.append((float(found[-2]), float(found[-1])))
    return min(run[0] for run in runs), min(run[1] for run in runs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=300, help="single writes to time")
    parser.add_argument("--many", type=int, default=10_000, help="memories in bulk")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        acks = acknowledged(home / "acks", arguments.writes)
        seen = recallable(home / "seen", arguments.writes)
        durable, visible = bulk(home / "none", arguments.many, "none")
        bulk(home / "hashing", arguments.many, "hashing")
        imported, opened = cold(home / "hashing", "hashing")
        with mnemolog.open(home / "hashing", embedder="hashing") as memory:
            asked = questions(100)
            memory.recall(asked[0])
            warm = timed([lambda text=text: memory.recall(text) for text in asked])  # type: ignore[misc]
    rows: list[tuple[str, object, str]] = [
        ("remember acknowledged, p50 ms", p50(acks), "≤ 2"),
        ("remember acknowledged, p99 ms", p99(acks), ""),
        ("remember → recallable with MiniLM, p50 ms", p50(seen), "≤ 40"),
        ("remember → recallable with MiniLM, p99 ms", p99(seen), ""),
        (f"remember_many of {arguments.many:,}, acknowledged/s", durable, "≥ 5,000"),
        (f"remember_many of {arguments.many:,}, recallable/s, no embedding", visible, ""),
        (f"cold open of {arguments.many:,} and first recall, s", opened, "≤ 1"),
        ("import before that, s", imported, ""),
        (f"warm recall among {arguments.many:,}, p50 ms", p50(warm), ""),
        ("peak memory of this process, MiB", peak_rss_mib(), ""),
    ]
    report("Embedded", rows, arguments.json)


if __name__ == "__main__":
    main()
