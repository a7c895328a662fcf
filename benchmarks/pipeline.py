"""From producers through Kafka and a worker to recall, as a whole. Run: python -m benchmarks.pipeline

Each part has a Kafka of its own in a temporary folder, and all that a part compares runs side by side or one
right after the other, so that ratios hold on a busy machine; absolute rates don't.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import mnemolog
from benchmarks.embedding import Bare, seconds
from benchmarks.measure import p50, p99, report, texts
from benchmarks.producer_rates import compare, made_events
from mnemolog.broker import LocalBroker
from mnemolog.embedders import MiniLMEmbedder
from mnemolog.producers import MemoryProducer
from mnemolog.producers.commands import Commands
from mnemolog.producers.kafka import create_topics
from mnemolog.query.reader import ViewReader
from mnemolog.schemas.events import MemoryRemembered
from mnemolog.schemas.positions import Position
from mnemolog.storage.layout import Views

PARTITIONS = 4
SLOWS_NUMPY = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
START_SECONDS = 90.0
END_SECONDS = 900.0
ROUNDS = 3
OWNS = "owns mnemolog"
Rows = list[tuple[str, object, str]]


@contextmanager
def kafka(home: Path) -> Iterator[str]:
    """A fresh broker with the topics; its address."""
    broker = LocalBroker(home / "kafka").start()
    try:
        create_topics(broker.bootstrap, partitions=PARTITIONS)
        yield broker.bootstrap
    finally:
        broker.stop()


@dataclass(frozen=True)
class Worker:
    """A worker in a process of its own, and the views that it keeps."""

    process: subprocess.Popen[bytes]
    views: Path

    def peak_mib(self) -> float:
        """The most memory that it has held so far, in MiB; NaN where the system does not tell."""
        status = Path(f"/proc/{self.process.pid}/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), float("nan"))


@contextmanager
def worker(bootstrap: str, home: Path, embedder: str) -> Iterator[Worker]:
    """A worker that owns all partitions."""
    views, log = home / "views", home / "worker.log"
    command = [sys.executable, "-m", "mnemolog.worker", "--kafka", bootstrap, "--views", str(views)]
    environment = {name: value for name, value in os.environ.items() if name not in SLOWS_NUMPY}
    with log.open("w") as output:
        process = subprocess.Popen([*command, "--embedder", embedder], stderr=output, env=environment)
    try:
        deadline = time.monotonic() + START_SECONDS
        while OWNS not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the worker did not start:\n{log.read_text()}")
            time.sleep(0.1)
        yield Worker(process, views)
    finally:
        process.terminate()
        process.wait()


def wait_until_applied(views: Path, positions: Sequence[Position]) -> None:
    """Wait until the views show all of `positions`, looking seldom enough to cost nothing."""
    reader = ViewReader(Views(views))
    deadline = time.monotonic() + END_SECONDS
    for at in positions:
        while reader.applied(at.topic, at.partition) <= at.offset:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the views have not reached {at}")
            time.sleep(0.05)


def written(bootstrap: str, events: Sequence[MemoryRemembered]) -> list[Position]:
    """Append in bulk: the last position of each partition."""
    with MemoryProducer.connect(bootstrap) as producer:
        places = [one.position for one in producer.write_batch(events)]
    last = {at.partition: at for at in places if at is not None}
    return sorted(last.values())


def through(bootstrap: str, views: Path, events: Sequence[MemoryRemembered]) -> float:
    """Events a second, from the first append until all are in the views."""
    start = time.perf_counter()
    wait_until_applied(views, written(bootstrap, events))
    return len(events) / (time.perf_counter() - start)


def end_to_end(home: Path, count: int) -> Rows:
    """Without embedding."""
    with kafka(home) as bootstrap, worker(bootstrap, home, "none") as running:
        through(bootstrap, running.views, made_events(1_000))
        rate = through(bootstrap, running.views, made_events(count))
        return [
            ("end to end without embedding, events/s", rate, "≥ 3,000"),
            ("peak memory of that worker, MiB", running.peak_mib(), "≤ 500"),
        ]


class Models:
    """What the model does alone: as mnemolog runs it, which packs texts by length, and as anyone would."""

    def __init__(self) -> None:
        self._ours, self._bare = MiniLMEmbedder(), Bare()
        self.rates(texts(32, seed=4))

    def rates(self, made: Sequence[str]) -> tuple[float, float]:
        """Texts a second: MiniLMEmbedder, and bare onnxruntime with 32 at a time."""
        ours, bare = seconds(self._ours.embed, made), seconds(self._bare.by_32, made)
        return len(made) / ours, len(made) / bare


def with_minilm(home: Path, count: int, lag_events: int, lag_rate: float) -> Rows:
    """How near the pipeline comes to the model alone, measured before and after each round; then the lag."""
    models = Models()
    rounds: list[tuple[float, float, float]] = []
    with kafka(home) as bootstrap, worker(bootstrap, home, "minilm") as running:
        through(bootstrap, running.views, remembered(texts(100, seed=6), "warm"))
        before = models.rates(texts(count // 2, seed=7))
        for number in range(ROUNDS):
            made = texts(count, seed=10 + number)
            rate = through(bootstrap, running.views, remembered(made, f"m{number}-"))
            after = models.rates(made[: count // 2])
            rounds.append((rate, mean((before[0], after[0])), mean((before[1], after[1]))))
            before = after
        lags = lag(bootstrap, running.views, lag_events, lag_rate)
        peak = running.peak_mib()
    return [
        ("end to end with MiniLM, texts/s", p50([rate for rate, _, _ in rounds]), ""),
        ("MiniLMEmbedder alone in the same minutes, texts/s", p50([ours for _, ours, _ in rounds]), ""),
        ("bare onnxruntime in the same minutes, texts/s", p50([bare for _, _, bare in rounds]), ""),
        ("end to end / MiniLMEmbedder alone", p50([rate / ours for rate, ours, _ in rounds]), "≥ 0.9"),
        ("end to end / bare onnxruntime", p50([rate / bare for rate, _, bare in rounds]), "≥ 0.9"),
        (f"lag write → recallable with MiniLM at {lag_rate:g}/s, p50 ms", p50(lags), "≤ 120"),
        ("the same, p99 ms", p99(lags), ""),
        ("peak memory of that worker, MiB", peak, "≤ 500"),
    ]


def remembered(made: Sequence[str], word: str) -> list[MemoryRemembered]:
    """Memories of 50 namespaces, so that all partitions get some."""
    makers = [Commands(("acme", f"user {number}")) for number in range(50)]
    return [makers[at % 50].remember(text, id=f"{word}{at}") for at, text in enumerate(made)]


def lag(bootstrap: str, views: Path, count: int, rate: float) -> list[float]:
    """Milliseconds from the call of `remember` until a recall would see it, with vector, one at a time."""
    spent = []
    with mnemolog.connect(bootstrap, views, ("acme", "user 1"), embedder="minilm") as memory:
        memory.wait(memory.remember("warm up").position)
        for text in texts(count, seed=9):
            start = time.perf_counter()
            receipt = memory.remember(text)
            memory.wait(receipt.position)
            spent.append((time.perf_counter() - start) * 1e3)
            time.sleep(max(0.0, 1 / rate - spent[-1] / 1e3))
        (hit,) = memory.recall(text, k=1)
        assert hit.memory.id == receipt.id
        assert memory.stats()["lacking_vectors"] == 0
    return spent


def produced(home: Path, count: int) -> Rows:
    """MemoryProducer beside kafka-python alone."""
    with kafka(home) as bootstrap:
        found = compare(bootstrap, count, ROUNDS)
    aims = {"write_batch / bare": "≥ 0.8"}
    return [(_name(name), value, aims.get(name, "")) for name, value in found.items()]


def _name(way: str) -> str:
    return f"producing: {way}" if "/" in way else f"producing: {way}, events/s"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000, help="events in bulk, without embedding")
    parser.add_argument("--texts", type=int, default=500, help="texts a round with MiniLM; three rounds")
    parser.add_argument("--lag-events", type=int, default=60)
    parser.add_argument("--lag-rate", type=float, default=2.0, help="events a second while the lag is taken")
    parser.add_argument("--json", type=Path, help="write the figures here")
    asked = parser.parse_args()
    for name in SLOWS_NUMPY:
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as scratch:
        homes = [Path(scratch) / name for name in ("produced", "plain", "minilm")]
        for home in homes:
            home.mkdir()
        rows = produced(homes[0], asked.events)
        rows += end_to_end(homes[1], asked.events)
        rows += with_minilm(homes[2], asked.texts, asked.lag_events, asked.lag_rate)
    report("Pipeline on Kafka", rows, asked.json)


if __name__ == "__main__":
    main()
