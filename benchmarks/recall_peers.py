"""heapdb-memory's and chromadb's recall, for `benchmarks.recall`, in an interpreter that has them.

Run: python recall_peers.py FOLDER. FOLDER has given.json (texts, questions, k) and their vectors,
memories.npy and questions.npy, float32 [n, dim]. Prints milliseconds of each call by peer, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found]  # in its own environment
import numpy as np
from heapdb_memory import Memory  # type: ignore[import-not-found]  # in its own environment

BATCH = 5_000


def timed(call: Callable[[int], object], times: int) -> list[float]:
    """Milliseconds of each call, after a few that warm up."""
    for number in range(3):
        call(number)
    spent = []
    for number in range(times):
        start = time.perf_counter()
        call(number)
        spent.append((time.perf_counter() - start) * 1e3)
    return spent


class LookedUp:
    """Vectors that are known by their text."""

    name = "benchmark-lookup"

    def __init__(self, known: dict[str, list[float]]) -> None:
        self._known = known
        self.dim = len(next(iter(known.values())))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text."""
        return [self._known[text] for text in texts]


def heapdb(folder: Path, given: dict[str, Any], memories: Any, asked: Any) -> list[float]:
    """Its default recall: hybrid, with recency and importance."""
    vectors = [*memories.tolist(), *asked.tolist()]
    known = dict(zip([*given["texts"], *given["questions"]], vectors, strict=True))
    memory = Memory(str(folder / "heapdb"), namespace="bench", embedder=LookedUp(known), autosave=False)
    memory.add_many([{"text": text} for text in given["texts"]])
    questions = given["questions"]
    return timed(lambda n: memory.recall(questions[n], k=given["k"]), len(questions))


def chroma(folder: Path, given: dict[str, Any], memories: Any, asked: Any) -> list[float]:
    """Its approximate search by vector, HNSW over cosines; it has no hybrid search."""
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(folder / "chroma"), settings=settings)
    space = {"hnsw:space": "cosine"}
    table = client.create_collection("bench", embedding_function=None, metadata=space)
    texts = given["texts"]
    for start in range(0, len(texts), BATCH):
        part = slice(start, start + BATCH)
        ids = [str(number) for number in range(start, start + len(texts[part]))]
        table.add(ids=ids, documents=texts[part], embeddings=memories[part])
    found = {"include": ["documents", "distances"], "n_results": given["k"]}
    return timed(lambda n: table.query(query_embeddings=[asked[n]], **found), len(asked))


def main() -> None:
    """Fill each, time, print."""
    folder = Path(sys.argv[1])
    given = json.loads((folder / "given.json").read_text())
    memories, asked = np.load(folder / "memories.npy"), np.load(folder / "questions.npy")
    peers = {"heapdb-memory": heapdb, "chromadb": chroma}
    json.dump({name: run(folder, given, memories, asked) for name, run in peers.items()}, sys.stdout)


if __name__ == "__main__":
    main()
