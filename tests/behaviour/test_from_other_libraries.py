"""The page on other libraries: every name of ours on it exists, and a test shows every row of it."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import pytest
from support.mapping import Row, names_in_prose, problem_with, read_rows, shown_by

import mnemolog

ROWS = read_rows()
LIBRARIES = ("betterdb-agent-memory", "betterdb-agent-cache", "agentic_memory", "heapdb-memory")


def test_the_page_has_a_row_for_each_name_once() -> None:
    assert {row.library for row in ROWS} == set(LIBRARIES)
    assert len(ROWS) > 300
    twice = [name for name, count in Counter((row.library, row.name) for row in ROWS).items() if count > 1]
    assert not twice


def test_all_names_of_ours_exist(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        memory.wait(memory.remember("anything").position)
        stats = memory.stats()
    named = {name for row in ROWS for name in row.ours_named} | set(names_in_prose())
    assert len(named) > 200
    problems = {name: found for name in named if (found := problem_with(name, stats)) is not None}
    assert not problems


@pytest.mark.parametrize(
    "name",
    [
        "mem.rember(text)",
        "mem.remember(txt)",
        "mem.recall(query, bogus=1)",
        "mem.cache.llm.checks(params)",
        "mem.stats()['no such']",
        "MemoryItem.content",
        "NoSuchClass",
        "mnemolog.no_such",
        "mnemolog.query.models.NoSuch",
        "mnemolog nosuch",
        "mnemolog replay --nosuch",
        "MNEMOLOG_NOSUCH",
        "mnemolog_nosuch_total",
        "mnemolog.telemetry.observe(nosuch)",
        "python -m benchmarks.nosuch",
    ],
)
def test_a_name_that_does_not_exist_is_found(name: str) -> None:
    assert problem_with(name, {"memories": 0}) is not None


def test_a_test_shows_every_row_that_has_an_answer_and_no_other() -> None:
    shown = shown_by(thing for path in _siblings() for thing in _tests_in(path))
    answered = {(row.library, row.name) for row in ROWS if row.answered}
    assert sorted(answered - shown) == []
    assert sorted(shown - answered) == []


def test_a_row_without_an_answer_says_why() -> None:
    silent: list[Row] = [row for row in ROWS if not row.answered and not row.differs]
    assert not silent


def _siblings() -> list[Path]:
    return sorted(Path(__file__).parent.glob("test_from_*.py"))


def _tests_in(path: Path) -> list[object]:
    spec = importlib.util.spec_from_file_location(f"shown_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [thing for name, thing in vars(module).items() if name.startswith("test_")]
