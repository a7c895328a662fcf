"""Whether a process runs, told from its arguments."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mnemolog.broker.processes import is_running

MARK = "-Dmark=4711"


def test_a_process_that_turns_into_another_program_runs_all_the_while(tmp_path: Path) -> None:
    again = tmp_path / "again.sh"
    again.write_text('#!/bin/sh\nexec "$0" "$@"\n')
    again.chmod(0o755)
    with subprocess.Popen([again, MARK]) as process:
        try:
            until = time.monotonic() + 1
            while time.monotonic() < until:
                assert is_running(process.pid, MARK)
        finally:
            process.kill()
    assert not is_running(process.pid, MARK)


@pytest.mark.skipif(sys.platform != "linux", reason="only there a zombie's state is in /proc")
def test_a_zombie_does_not_run() -> None:
    process = subprocess.Popen([sys.executable, "-c", "", MARK])
    try:
        stat = Path(f"/proc/{process.pid}/stat")
        while b") Z" not in stat.read_bytes():
            time.sleep(0.01)
        started = time.monotonic()
        assert not is_running(process.pid, MARK)
        assert time.monotonic() - started < 1
    finally:
        process.wait()


def test_another_process_of_the_same_number_is_not_the_one() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()", "-Dmark=1"], stdin=subprocess.PIPE) as process:
        assert not is_running(process.pid, MARK)
        process.kill()
