"""What a processor core and a disk have to do for a memory. Run: python -m benchmarks.per_core

The figures that docs/scaling.md reckons with. Work is told in seconds of processor time, over all threads of
this process, so that other load on the machine matters little.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

import mnemolog
from benchmarks.measure import questions, report, texts
from mnemolog.embedders import HashingEmbedder, MiniLMEmbedder
from mnemolog.processors.shards import ensure_live, open_shard
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.codec import decode, encode
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Views

NAMESPACE = "scale"
BATCH = 1_000
DIM = 384


def processor_seconds(work: Callable[[], object]) -> float:
    """What `work` takes of the processor, in all threads."""
    before = time.process_time()
    work()
    return time.process_time() - before


def bytes_below(folder: Path) -> int:
    """How much the files below `folder` hold."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def write_log(folder: Path, count: int) -> float:
    """Append `count` new memories in one namespace; processor seconds."""
    commands = Commands((NAMESPACE,))
    made = texts(count)
    with EmbeddedLog(folder / "log.sqlite", partitions=1) as log:

        def write(some: Sequence[str]) -> None:
            log.append([record for text in some for record in encode(commands.remember(text))])

        chunks = [made[start : start + BATCH] for start in range(0, count, BATCH)]
        return sum(processor_seconds(partial(write, chunk)) for chunk in chunks)


def decoding(folder: Path) -> float:
    """Processor seconds of one event's decoding."""
    with EmbeddedLog(folder / "log.sqlite") as log:
        records = log.read(MEMORIES, 0, 0, BATCH)
    return processor_seconds(lambda: [decode(record) for record in records]) / len(records)


def embedding(count: int = 500) -> float:
    """Processor seconds of one text's vector by the default model."""
    model, some = MiniLMEmbedder(), texts(count)
    model.load()
    return processor_seconds(lambda: model.embed(some)) / count


def fold(folder: Path, count: int) -> list[tuple[float, float]]:
    """Fold the log with vectors that cost nothing; (processor, wall) seconds of each batch of 1,000."""
    views, embedder = Views(folder / "views"), HashingEmbedder(DIM)
    shard = open_shard(views, ensure_live(views, 1, embedder), 0, embedder, lambda _: None)
    spent = []
    with EmbeddedLog(folder / "log.sqlite") as log:
        for start in range(0, count, BATCH):
            records = log.read(MEMORIES, 0, start, BATCH)
            wall = time.perf_counter()
            processor = processor_seconds(lambda: shard.apply(MEMORIES, records))  # noqa: B023 called here
            spent.append((processor, time.perf_counter() - wall))
    return spent


def recall(folder: Path) -> float:
    """Processor seconds of a warm recall, its question's vector apart."""
    asked = questions(100)
    with mnemolog.open(folder, NAMESPACE, embedder=HashingEmbedder(DIM), track="off") as memory:
        memory.recall(asked[0])
        return processor_seconds(lambda: [memory.recall(one) for one in asked]) / len(asked)


def of_size(folder: Path, count: int) -> list[tuple[str, object, str]]:
    """What a shard of `count` memories costs."""
    written, batches = write_log(folder, count), fold(folder, count)
    last = batches[-5:]
    views = bytes_below(folder / "views") / count
    found = {
        "an event made, encoded and appended, µs": 1e6 * written / count,
        "an event decoded, µs": 1e6 * decoding(folder),
        "an event folded and committed, mean, µs": 1e6 * sum(spent for spent, _ in batches) / count,
        "the same in the last batches, µs": 1e6 * mean(spent for spent, _ in last) / BATCH,
        "a batch of 1,000 then, wall time, ms": 1e3 * mean(wall for _, wall in last),
        "a warm recall, question's vector apart, ms": 1e3 * recall(folder),
        "bytes of the log, a memory": bytes_below(folder) / count - views,
        "bytes of the views, a memory": views,
    }
    return [(f"{count:,}: {what}", value, "") for what, value in found.items()]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="memories in a shard")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    rows: list[tuple[str, object, str]] = []
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as scratch:
            rows += of_size(Path(scratch), size)
    rows.append(("a text embedded with MiniLM, ms", 1e3 * embedding(), ""))
    report("Processor time and room", rows, arguments.json)


if __name__ == "__main__":
    main()
