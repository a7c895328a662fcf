"""Random kills under load, and then the account. Run: python -m benchmarks.kills --seconds 1200 --seed 1

A broker, up to three workers and two producers run for a while, and every few seconds one of them is killed,
stopped or joined, as the printed seed says. Meanwhile each write of this process is recalled by its token, by
several threads if asked. At the end every acknowledged event must have been applied once, and the views must
equal a clean fold of the log. Ends with 1 if anything is amiss.
"""

from __future__ import annotations

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import mnemolog
from benchmarks.measure import p50, p99
from mnemolog.embedders import resolve
from mnemolog.processors.generations import compare
from mnemolog.processors.replay import replay
from mnemolog.processors.shards import FED_TOPICS
from mnemolog.producers.kafka import KafkaLog
from mnemolog.query.reader import ViewReader
from mnemolog.storage.layout import Views

MODEL = "hashing:32"
NAMESPACES = 11
MOST_WORKERS = 3
PATIENCE_SECONDS = 180.0
PRODUCE = """
import sys, mnemolog
kafka, views, name, namespaces = *sys.argv[1:4], int(sys.argv[4])
pause, patience = map(float, sys.argv[5:])
import time
with mnemolog.connect(kafka, views, ("soak",), embedder="none", wait_seconds=patience) as root:
    number = 0
    while True:
        mem, made = root.at(("soak", f"n{number % namespaces}")), f"{name}-{number}"
        mem.remember(f"{made} was said", id=made, tags=[name])
        mem.mark_used(made)
        if number % 5 == 4:
            mem.update(made, text=f"{made} was said anew")
        print(number % namespaces, made, flush=True)
        number += 1
        time.sleep(pause)
"""
"""Remembers, and marks as used; says so once both are acknowledged."""


class Soak:
    """What runs, and what was acknowledged: (namespace, id)."""

    def __init__(self, kafka: str, home: Path, seed: int, pause: float, readers: int) -> None:
        self.views = home / "views"
        self.acknowledged: list[tuple[str, str]] = []
        self.unseen: list[str] = []
        self.failed: list[str] = []
        self.lags: list[float] = []
        self._kafka = kafka
        self._home = home
        self._chance = random.Random(seed)
        self._pause = pause
        self._readers = readers
        self._numbers = itertools.count()
        self._workers: list[subprocess.Popen[bytes]] = []
        self._producers: list[tuple[subprocess.Popen[str], threading.Thread]] = []
        self._made = 0
        self._started = time.monotonic()

    def run(self, seconds: float) -> None:
        """Load and kills for `seconds` from the first recall on, then an end of the load."""
        stop = threading.Event()
        for start in (self._join, self._join, self._produce, self._produce):
            start()
        readers = [threading.Thread(target=self._try_own_writes, args=(stop,)) for _ in range(self._readers)]
        for reader in readers:
            reader.start()
        while any(reader.is_alive() for reader in readers) and not self.lags:
            time.sleep(0.1)
        self.lags.clear()
        self._started = time.monotonic()
        while time.monotonic() - self._started < seconds:
            time.sleep(self._chance.uniform(3.0, 10.0))
            self._disturb()
        stop.set()
        for reader in readers:
            reader.join()
        for process, listener in self._producers:
            process.kill()
            listener.join()
        if not self._workers:
            self._join()

    def end(self) -> None:
        """Stop what still runs."""
        for worker in self._workers:
            worker.kill()
            worker.wait()
        for producer, _ in self._producers:
            producer.kill()
            producer.wait()

    def _disturb(self) -> None:
        actions = [self._kill_worker, self._kill_worker, self._kill_producer]
        actions += [self._join] if len(self._workers) < MOST_WORKERS else [self._leave]
        self._chance.choice(actions)()

    def _say(self, what: str) -> None:
        print(f"{time.monotonic() - self._started:7.1f} s  {what}", flush=True)

    def _join(self) -> None:
        self._made += 1
        command = [sys.executable, "-m", "mnemolog.worker", "--kafka", self._kafka, "--group", "soak"]
        command += ["--views", str(self.views), "--embedder", MODEL]
        with (self._home / f"worker{self._made}.log").open("w") as output:
            self._workers.append(subprocess.Popen(command, stdout=output, stderr=output))
        self._say(f"a worker joins: {len(self._workers)}")

    def _leave(self) -> None:
        worker = self._workers.pop(self._chance.randrange(len(self._workers)))
        worker.terminate()
        worker.wait()
        self._say(f"a worker leaves: {len(self._workers)}")

    def _kill_worker(self) -> None:
        worker = self._workers.pop(self._chance.randrange(len(self._workers)))
        worker.kill()
        worker.wait()
        self._say(f"kill -9 of a worker: {len(self._workers)}")
        if not self._workers or self._chance.random() < 0.5:
            self._join()

    def _produce(self) -> None:
        self._made += 1
        numbers = map(str, (NAMESPACES, self._pause, PATIENCE_SECONDS))
        arguments = [self._kafka, str(self.views), f"p{self._made}", *numbers]
        process = subprocess.Popen(
            [sys.executable, "-c", PRODUCE, *arguments], stdout=subprocess.PIPE, text=True
        )
        listener = threading.Thread(target=self._listen, args=(process,))
        listener.start()
        self._producers.append((process, listener))

    def _kill_producer(self) -> None:
        process, listener = self._producers.pop(0)
        process.kill()
        process.wait()
        listener.join()
        self._say("kill -9 of a producer")
        self._produce()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                number, made = line.split()
                self.acknowledged.append((f"n{number}", made))

    def _try_own_writes(self, stop: threading.Event) -> None:
        try:
            self._read_own_writes(stop)
        except mnemolog.MnemologError as error:
            self.failed.append(f"a reader ended with {type(error).__name__}: {error}")

    def _read_own_writes(self, stop: threading.Event) -> None:
        """Write with one handle and recall by the token with another, over all that happens."""
        with self._connect() as writing, self._connect() as reading:
            while not stop.is_set():
                number = next(self._numbers)
                name, made = f"n{number % NAMESPACES}", f"own-{number}"
                started = time.perf_counter()
                receipt = writing.at(("soak", name)).remember(f"number {number} is mine", id=made)
                writing.at(("soak", name)).mark_used(made)
                hits = reading.at(("soak", name)).recall(
                    f"number {number} is mine", k=5, after=receipt.position
                )
                self.lags.append(time.perf_counter() - started)
                if made not in hits.ids:
                    self.unseen.append(made)
                self.acknowledged.append((name, made))

    def _connect(self) -> mnemolog.Memory:
        return mnemolog.connect(
            self._kafka, self.views, ("soak",), embedder=MODEL, track="off", wait_seconds=PATIENCE_SECONDS
        )


def wait_until_applied(log: KafkaLog, views: Views) -> None:
    """Wait until the views have all of the log."""
    reader, deadline = ViewReader(views), time.monotonic() + PATIENCE_SECONDS
    for topic in FED_TOPICS:
        for partition, end in log.end_offsets(topic).items():
            while reader.applied(topic, partition) < end:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{topic}/{partition} stands at {reader.applied(topic, partition)}")
                time.sleep(0.1)


def amiss(kafka: str, soak: Soak) -> Iterator[str]:
    """What is wrong with the views."""
    expected: dict[str, list[str]] = {}
    for name, made in soak.acknowledged:
        expected.setdefault(name, []).append(made)
    for name, ids in expected.items():
        with mnemolog.connect(kafka, soak.views, ("soak", name), embedder=MODEL, track="off") as mem:
            items = list(mem)
        counts = Counter(item.id for item in items)
        used = {item.id: item.use_count for item in items}
        yield from (f"{name}: {made} is there {counts[made]} times" for made in ids if counts[made] != 1)
        yield from (f"{name}: {made} was used {used[made]} times" for made in ids if used.get(made) != 1)
        yield from (f"{name}: {made} was used {uses} times" for made, uses in used.items() if uses > 1)
    yield from (f"{made} was not recalled by its token" for made in soak.unseen)
    yield from soak.failed


def differing(log: KafkaLog, views: Views) -> list[str]:
    """The tables in which the views are not a clean fold of the log."""
    report = replay(log, views, resolve(MODEL), flip=False)
    return compare(views, views.current().generation, report.manifest.generation).differing


@contextmanager
def soaking(kafka: str, home: Path, given: argparse.Namespace) -> Iterator[Soak]:
    """A soak whose processes end with it."""
    soak = Soak(kafka, home, given.seed, given.pause, given.readers)
    try:
        yield soak
    finally:
        soak.end()


def main() -> int:
    """Soak, then report."""
    from benchmarks.pipeline import kafka

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between a producer's events")
    parser.add_argument("--readers", type=int, default=1, help="threads that write and recall by the token")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mnemolog-soak-")))
        bootstrap = stack.enter_context(kafka(home))
        soak = stack.enter_context(soaking(bootstrap, home, given))
        soak.run(given.seconds)
        log, views = stack.enter_context(KafkaLog(bootstrap)), Views(soak.views)
        wait_until_applied(log, views)
        soak.end()
        problems = [*amiss(bootstrap, soak), *(f"{name} is no clean fold" for name in differing(log, views))]
    print(f"{len(soak.acknowledged)} writes acknowledged, {len(soak.lags)} recalled by their token")
    print(f"write to recall: p50 {p50(soak.lags) * 1000:.0f} ms, p99 {p99(soak.lags) * 1000:.0f} ms")
    print(
        "\n".join(problems)
        or "every acknowledged event was applied once; the views are a clean fold of the log"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
