"""Consolidation: reconciling, keeping up, what the English rules find. Run: python -m benchmarks.consolidate

`--data DIR` adds LoCoMo (Maharana et al., ACL 2024), which is no part of this project: CC BY-NC 4.0, for
evaluation only. `--sample N` prints N facts found there, each with its turn, to be judged by a reader.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.locomo import collection_of
from benchmarks.measure import report
from mnemolog import Fact, MemoryItem
from mnemolog.extractors import RuleExtractor
from mnemolog.opening import LOG_FILE, VIEWS_FOLDER
from mnemolog.opening import open as open_memory
from mnemolog.processors.reactors.consolidation import ConsolidationReactor, Pace
from mnemolog.processors.reconcile import reconcile
from mnemolog.producers.clock import utc_now
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.ids import new_id
from mnemolog.query.models import to_item
from mnemolog.schemas.facts import Assertion, Said, assertion
from mnemolog.storage.layout import Views

FACTS, SUBJECTS = 100_000, 20_000
NAMESPACES = 4
START = datetime(2026, 1, 1, tzinfo=UTC)


def made_facts(count: int) -> list[Assertion]:
    """Facts about a fifth as many subjects; some are said again, some are retracted."""
    facts = (
        Fact(f"Subject {n % SUBJECTS}", f"statement {n % 7}", tombstone=n % 50 == 0) for n in range(count)
    )
    return [
        assertion(("bench",), fact, [Said(f"m{n}", START + timedelta(seconds=n))])
        for n, fact in enumerate(facts)
    ]


def reconciling(count: int) -> tuple[float, float, float]:
    """Facts/s of reconcile alone, facts/s from facts to operations, and the peak of this process in MiB."""
    began = time.process_time()
    facts = made_facts(count)
    made = time.process_time()
    operations = reconcile(facts[: count // 2], facts)
    ended = time.process_time()
    assert len(operations) == count
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return count / (ended - made), count / (ended - began), peak


def instant(memories: list[MemoryItem]) -> list[Fact]:
    """One fact a memory, at once."""
    return [Fact(item.text, item.text, sources=(item.id,)) for item in memories]


def keeping_up(folder: Path, count: int, batch: int) -> tuple[float, float]:
    """Memories/s that one partition's reactor turns into facts in the views: a backlog, and beside a writer.

    The second is what it gets through while a program writes as fast as it can, until all is done.
    """
    with open_memory(folder, embedder="none") as memory:
        log, views = EmbeddedLog(folder / LOG_FILE), Views(folder / VIEWS_FOLDER)
        pace = Pace(every=1, seconds=0, batch=batch, concurrency=NAMESPACES)
        handles = [memory.at(f"n{number}") for number in range(NAMESPACES)]

        def write(word: str) -> None:
            for start in range(0, count // NAMESPACES, 250):
                for handle in handles:
                    handle.remember_many([f"{word} {start + number}" for number in range(250)])

        def consolidate(until: int) -> None:
            while read[0] < until:
                read[0] += reactor.look()

        write("backlog")
        for handle in handles:
            handle.list(limit=0)
        reactor = ConsolidationReactor(
            views, views.current(), 0, log, utc_now, new_id, instant, to_item, pace
        )
        read = [0]
        began = time.perf_counter()
        consolidate(count)
        drained = count / (time.perf_counter() - began)
        began = time.perf_counter()
        writer = threading.Thread(target=write, args=("live",))
        writer.start()
        consolidate(2 * count)
        beside = count / (time.perf_counter() - began)
        writer.join()
        facts = sum(len(handle.facts()) for handle in handles)
        assert facts == 2 * count, f"{facts} facts of {2 * count} memories"
        log.close()
    return drained, beside


def rules_on(data: Path) -> tuple[int, int, list[tuple[str, Any, Fact]]]:
    """LoCoMo's turns, how many of them the rules find a fact in, and the facts with their turns."""
    extractor, turns, covered = RuleExtractor(), 0, 0
    found: list[tuple[str, Any, Fact]] = []
    for path in sorted(data.glob("*.json")):
        for turn in collection_of(path).memories:
            turns += 1
            text = turn["text"].partition(" [shared ")[0]
            item: Any = SimpleNamespace(**{**turn, "text": text})
            facts = extractor([item]).facts
            covered += bool(facts)
            found += [(text, turn["occurred_at"].date(), fact) for fact in facts]
    return turns, covered, found


def show_sample(found: list[tuple[str, Any, Fact]], count: int, seed: int) -> None:
    """Print some of the facts with the turns that they are of."""
    for text, day, fact in random.Random(seed).sample(found, count):
        ends = " (ends)" if fact.tombstone else ""
        print(f"{fact.subject} | {fact.statement}{ends} | {fact.date} | said {day}: {text}\n")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of LoCoMo's conversations")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=31337)
    parser.add_argument("--memories", type=int, default=10_000)
    given = parser.parse_args()
    if given.sample:
        show_sample(rules_on(given.data)[2], given.sample, given.seed)
        return 0
    with get_context("spawn").Pool(1) as fresh:  # a process of its own, for its peak
        alone, whole, peak = fresh.apply(reconciling, (FACTS,))
    rows: list[tuple[str, object, str]] = [
        (f"reconcile {FACTS:,} facts", f"{alone:,.0f}", "facts/s of processor time"),
        ("from facts to operations", f"{whole:,.0f}", "facts/s of processor time"),
        ("peak of that process", f"{peak:.0f}", "MiB"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        drained, beside = keeping_up(Path(folder) / "memory", given.memories, 1_000)
    rows += [
        ("continuous, of a backlog", f"{drained:,.0f}", "memories/s of one partition"),
        ("continuous, beside a writer", f"{beside:,.0f}", "memories/s of one partition"),
    ]
    if given.data is not None:
        turns, covered, found = rules_on(given.data)
        rows.append(("LoCoMo turns with a fact", f"{covered / turns:.1%}", f"{covered:,} of {turns:,}"))
        rows.append(("facts found in them", f"{len(found):,}", "by the English rules"))
    report("consolidation", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
