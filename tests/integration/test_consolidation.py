"""Workers that consolidate, on a real broker, while programs write and forget and workers die."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path

import pytest
from support.workers import WorkerProcess, folded, live, wait_until, wait_until_caught_up

import mnemolog
from mnemolog import Memory
from mnemolog.broker import LocalBroker
from mnemolog.producers.kafka import KafkaLog, create_topics

pytestmark = pytest.mark.kafka

MEMORIES = 240


def _write(mem: Memory, start: int, stop: threading.Event) -> None:
    for number in range(start, MEMORIES, 2):
        mem.remember(f"memory {number}", id=f"m{number}")
        if stop.wait(0.01):
            return


def _forget(mem: Memory, stop: threading.Event) -> None:
    """Forgets every fifth memory, once before and once after it is likely to be read."""
    for number in range(0, MEMORIES, 5):
        if stop.wait(0.06):
            return
        mem.forget(f"m{number}")


def test_facts_hold_while_programs_write_and_forget_and_workers_are_killed(
    own_broker: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    kafka = own_broker.bootstrap
    create_topics(kafka)
    views, group = tmp_path / "views", f"consolidating-{uuid.uuid4().hex}"
    how = (
        "none",
        "--consolidate",
        "support.wording:reword",
        "--every",
        "5",
        "--seconds",
        "1",
        "--batch",
        "7",
    )
    namespace = ("consolidating", uuid.uuid4().hex)
    stop = threading.Event()
    with WorkerProcess(kafka, views, group, *how) as first:
        first.wait_for("owns")
        opening = {"namespace": namespace, "embedder": "none", "wait_seconds": 90.0}
        with mnemolog.connect(kafka, views, **opening) as mem:  # type: ignore[arg-type]
            threads = [threading.Thread(target=_write, args=(mem, start, stop)) for start in (0, 1)]
            threads.append(threading.Thread(target=_forget, args=(mem, stop)))
            for thread in threads:
                thread.start()
            try:
                first.wait_for("facts,", 3)
                first.kill()
                with WorkerProcess(kafka, views, group, *how) as second:
                    second.wait_for("facts,", 2)
                    with WorkerProcess(kafka, views, group, *how):
                        second.kill()
                        for thread in threads:
                            thread.join(120)
                        mem.remember_many([f"last {number}" for number in range(5)])
                        mem.forget([f"m{number}" for number in range(0, MEMORIES, 5)])
                        wait_until(lambda: _consolidated(mem), "all memories to be read", 240)
                        _check(mem)
                        _check_views(kafka, views)
            finally:
                stop.set()


def _consolidated(mem: Memory) -> bool:
    told = mem.stats()["consolidation"]
    return told is not None and int(told["lag"]) == 0


def _check(mem: Memory) -> None:
    """Each memory that is there has its one fact, and no fact is left without its memory."""
    texts = {item.text for item in mem.list(limit=1_000, kinds=["note"]).items}
    assert len(texts) == MEMORIES - MEMORIES // 5 + 5
    facts = mem.facts()
    assert sorted(item.subject for item in facts) == sorted(texts)
    assert all(item.current and len(item.sources) == 1 for item in facts)


def _check_views(kafka: str, views: Path) -> None:
    """The views are what the log says, folded anew without any extractor."""
    with KafkaLog(kafka) as log:
        wait_until_caught_up(log, views)
        assert live(views) == folded(log)
