"""heapdb-memory's operations, for `benchmarks.operations`, which runs this in an interpreter that has it.

Reads texts and questions as JSON from stdin; prints operation → milliseconds of each call. Its writes live in
memory; `remember` is timed with `autosave`, which makes them last.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from heapdb_memory import HashingEmbedder, Memory  # type: ignore[import-not-found]  # in its own environment


def timed(call: Callable[[int], object], times: int) -> list[float]:
    """Milliseconds of each call, after one that warms up."""
    call(0)
    spent = []
    for number in range(times):
        start = time.perf_counter()
        call(number)
        spent.append((time.perf_counter() - start) * 1e3)
    return spent


def main() -> None:
    """Fill one memory, time, print."""
    given: dict[str, Any] = json.load(sys.stdin)
    asked, few = given["questions"], given["few"]
    memory = Memory(sys.argv[1], namespace="bench", embedder=HashingEmbedder(dim=512))
    kinds = ("note", "fact", "fact")
    items = [
        {"text": text, "id": f"m{n}", "key": f"key {n}", "kind": kinds[n % 3], "tags": [f"tag{n % 50}"]}
        for n, text in enumerate(given["texts"])
    ]
    memory.add_many(items)
    times = len(asked)
    found = {
        "recall": timed(lambda n: memory.recall(asked[n], k=5), times),
        "recall, by kind and tag": timed(
            lambda n: memory.recall(asked[n], kinds=["fact"], tags=["tag7"]), times
        ),
        "get": timed(lambda n: memory.get(f"m{n}"), times),
        "find_by_key": timed(lambda n: memory.find_by_key(f"key {n}"), times),
        "list": timed(lambda n: memory.list(limit=20, offset=n), times),
        "stats": timed(lambda _: memory.stats(), few),
    }
    found["update"] = timed(lambda n: memory.update(f"m{n}", f"changed {n}"), few)
    found["feedback"] = timed(lambda n: memory.mark_used([f"m{n + times}"]), times)
    found["forget"] = timed(lambda n: memory.forget([f"m{n + 2 * times}"]), times)
    memory.autosave = True
    found["remember"] = timed(lambda n: memory.add(f"the {n}th new note"), 10)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
