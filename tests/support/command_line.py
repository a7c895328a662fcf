"""Running the command line: in this process, as a program, and as a program on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
from typer.testing import CliRunner, Result

from mnemolog.cli.app import app

_LOGIN = (
    sys.executable,
    "-c",
    "import os, sys; os.login_tty(os.dup(0)); os.execv(sys.argv[1], sys.argv[1:])",
)
"""Starts a program on the terminal that is its stdin, so that a typed Ctrl-C interrupts it."""

_ASLEEP = psutil.STATUS_SLEEPING
PROGRAM = str(Path(sys.executable).with_name("mnemolog"))


def settings(home: Path, **more: str) -> dict[str, str | None]:
    """The variables of a fast memory in `home`, and none of the tester's own."""
    mine: dict[str, str | None] = {name: None for name in os.environ if name.startswith("MNEMOLOG_")}
    return mine | {"MNEMOLOG_PATH": str(home), "MNEMOLOG_EMBEDDER": "hashing", "COLUMNS": "80"} | more


class CommandLine:
    """The commands on one embedded memory."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(
        self, *args: object, stdin: str | bytes | None = None, env: Mapping[str, str | None] | None = None
    ) -> Result:
        """Run a command in this process."""
        variables = {**settings(self.home), **(env or {})}
        return CliRunner().invoke(
            app, [str(arg) for arg in args], input=stdin, env=variables, prog_name="mnemolog"
        )

    def ok(self, *args: object, **how: Any) -> str:
        """The stdout of a command that must succeed."""
        result = self.run(*args, **how)
        assert result.exit_code == 0, result.output
        return result.stdout

    def lines(self, *args: object, **how: Any) -> list[Any]:
        """The JSON documents that a command prints, one a line."""
        return [json.loads(line) for line in self.ok(*args, "--json", **how).splitlines()]

    def json(self, *args: object, **how: Any) -> Any:
        """The one JSON document that a command prints."""
        (document,) = self.lines(*args, **how)
        return document

    def fails(self, code: int, *args: object, **how: Any) -> str:
        """The one line on stderr of a command that must end with `code`."""
        result = self.run(*args, **how)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        (line,) = result.stderr.splitlines()
        return line


def start(home: Path, *args: object, via: Sequence[str] = (), **how: Any) -> subprocess.Popen[bytes]:
    """Start the program, `via` another one if given."""
    kept = {name: value for name, value in (os.environ | settings(home)).items() if value is not None}
    return subprocess.Popen([*via, PROGRAM, *map(str, args)], env=kept, **how)


def on_terminal(home: Path, *args: object, typed: str = "", after: str = "") -> tuple[int, str]:
    """The exit code, and what a person sees who types `typed` once the program waits after the text `after`.

    A Ctrl-C typed earlier may come just before Python begins to read: then it is heard with the next key.
    """
    ours, theirs = pty.openpty()
    process = start(home, *args, via=_LOGIN, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen, pending = "", typed.encode()
    try:
        while chunk := _read(ours):
            seen += chunk.decode(errors="replace")
            if pending and after in seen:
                wait_until_idle(process.pid)
                os.write(ours, pending)
                pending = b""
        return process.wait(60), seen.replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def wait_until_idle(pid: int) -> None:
    """Until the program waits for its input: until its main thread sleeps and uses no more of the processor.

    On a busy machine a program that has much to do may get no processor for long; it isn't asleep.
    """
    program, used, deadline = psutil.Process(pid), -1.0, time.monotonic() + 60
    while (now := _used_by_main_thread(program)) != used or now == 0 or program.status() != _ASLEEP:
        assert time.monotonic() < deadline, f"after a minute the program is {program.status()}"
        used = now
        time.sleep(0.25)


def _used_by_main_thread(program: psutil.Process) -> float:
    return sum(
        thread.user_time + thread.system_time for thread in program.threads() if thread.id == program.pid
    )


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side is gone
        return b""
