"""The command line as a program: on a terminal, in a pipe, interrupted, and how much it loads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine, on_terminal, settings, start, wait_until_idle

from mnemolog.processors.replay import ReplayReport, replay
from mnemolog.served import PAUSE_SECONDS

HEAVY = {"lancedb", "lance", "pyarrow", "numpy", "onnxruntime", "rich", "kafka", "faust", "sqlite3"}
_LOADED = """
import sys
from mnemolog.cli import main
try:
    main()
except SystemExit as ending:
    print(ending.code, *sys.modules, file=sys.stderr)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def loads(home: Path, *args: str) -> set[str]:
    """The modules that a command has loaded when it ends with 0."""
    kept = {name: value for name, value in settings(home).items() if value is not None}
    done = subprocess.run([sys.executable, "-c", _LOADED, *args], env=kept, capture_output=True, text=True)
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


@pytest.mark.parametrize("args", [("--help",), ("recall", "--help"), ("broker", "--help"), ("--version",)])
def test_help_loads_nothing_heavy(home: Path, args: tuple[str, ...]) -> None:
    assert not loads(home, *args) & HEAVY


def test_remembering_loads_no_vector_store_and_no_model(home: Path) -> None:
    unnamed = ("remember", "text", "--namespace", "a/b")
    assert not loads(home, *unnamed) & (HEAVY - {"numpy", "sqlite3"})


def test_the_demo_holds(home: Path) -> None:
    """With the default model, as a stranger runs it."""
    process = start(home, "demo", "--embedder", "minilm", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out.decode() + err.decode()
    assert b"FAILED" not in out
    assert b"none failed" in out
    assert err == b""
    assert not home.exists()


def test_the_demo_answers_to_machines_and_may_use_a_memory_that_is_there(home: Path) -> None:
    cli = CommandLine(home)
    cli.ok("remember", "I was here before")
    process = start(home, "demo", "--json", "--path", str(home), stdout=subprocess.PIPE)
    found = json.loads(process.communicate(timeout=120)[0])
    assert process.returncode == 0
    assert found["ok"]
    assert set(found["claims"].values()) == {True}
    assert [item["text"] for item in cli.lines("list")] == ["I was here before"]


def test_the_demo_holds_where_recalls_are_logged_while_it_replays(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine."""

    def replay_slowly(*args: Any, **how: Any) -> ReplayReport:
        done = replay(*args, **how)
        time.sleep(1.5 * PAUSE_SECONDS)
        return done

    monkeypatch.setattr("mnemolog.processors.replay.replay", replay_slowly)
    assert CommandLine(home).json("demo", "--embedder", "hashing")["ok"]


def test_a_pipe_whose_reader_leaves_ends_quietly(home: Path) -> None:
    process = start(home, "remember", "text", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


def test_ctrl_c_ends_with_130_and_without_a_traceback(home: Path) -> None:
    process = start(home, "remember", "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until_idle(process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")
    assert not home.exists()


def test_stdin_that_is_not_text_is_an_error(home: Path) -> None:
    process = start(home, "remember", "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = process.communicate(b"\xff\xfe", timeout=60)
    assert process.returncode == 2
    assert err.startswith(b"Error: ")
    assert b"Traceback" not in err


def test_output_that_goes_nowhere_is_an_error(home: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = start(home, "remember", "text", stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert b"No space left on device" in err
    assert b"Traceback" not in err


def test_a_terminal_shows_a_table_with_whole_ids(home: Path) -> None:
    cli = CommandLine(home)
    identifier = cli.json("remember", "a [red]bike[/red] with words " + "and words " * 30)["id"]
    code, seen = on_terminal(home, "list")
    assert code == 0
    assert identifier in seen
    assert "[red]bike[/red]" in " ".join(seen.split())
    assert "id " in seen.splitlines()[0] or "id" in seen


def test_a_person_is_asked_before_much_is_forgotten(home: Path) -> None:
    cli = CommandLine(home)
    cli.ok("remember", "text")
    question = "Forget 1 memory of default?"
    code, seen = on_terminal(home, "forget", "--all", typed="n\n", after=question)
    assert (code, "nothing was forgotten" in seen) == (1, True)
    code, seen = on_terminal(home, "forget", "--all", typed="\x03", after=question)
    assert code == 130
    assert "Traceback" not in seen
    assert len(cli.lines("list")) == 1


def test_a_terminal_shows_the_progress_of_a_replay(home: Path) -> None:
    CommandLine(home).ok("remember", "text")
    code, seen = on_terminal(home, "replay")
    assert code == 0
    assert "replaying" in seen
    assert "1/1" in seen
