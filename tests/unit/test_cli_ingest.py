"""`mnemolog ingest`: what it loads, what it says, how it ends."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from support.command_line import PROGRAM


def run(home: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [PROGRAM, *arguments, "--path", str(home / "memory"), "--embedder", "none"]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def test_a_good_file_ends_with_0_and_is_listed(tmp_path: Path) -> None:
    file = tmp_path / "good.jsonl"
    file.write_text('{"text": "one"}\n{"text": "two", "tags": ["a"]}\n')
    done = run(tmp_path, "ingest", str(file), "--wait")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 lines loaded" in done.stdout
    assert len(json.loads(run(tmp_path, "list", "--json").stdout.splitlines()[0])) > 0


def test_bad_lines_end_with_1_and_are_named(tmp_path: Path) -> None:
    done = run(tmp_path, "ingest", "-", "--json", stdin='{"text": "one"}\n{"text": ""}\n')
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert (document["written"], document["failed"]) == (1, 1)
    assert document["errors"][0]["line"] == 2


def test_a_missing_file_is_bad_usage(tmp_path: Path) -> None:
    done = run(tmp_path, "ingest", str(tmp_path / "nowhere.jsonl"))
    assert done.returncode == 2
    assert "nowhere.jsonl" in done.stderr
    assert "Traceback" not in done.stderr
