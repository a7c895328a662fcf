"""heapdb-memory's recall of the same memories, for `benchmarks.evaluation`, which runs this in an interpreter
that has it.

Reads collections as JSON from stdin, texts' vectors (float32, base64) among them; prints the ids of each
question's hits. It asks with its default weights, at the time of the newest memory.
"""

from __future__ import annotations

import array
import base64
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from heapdb_memory import Memory  # type: ignore[import-not-found]  # in its own environment


class Known:
    """An embedder that knows all texts' vectors."""

    name = "known"

    def __init__(self, vectors: Mapping[str, str]) -> None:
        self._vectors = vectors
        self.dim = len(self._vector(next(iter(vectors))))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        return list(array.array("f", base64.b64decode(self._vectors[text])))


def answers(collection: dict[str, Any], embedder: Known, depth: int) -> list[list[str]]:
    """The ids of each question's hits; the questions come as time goes on."""
    memory = Memory(namespace=collection["name"], embedder=embedder)
    items = [
        item | {"created_at": datetime.fromisoformat(item["created_at"])} for item in collection["memories"]
    ]
    known, found = 0, list[list[str]]()
    for asked in collection["questions"]:
        if asked["before"] > known:
            memory.add_many(items[known : asked["before"]])
            known = asked["before"]
        now = max(item["created_at"] for item in items[:known])
        hits = memory.recall(asked["text"], k=depth, now=now, explain=False, track=False)
        found.append([hit.id for hit in hits])
    return found


def main() -> None:
    """Remember, ask, print."""
    given = json.load(sys.stdin)
    embedder = Known(given["vectors"])
    json.dump([answers(one, embedder, given["depth"]) for one in given["collections"]], sys.stdout)


if __name__ == "__main__":
    main()
