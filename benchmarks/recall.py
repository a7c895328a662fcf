"""Recall by size of the namespace, beside numpy and raw LanceDB on the same vectors.

Run: python -m benchmarks.recall [--sizes 1000,10000,100000]. The query's embedding is kept apart: vectors are
made up and looked up. `numpy` is one exact matrix product, the least that anything can cost; `lancedb` is its
own vector search with a namespace filter, and its hybrid search.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import mnemolog
from benchmarks.measure import p50, p99, peak_rss_mib, questions, report, texts, timed

DIM = 384
K = 8
NAMESPACES = 1_000
Vectors = NDArray[np.float32]


class LookedUp:
    """Made-up vectors of length 1, the same for the same text; nothing is computed at query time."""

    name = "benchmark-lookup"
    dim = DIM

    def __init__(self) -> None:
        self._known: dict[str, Vectors] = {}

    def embed(self, made: Sequence[str]) -> Vectors:
        """See `mnemolog.schemas.ports.Embedder`."""
        return np.stack([self._known.setdefault(text, _vector(text)) for text in made])


def _vector(text: str) -> Vectors:
    chance = np.random.default_rng(abs(hash(text)) % 2**32)
    vector = chance.standard_normal(DIM, dtype=np.float32)
    unit: Vectors = vector / np.linalg.norm(vector)
    return unit


def ours(folder: Path, made: list[str], asked: list[str], spread: int = 1) -> list[float]:
    """Milliseconds a warm recall takes in one namespace of those among which `made` is spread evenly."""
    embedder = LookedUp()
    embedder.embed(asked)
    batches = [made[start::spread] for start in range(spread)]
    for number, batch in enumerate(batches):
        with mnemolog.open(folder, namespace=f"n{number}", embedder=embedder) as memory:
            for start in range(0, len(batch), 10_000):
                receipt = memory.remember_many(batch[start : start + 10_000])[-1]
                memory.wait(receipt.position, 600)
    with mnemolog.open(folder, namespace="n0", embedder=embedder) as memory:
        memory.recall(asked[0], k=K)
        return timed(_each(lambda text: memory.recall(text, k=K), asked))


def exact(vectors: Vectors, asked: list[Vectors]) -> list[float]:
    """Milliseconds of one exact search with numpy."""

    def search(vector: Vectors) -> object:
        scores = vectors @ vector
        return np.argpartition(-scores, K)[:K]

    return timed([lambda vector=vector: search(vector) for vector in asked])  # type: ignore[misc]


def raw(folder: Path, made: list[str], vectors: Vectors, asked: list[str], embedder: LookedUp) -> Any:
    """Milliseconds of LanceDB's vector search, and of its hybrid search, with a namespace filter."""
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIM)
    data = pa.table({"text": made, "namespace": ["n0"] * len(made), "vector": column})
    table = lancedb.connect(folder).create_table("raw", data)
    table.create_fts_index("text")
    table.create_scalar_index("namespace", index_type="BITMAP")

    def vector_search(text: str) -> object:
        query = table.search(embedder.embed([text])[0]).distance_type("cosine")
        return query.where("namespace = 'n0'", prefilter=True).limit(K).to_arrow()

    def hybrid(text: str) -> object:
        query = table.search(query_type="hybrid").vector(embedder.embed([text])[0]).text(text)
        return query.where("namespace = 'n0'", prefilter=True).limit(K).to_arrow()

    return timed(_each(vector_search, asked)), timed(_each(hybrid, asked))


def _each(call: Callable[[str], object], asked: list[str]) -> list[Callable[[], object]]:
    return [lambda text=text: call(text) for text in asked]  # type: ignore[misc]


def measure(home: Path, size: int, count: int) -> list[tuple[str, object, str]]:
    """The rows for one size."""
    made, asked, embedder = texts(size), questions(count), LookedUp()
    vectors = embedder.embed(made)
    queries = [embedder.embed([text])[0] for text in asked]
    own = ours(home / f"ours-{size}", made, asked)
    floor = exact(vectors, queries)
    vector_only, hybrid = raw(home / f"raw-{size}", made, vectors, asked[: max(20, count // 4)], embedder)
    return [
        (f"{size:,}: mnemolog p50 ms", p50(own), ""),
        (f"{size:,}: mnemolog p99 ms", p99(own), ""),
        (f"{size:,}: numpy p50 ms", p50(floor), ""),
        (f"{size:,}: lancedb vector p50 ms", p50(vector_only), ""),
        (f"{size:,}: lancedb hybrid p50 ms", p50(hybrid), ""),
        (f"{size:,}: lancedb hybrid / mnemolog", p50(hybrid) / p50(own), ""),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories in one namespace")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    rows: list[tuple[str, object, str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        for size in [int(size) for size in arguments.sizes.split(",")]:
            rows += measure(home, size, arguments.queries)
        spread = ours(home / "spread", texts(NAMESPACES * 10), questions(arguments.queries), NAMESPACES)
        rows.append((f"one of {NAMESPACES:,} namespaces of 10: mnemolog p50 ms", p50(spread), ""))
        rows.append((f"one of {NAMESPACES:,} namespaces of 10: mnemolog p99 ms", p99(spread), ""))
    rows.append(("peak memory of this process, MiB", peak_rss_mib(), ""))
    report(f"Recall, k = {K}", rows, arguments.json)


if __name__ == "__main__":
    main()
