"""What the benchmarks share: timing, percentiles, tables, made-up texts."""

from __future__ import annotations

import json
import os
import platform
import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

PLACES = [
    "Lisbon",
    "Kyoto",
    "Oslo",
    "Quito",
    "Nairobi",
    "Bergen",
    "Porto",
    "Galway",
    "Turin",
    "Cork",
    "Split",
    "Graz",
]
PEOPLE = [
    "Priya",
    "Tomas",
    "Ingrid",
    "Kwame",
    "Lena",
    "Marco",
    "Yuki",
    "Dana",
    "Omar",
    "Sofia",
    "Pavel",
    "Nia",
]
THINGS = [
    "bicycle",
    "garden",
    "piano",
    "recipe",
    "invoice",
    "camera",
    "novel",
    "kitchen",
    "marathon",
    "contract",
    "puppy",
    "balcony",
    "lecture",
    "passport",
    "budget",
    "violin",
    "sourdough",
    "deadline",
    "telescope",
    "vaccine",
    "tent",
    "mortgage",
    "podcast",
    "ferry",
    "sweater",
]
VERBS = [
    "bought",
    "sold",
    "repaired",
    "lost",
    "found",
    "borrowed",
    "planned",
    "painted",
    "reviewed",
    "cancelled",
    "ordered",
    "promised",
]


def texts(count: int, seed: int = 1) -> list[str]:
    """Made-up memories of 12 to 30 words, all different."""
    chance = random.Random(seed)
    return [_text(chance, number) for number in range(count)]


def _text(chance: random.Random, number: int) -> str:
    words = [
        f"{chance.choice(PEOPLE)} {chance.choice(VERBS)} a {chance.choice(THINGS)} in {chance.choice(PLACES)}"
        for _ in range(chance.randint(2, 5))
    ]
    return f"Note {number}: " + ", and ".join(words) + "."


def questions(count: int, seed: int = 2) -> list[str]:
    """Made-up questions about such memories."""
    chance = random.Random(seed)
    return [
        f"What did {chance.choice(PEOPLE)} do with the {chance.choice(THINGS)} in {chance.choice(PLACES)}?"
        for _ in range(count)
    ]


def timed(calls: Sequence[Callable[[], object]]) -> list[float]:
    """How long each call took, in milliseconds."""
    spent = []
    for call in calls:
        start = time.perf_counter()
        call()
        spent.append((time.perf_counter() - start) * 1e3)
    return spent


def p50(values: Sequence[float]) -> float:
    """The median."""
    return median(values)


def p99(values: Sequence[float]) -> float:
    """The 99th percentile: the value that one in a hundred exceeds."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]


def peak_rss_mib() -> float:
    """The largest resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 2**20


def resident_mib() -> float:
    """The memory that this process holds now, in MiB; NaN where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), float("nan"))


def report(title: str, rows: Sequence[tuple[str, object, str]], results: Path | None = None) -> None:
    """Print (what, value, aim) rows, with the machine they were measured on; write JSON if asked."""
    table = Table(title=title, title_justify="left")
    for column in ("what", "measured", "aim"):
        table.add_column(column, justify="right" if column == "measured" else "left", no_wrap=True)
    for what, value, aim in rows:
        table.add_row(what, f"{value:,.3g}" if isinstance(value, float) else str(value), aim)
    Console(width=120).print(table)
    load = os.getloadavg()[0]
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}"
    )
    if results is not None:
        results.write_text(json.dumps({what: value for what, value, _ in rows}, indent=1))
