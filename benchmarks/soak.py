"""The room that views take while many small events come one by one. Run: python -m benchmarks.soak

Each few events are a commit, the worst that upkeep has to deal with. The live data is what the views take
once every table is tidied and no older version is left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from datetime import timedelta
from itertools import islice
from pathlib import Path

from benchmarks.measure import report
from benchmarks.replay import made_events
from mnemolog.processors.inline import InlineRunner
from mnemolog.processors.shards import FED_TOPICS, open_tables
from mnemolog.producers.clock import utc_now
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.codec import encode
from mnemolog.storage.layout import Views
from mnemolog.storage.upkeep import tidy

AIM = 3.0


def room(folder: Path) -> int:
    """Bytes of all files below a folder, some of which may go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def soak(home: Path, count: int, at_once: int, every: float = 1.0) -> tuple[float, list[int]]:
    """Seconds to apply `count` events that come `at_once` at a time, and the room taken meanwhile."""
    sizes: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(every):
            sizes.append(room(home / "views"))

    with EmbeddedLog(home / "log.sqlite", partitions=1) as log:
        runner = InlineRunner(log, Views(home / "views"), None, utc_now, time.monotonic)
        runner.start()
        watching = threading.Thread(target=watch)
        watching.start()
        start, events = time.perf_counter(), made_events(count)
        while some := list(islice(events, at_once)):
            log.append([record for event in some for record in encode(event)])
            for topic in FED_TOPICS:
                end = log.end_offsets(topic)[0]
                if end and not runner.wait_for_progress(topic, 0, end - 1, 600):
                    raise RuntimeError("the events were not applied")
        seconds = time.perf_counter() - start
        done.set()
        watching.join()
        runner.stop()
    return seconds, [*sizes, room(home / "views")]


def live_data(home: Path) -> int:
    """Bytes of the views with nothing in them that is not live. Tidies them; nobody else may use them."""
    views = Views(home / "views")
    for _, table in open_tables(views, views.current(), 0):
        for _ in range(2):
            for _ in tidy(table.lance, timedelta(0), threshold=0.0, alone=True):
                pass
    return room(home / "views")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        seconds, sizes = soak(home, given.count, given.at_once)
        live = live_data(home)
    mib = 2**20
    rows: list[tuple[str, object, str]] = [
        ("events", given.count, ""),
        ("events applied a second", given.count / seconds, ""),
        ("live data, MiB", live / mib, ""),
        ("most room taken, MiB", max(sizes) / mib, ""),
        ("room taken at the end, MiB", sizes[-1] / mib, ""),
        ("most room to live data", max(sizes) / live, f"{AIM:g}"),
    ]
    report("Room that views take in a soak", rows, given.results)
    return 0 if max(sizes) <= AIM * live else 1


if __name__ == "__main__":
    sys.exit(main())
