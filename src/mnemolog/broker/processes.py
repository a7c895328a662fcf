"""Processes that outlive the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

_PAUSE = 0.02
_EXEC_SECONDS = 5.0


def spawn(command: Sequence[str], folder: Path, output: str) -> int:
    """Start a command in `folder`, in a session of its own, its output in a file there. Returns the pid.

    The shell in between exits at once, so the process is nobody's child here: it outlives its starter, is
    reaped by init, and Ctrl-C does not reach it.
    """
    script = f'"$@" >{output} 2>&1 </dev/null & echo $!'
    shell = ["/bin/sh", "-c", script, "sh", *command]
    done = subprocess.run(  # noqa: S603 - our own command
        shell, cwd=folder, start_new_session=True, stdout=subprocess.PIPE, check=True
    )
    return int(done.stdout)


def command_line(pid: int) -> str:
    """The arguments of a running process, or "" if there is none (a zombie has none either)."""
    if Path("/proc/self/cmdline").exists():
        return _proc_command_line(pid)
    ps = ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)]
    listed = subprocess.run(ps, capture_output=True, check=False)  # noqa: S603 - our own command
    return os.fsdecode(listed.stdout)


def _proc_command_line(pid: int) -> str:
    """While a process turns into another program it has no arguments for a moment: then they are awaited."""
    deadline = time.monotonic() + _EXEC_SECONDS
    try:
        while not (found := Path(f"/proc/{pid}/cmdline").read_bytes()) and _lives(pid):
            if time.monotonic() > deadline:
                break
            time.sleep(_PAUSE)
    except OSError:
        return ""
    return os.fsdecode(found.replace(b"\0", b" "))


def _lives(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    return state not in (b"Z", b"X")


def is_running(pid: int, mark: str) -> bool:
    """True if the process runs and carries `mark` in its arguments: a pid alone may be another's by now."""
    return mark in command_line(pid)


def end(pid: int, mark: str, sig: signal.Signals, timeout: float) -> bool:
    """Send a signal and wait. True if the process is gone within `timeout` seconds."""
    if not is_running(pid, mark):
        return True
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        return True
    return wait_gone(pid, mark, timeout)


def wait_gone(pid: int, mark: str, timeout: float) -> bool:
    """True if the process is gone within `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while is_running(pid, mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)
    return True
