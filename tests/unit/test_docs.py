"""The Python examples of the README and the concepts page, run as they stand; the links, followed."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.mapping import metrics

import mnemolog
from mnemolog.adapters.mcp_server import build_server

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)\)")


def test_the_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = BLOCK.findall((ROOT / "README.md").read_text())
    exec(compile(example, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "relevance" in shown
    assert "Alice eats fish now" in shown


def test_the_concepts_examples_run(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        names = {"memory": memory}
        for example in BLOCK.findall((ROOT / "docs" / "concepts.md").read_text()):
            exec(compile(example, "concepts.md", "exec"), names)


def test_the_examples_of_scopes_and_settings_run(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        for example in BLOCK.findall((ROOT / "docs" / "life-cycle.md").read_text()):
            exec(compile(example, "life-cycle.md", "exec"), {"memory": memory})


def test_the_examples_of_recall_run(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        names = {"memory": memory}
        for example in BLOCK.findall((ROOT / "docs" / "recall.md").read_text()):
            exec(compile(example, "recall.md", "exec"), names)


def test_the_examples_of_consolidation_run(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        for example in BLOCK.findall((ROOT / "docs" / "consolidation.md").read_text()):
            exec(compile(example, "consolidation.md", "exec"), {"memory": memory})


def test_the_examples_of_context_and_caches_run(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        for example in BLOCK.findall((ROOT / "docs" / "context-and-caches.md").read_text()):
            exec(compile(example, "context-and-caches.md", "exec"), {"memory": memory})


def test_the_examples_of_time_travel_run(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        for example in BLOCK.findall((ROOT / "docs" / "replay-and-time-travel.md").read_text()):
            exec(compile(example, "replay-and-time-travel.md", "exec"), {"memory": memory})


def test_the_examples_of_the_mcp_server_run(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "mcp.md").read_text()
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        for example in BLOCK.findall(text):
            exec(compile(example, "mcp.md", "exec"), {"memory": memory, "asyncio": asyncio})
        offered = {tool.name for tool in asyncio.run(build_server(memory).list_tools())}
    (config,) = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert json.loads(config)["mcpServers"]["memory"]["args"] == ["mcp"]
    named = {
        name
        for row in re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert named == offered


def test_the_examples_of_the_adapters_run(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        for example in BLOCK.findall((ROOT / "docs" / "adapters.md").read_text()):
            exec(compile(example, "adapters.md", "exec"), {"memory": memory, "asyncio": asyncio})


def test_the_examples_of_telemetry_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}  # the second goes on with the first one's provider
    for example in BLOCK.findall((ROOT / "docs" / "telemetry.md").read_text()):
        exec(compile(example, "telemetry.md", "exec"), names)
    assert "tracer" in names


def test_the_page_on_telemetry_names_every_metric_and_no_other() -> None:
    page = (ROOT / "docs" / "telemetry.md").read_text()
    tables = "\n".join(line for line in page.splitlines() if line.startswith("|"))
    assert set(re.findall(r"`(mnemolog_\w+)`", tables)) == metrics()


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_the_examples_run(example: Path) -> None:
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not missing
