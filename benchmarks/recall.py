"""Recall by number of memories, in one namespace and among 1,000, beside numpy, raw LanceDB and peers.

Run: python -m benchmarks.recall [--sizes 1000,10000,100000] [--peers PYTHON]. The query's embedding is kept
apart: vectors are made up and looked up. All search the same vectors. `numpy` is one exact matrix product
over the namespace's vectors, the least that anything can cost; `lancedb` is its own vector search with a
namespace filter, and its hybrid search. Ours is what a caller gets: both searches, neighbours, scores and
their factors.

With --wide the namespace of that many memories is recalled from in the view, as one that is too large for the
cache is: by LanceDB's indexes where its writer has made them, which is at the next upkeep once there are
100,000. Nothing else is measured then.

PYTHON is the interpreter of an environment with the peers, which are no dependencies of ours:
python -m venv peers && peers/bin/pip install heapdb-memory==0.1.0 chromadb==1.5.9 numpy. They are asked in
one namespace: heapdb-memory hybrid, its default, and chromadb by vector, since it has no hybrid search.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, Bitmap
from numpy.typing import NDArray

import mnemolog
from benchmarks.measure import p50, p99, peak_rss_mib, questions, report, texts, timed

DIM = 384
K = 8
NAMESPACES = 1_000
THREADS = 4
WAIT_SECONDS = 600.0
PEERS = Path(__file__).with_name("recall_peers.py")
CACHED = """
import sys, mnemolog
from mnemolog.allocator import give_back
from benchmarks.measure import resident_mib
from benchmarks.recall import LookedUp
with mnemolog.open(sys.argv[1], "nobody", embedder=LookedUp(), track="off") as memory:
    memory.recall("What was lost?")
    give_back()
    before = resident_mib()
    memory.at("n0").recall("What was lost?")
    give_back()
    print(resident_mib() - before)
"""
VIEWED = """
import sys, mnemolog
from mnemolog.allocator import give_back
from benchmarks.measure import questions, resident_mib
from benchmarks.recall import LookedUp
with mnemolog.open(sys.argv[1], "nobody", embedder=LookedUp(), track="off", cache_bytes=0) as memory:
    memory.recall("What was lost?")
    give_back()
    before = resident_mib()
    for question in questions(40):
        memory.at("n0").recall(question)
    give_back()
    print(resident_mib() - before)
"""
AIMS = {(10_000, 1): ("≤ 2", "≤ 6"), (100_000, 1): ("≤ 15", "")}
PEER_AIMS = {"heapdb-memory": "≥ 5"}
Vectors = NDArray[np.float32]
Rows = list[tuple[str, object, str]]
Query = tuple[str, str]
"""A namespace's name and a question to it."""


class LookedUp:
    """Made-up vectors of length 1, the same for the same text; nothing is computed at query time."""

    name = "benchmark-lookup"
    dim = DIM

    def __init__(self) -> None:
        self._known: dict[str, Vectors] = {}

    def embed(self, made: Sequence[str]) -> Vectors:
        """See `mnemolog.schemas.ports.Embedder`."""
        return np.stack([self.one(text) for text in made])

    def one(self, text: str) -> Vectors:
        """The vector of one text."""
        vector = self._known.get(text)
        return self._known.setdefault(text, _vector(text)) if vector is None else vector


def _vector(text: str) -> Vectors:
    chance = np.random.default_rng(zlib.crc32(text.encode()))
    vector = chance.standard_normal(DIM, dtype=np.float32)
    unit: Vectors = vector / np.linalg.norm(vector)
    return unit


@dataclass(frozen=True)
class Corpus:
    """The memories of each namespace, the questions to ask, and the vectors of both."""

    groups: dict[str, list[str]]
    asked: list[Query]
    embedder: LookedUp

    @property
    def label(self) -> str:
        """How many memories there are, and in how many namespaces."""
        size = sum(len(group) for group in self.groups.values())
        spread = "one namespace" if len(self.groups) == 1 else f"{len(self.groups):,} namespaces"
        return f"{size:,} in {spread}"


def corpus(size: int, spread: int, count: int) -> Corpus:
    """`size` memories spread evenly over `spread` namespaces, and `count` questions to as many of them."""
    made, embedder = texts(size), LookedUp()
    groups = {f"n{start}": made[start::spread] for start in range(spread)}
    asked = [(f"n{number * 7 % spread}", text) for number, text in enumerate(questions(count))]
    embedder.embed(made + [text for _, text in asked])
    return Corpus(groups, asked, embedder)


def ours(folder: Path, given: Corpus) -> tuple[list[float], list[float], float]:
    """Milliseconds of the first recall in each namespace that is asked and of warm ones; recalls a second
    with four threads."""
    with mnemolog.open(folder, embedder=given.embedder, wait_seconds=WAIT_SECONDS) as memory:
        for name, group in given.groups.items():
            for start in range(0, len(group), 10_000):
                memory.at(name).remember_many(group[start : start + 10_000])
    with mnemolog.open(folder, embedder=given.embedder, wait_seconds=WAIT_SECONDS) as memory:
        handles = {name: memory.at(name) for name in given.groups}
        memory.recall("Is all applied?")
        names = list(dict.fromkeys(name for name, _ in given.asked))
        first = timed(
            _each(lambda one: handles[one[0]].recall("What was lost?", k=K), [(n, "") for n in names])
        )
        calls = _each(lambda one: handles[one[0]].recall(one[1], k=K), given.asked)
        warm = timed(calls)
        with ThreadPoolExecutor(THREADS) as pool:
            began = time.perf_counter()
            list(pool.map(lambda call: call(), calls))
            return first, warm, len(calls) / (time.perf_counter() - began)


def viewed_mib(folder: Path) -> float:
    """MiB that a process grows by with 40 recalls in the namespace `n0`, which is not to be in memory."""
    command = [sys.executable, "-c", VIEWED, str(folder)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def cached_mib(folder: Path) -> float:
    """MiB that a process grows by with its first recall in the namespace `n0`."""
    command = [sys.executable, "-c", CACHED, str(folder)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def peers(python: str, folder: Path, given: Corpus) -> dict[str, list[float]]:
    """Milliseconds of the peers' recalls, in an interpreter that has them."""
    folder.mkdir()
    made, asked = given.groups["n0"], [text for _, text in given.asked]
    np.save(folder / "memories.npy", given.embedder.embed(made))
    np.save(folder / "questions.npy", given.embedder.embed(asked))
    (folder / "given.json").write_text(json.dumps({"texts": made, "questions": asked, "k": K}))
    command = [python, str(PEERS), str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    times: dict[str, list[float]] = json.loads(done.stdout)
    return times


def wide(home: Path, size: int, count: int) -> Rows:
    """The rows of one namespace that is not to be in memory: beside it, how many hits are those of one that
    is."""
    given, folder = corpus(size, 1, count), home / f"wide-{size}"
    with mnemolog.open(folder, embedder=given.embedder, wait_seconds=WAIT_SECONDS) as memory:
        for start in range(0, size, 2_000):
            memory.at("n0").remember_many(given.groups["n0"][start : start + 2_000])
        memory.at("n0").recall("Is all applied?")
        cached = [memory.at("n0").recall(text, k=K) for _, text in given.asked]
    with mnemolog.open(folder, embedder=given.embedder, cache_bytes=0, track="off") as memory:
        handle = memory.at("n0")
        (first,) = timed([lambda: handle.recall("What was lost?", k=K)])
        spent = timed(_each(lambda one: handle.recall(one[1], k=K), given.asked))
        viewed = [handle.recall(text, k=K) for _, text in given.asked]
    pairs = [
        ([h.memory.id for h in one], [h.memory.id for h in two])
        for one, two in zip(cached, viewed, strict=True)
    ]
    shared = sum(len(set(one) & set(two)) / K for one, two in pairs) / len(pairs)
    rows: Rows = [
        ("in the view, p50 ms", p50(spent), ""),
        ("in the view, p99 ms", p99(spent), ""),
        ("in the view, the first recall ms", first, ""),
        (
            "share of questions with the same first hit as in memory",
            sum(a[0] == b[0] for a, b in pairs) / len(pairs),
            "",
        ),
        (f"share of the {K} hits in memory that are among those in the view", shared, ""),
        ("MiB that a process grows by with 40 recalls in the view", viewed_mib(folder), ""),
    ]
    return [(f"{given.label}: {what}", value, aim) for what, value, aim in rows]


def exact(given: Corpus) -> list[float]:
    """Milliseconds of one exact search with numpy."""
    arrays = {name: given.embedder.embed(given.groups[name]) for name in {name for name, _ in given.asked}}

    def search(one: Query) -> object:
        scores = arrays[one[0]] @ given.embedder.one(one[1])
        return np.argpartition(-scores, min(K, len(scores)) - 1)[:K]

    return timed(_each(search, given.asked))


def raw(folder: Path, given: Corpus) -> tuple[list[float], list[float]]:
    """Milliseconds of LanceDB's vector search, and of its hybrid search, with a namespace filter."""
    made = [text for group in given.groups.values() for text in group]
    names = [name for name, group in given.groups.items() for _ in group]
    column = pa.FixedSizeListArray.from_arrays(pa.array(given.embedder.embed(made).ravel()), DIM)
    data = pa.table({"text": made, "namespace": names, "vector": column})
    table = lancedb.connect(folder).create_table("raw", data)
    table.create_index("text", config=FTS())
    table.create_index("namespace", config=Bitmap())

    def found(query: Any, name: str) -> object:
        return query.where(f"namespace = '{name}'", prefilter=True).limit(K).to_arrow()

    def vector_search(one: Query) -> object:
        return found(table.search(given.embedder.one(one[1])).distance_type("cosine"), one[0])

    def hybrid(one: Query) -> object:
        query = table.search(query_type="hybrid").vector(given.embedder.one(one[1])).text(one[1])
        return found(query.distance_type("cosine"), one[0])

    asked = given.asked[: max(20, len(given.asked) // 4)]
    vector_search(asked[0]), hybrid(asked[0])
    return timed(_each(vector_search, asked)), timed(_each(hybrid, asked))


def _each(call: Callable[[Query], object], asked: list[Query]) -> list[Callable[[], object]]:
    return [lambda one=one: call(one) for one in asked]  # type: ignore[misc]


def measure(home: Path, size: int, spread: int, count: int, python: str | None) -> Rows:
    """The rows for one size."""
    given = corpus(size, spread, count)
    first, own, rate = ours(home / f"ours-{size}-{spread}", given)
    floor = exact(given)
    vector_only, hybrid = raw(home / f"raw-{size}-{spread}", given)
    rows: Rows = [
        ("mnemolog p50 ms", p50(own), AIMS.get((size, spread), ("", ""))[0]),
        ("mnemolog p99 ms", p99(own), AIMS.get((size, spread), ("", ""))[1]),
        ("mnemolog, a namespace's first recall, p50 ms", p50(first), ""),
        (f"mnemolog, recalls/s with {THREADS} threads", rate, ""),
        ("numpy p50 ms", p50(floor), ""),
        ("lancedb vector p50 ms", p50(vector_only), ""),
        ("lancedb hybrid p50 ms", p50(hybrid), ""),
        ("mnemolog / numpy", p50(own) / p50(floor), ""),
        ("lancedb vector / mnemolog", p50(vector_only) / p50(own), ""),
        ("lancedb hybrid / mnemolog", p50(hybrid) / p50(own), ""),
    ]
    if spread == 1:
        grown = cached_mib(home / f"ours-{size}-{spread}")
        rows.append(("mnemolog, MiB for 10,000 cached memories", grown * 10_000 / size, ""))
        for name, spent in (peers(python, home / f"peers-{size}", given) if python else {}).items():
            rows.append((f"{name} p50 ms", p50(spent), ""))
            rows.append((f"{name} / mnemolog", p50(spent) / p50(own), PEER_AIMS.get(name, "")))
    return [(f"{given.label}: {what}", value, aim) for what, value, aim in rows]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories in all")
    parser.add_argument("--wide", action="store_true", help="namespaces that are not to be in memory")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--peers", help="an interpreter that has heapdb-memory and chromadb")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    rows: Rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for size in [int(size) for size in arguments.sizes.split(",")]:
            if arguments.wide:
                rows += wide(Path(scratch), size, arguments.queries)
                continue
            for spread in (1, min(NAMESPACES, size)):
                rows += measure(Path(scratch), size, spread, arguments.queries, arguments.peers)
    rows.append(("peak memory of this process, MiB", peak_rss_mib(), ""))
    report(f"Recall, k = {K}; lancedb {version('lancedb')}, numpy {version('numpy')}", rows, arguments.json)


if __name__ == "__main__":
    main()
