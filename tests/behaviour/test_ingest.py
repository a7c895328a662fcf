"""Files of memories, loaded once, twice, and after all was forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from support.stores import Store, texts

from mnemolog import Memory, MemoryProducer
from mnemolog.producers.commands import Commands
from mnemolog.producers.reports import IngestReport

Load: TypeAlias = Callable[[Memory], IngestReport]

LINES: list[dict[str, Any]] = [
    {"text": "plain"},
    {"text": "plain"},
    {"text": "by id", "id": "m1", "tags": ["t"], "metadata": {"city": "Paris"}},
    {"text": "by key, older", "key": "diet"},
    {"text": "by key, newer", "key": "diet"},
    {"text": "dated", "occurred_at": "2026-05-01T12:00:00Z", "importance": 0.5},
]
KEPT = ["by id", "by key, newer", "dated", "plain", "plain"]


@pytest.fixture
def load(store: Store, tmp_path: Path) -> Load:
    """Loads the file into a memory's namespace and waits until the memory shows it."""
    file = tmp_path / "memories.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in LINES) + "\n\n{bad\n" + '{"text": " "}\n')

    def run(mem: Memory) -> IngestReport:
        with MemoryProducer(store.log(), Commands(mem.namespace)) as producer:
            report = producer.write_jsonl(file)
        for position in report.positions:
            mem.wait(position, 60)
        return report

    return run


def state(mem: Memory) -> list[tuple[Any, ...]]:
    """What a reader sees; of memories under a key, which come into their slot anew, without when they did."""
    items = sorted(mem.list(limit=100, include_superseded=True).items, key=lambda item: item.id)
    return [
        (item, mem.history(item.id)) if item.key is None else (item.id, item.text, item.superseded_by)
        for item in items
    ]


def test_a_file_loaded_twice_leaves_the_same_state(mem: Memory, load: Load) -> None:
    load(mem)
    first = state(mem)
    assert sorted(texts(mem.list().items)) == KEPT
    load(mem)
    assert state(mem) == first
    assert sorted(texts(mem.list().items)) == KEPT
    assert mem.list(include_superseded=True).total == len(LINES)


def test_bad_lines_are_reported_and_the_others_loaded(mem: Memory, load: Load) -> None:
    report = load(mem)
    assert (report.written, report.failed) == (len(LINES), 2)
    assert [(error.line, error.field) for error in report.errors] == [(8, None), (9, "text")]
    assert mem.list(include_superseded=True).total == len(LINES)


def test_a_file_is_loaded_again_after_all_was_forgotten(mem: Memory, load: Load) -> None:
    load(mem)
    assert mem.forget_scope(everything=True) == len(LINES)
    assert mem.list(include_superseded=True).total == 0
    load(mem)
    assert sorted(texts(mem.list().items)) == KEPT
