"""The graph: how long walks take among many facts, warm, and how long it takes to load, embedded.

Run: python -m benchmarks.graph [FACTS]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import mnemolog
from mnemolog.memory import Memory
from mnemolog.producers.commands import Commands
from mnemolog.producers.memory_producer import MemoryProducer

FACTS = 100_000
FACTS_AN_ENTITY = 5
CALLS = 200
NAMESPACE = ("bench",)
Argument = TypeVar("Argument")


def fill(folder: str, facts: int) -> None:
    """Append so many facts between random entities, each entity in about ten of them."""
    dice, commands = random.Random(1), Commands(NAMESPACE)
    entities = max(facts // FACTS_AN_ENTITY, 2)

    def name() -> str:
        return f"entity {dice.randrange(entities)}"

    with MemoryProducer.open(folder, NAMESPACE) as producer:
        made = (commands.know_fact(name(), f"predicate {dice.randrange(20)}", name()) for _ in range(facts))
        failed = [report for report in producer.write_batch(made) if report.error]
    if failed:
        raise failed[0].error or RuntimeError("a fact was not written")


def measure(memory: Memory, facts: int) -> dict[str, list[float]]:
    """Operation → seconds of each call. The first walk, which loads the graph, stands apart."""
    dice = random.Random(2)
    entities = max(facts // FACTS_AN_ENTITY, 2)
    some = [f"entity {dice.randrange(entities)}" for _ in range(CALLS)]
    pairs = list(zip(some[:50], reversed(some), strict=False))
    return {
        "first walk": timed(memory.neighbours, some[:1]),
        "neighbours, depth 1": timed(memory.neighbours, some),
        "neighbours, depth 2": timed(lambda name: memory.neighbours(name, depth=2, limit=1_000), some),
        "neighbours, depth 3": timed(lambda name: memory.neighbours(name, depth=3, limit=1_000), some),
        "paths, up to 4 steps": timed(lambda pair: memory.paths(*pair), pairs),
        "entities by prefix": timed(lambda name: memory.entities(name), some[:50]),
        "a fact, then its neighbours": timed(lambda name: know_then_read(memory, name), some[:50]),
    }


def know_then_read(memory: Memory, name: str) -> None:
    """What a handle pays to see its own write in the graph."""
    memory.know_fact(name, "knows", "somebody new")
    memory.neighbours(name)


def timed(call: Callable[[Argument], object], arguments: Sequence[Argument]) -> list[float]:
    """Seconds of each call."""
    seconds = []
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    """Fill a folder, apply it, and print p50 and p99."""
    facts = int(sys.argv[1]) if len(sys.argv) > 1 else FACTS
    with tempfile.TemporaryDirectory() as folder:
        fill(folder, facts)
        with mnemolog.open(folder, NAMESPACE, embedder="none", wait_seconds=3_600) as memory:
            memory.get("no matter which: this waits for all that was written")
            print(f"{facts} facts, milliseconds: p50, p99")
            for name, seconds in measure(memory, facts).items():
                ordered = sorted(seconds)
                p50, p99 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99) - 1]
                print(f"{name:<28} {p50 * 1e3:9.2f} {max(p50, p99) * 1e3:9.2f}")


if __name__ == "__main__":
    main()
