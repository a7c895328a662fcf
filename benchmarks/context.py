"""Context and caches: how long reads, checks and writes take, embedded.

Run: python -m benchmarks.context [ENTRIES]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mnemolog
from mnemolog.memory import Memory

ENTRIES = 10_000
READS, WRITES = 2_000, 200


def measure(memory: Memory, entries: int = ENTRIES) -> dict[str, list[float]]:
    """Operation → seconds of each call, on a namespace with `entries` entries of 300 bytes in each tier.

    Reads come when the views show all that was written; `set, then get` waits until they show the write.
    """
    dice = random.Random(1)
    fill(memory, entries)
    some = [dice.randrange(entries) for _ in range(READS)]
    memory.get_context("k0")
    cache = memory.cache
    return {
        "get_context": timed(lambda n: memory.get_context(f"k{n}"), some),
        "llm check": timed(lambda n: cache.llm.check(request(n)), some),
        "llm check, miss": timed(lambda n: cache.llm.check(request(-1 - n)), some),
        "tool check": timed(lambda n: cache.tool.check("search", {"q": n}), some),
        "session get": timed(lambda n: cache.session.get(f"k{n}", thread_id="t"), some),
        "list_context, substring": timed(lambda n: memory.list_context(contains=f"number {n} "), some[:50]),
        "set_context": timed(lambda n: memory.set_context(f"k{n}", value(n)), some[:WRITES]),
        "set, then get": timed(lambda n: set_then_get(memory, n), some[:WRITES]),
    }


def fill(memory: Memory, entries: int) -> None:
    """Write as many entries into context, each cache and a session, and wait until the views show them."""
    written = None
    for number in range(entries):
        memory.set_context(f"k{number}", value(number))
        memory.cache.llm.store(request(number), value(number))
        memory.cache.tool.store("search", {"q": number}, value(number))
        written = memory.cache.session.set(f"k{number}", value(number), thread_id="t")
    if written is not None:
        memory.wait(written.position, 600)


def request(number: int) -> dict[str, object]:
    """A request to a model."""
    return {"model": "m", "messages": [{"role": "user", "content": f"question {number}"}], "temperature": 0}


def value(number: int) -> dict[str, object]:
    """A value of about 300 bytes."""
    return {"text": f"number {number} " + "lorem ipsum " * 20, "number": number}


def set_then_get(memory: Memory, number: int) -> None:
    """A write, and the read that shows it."""
    memory.set_context(f"k{number}", value(number))
    memory.get_context(f"k{number}")


def timed(call: Callable[[int], object], numbers: list[int]) -> list[float]:
    """Seconds of each call."""
    seconds = []
    for number in numbers:
        start = time.perf_counter()
        call(number)
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    """Print a table."""
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES
    with (
        tempfile.TemporaryDirectory() as home,
        mnemolog.open(Path(home) / "memory", embedder="none") as memory,
    ):
        for name, seconds in measure(memory, entries).items():
            ordered = sorted(seconds)
            p50, p99 = ordered[len(ordered) // 2] * 1_000, ordered[len(ordered) * 99 // 100] * 1_000
            print(f"{name:<26} p50 {p50:8.3f} ms   p99 {p99:8.3f} ms")


if __name__ == "__main__":
    main()
