"""Programs that use one folder at the same time, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType

_WRITE = """
import sys, mnemolog
home, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with mnemolog.open(home, namespace=("test", "alice"), embedder="hashing") as mem:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        receipt = mem.remember(f"{name} {number}", id=f"{name}{number}")
        print(receipt.id, flush=True)
"""
_READ = """
import sys, mnemolog
with mnemolog.open(sys.argv[1], namespace=("test", "alice"), embedder="hashing") as mem:
    print(len(mem.recall("anything")), flush=True)
    for line in sys.stdin:
        print(*sorted(mem.recall("anything", k=100, after=line.strip()).ids), flush=True)
"""


class Program:
    """A running program that is asked and answers in lines."""

    def __init__(self, source: str, *arguments: object) -> None:
        command = [sys.executable, "-c", source, *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, line: str = "") -> None:
        """Send it a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line that it prints; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def rest(self) -> list[str]:
        """All that it still prints until it ends."""
        assert self.process.stdout is not None
        return self.process.stdout.read().split("\n")[:-1]

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue


def writer(home: Path, name: str, count: int) -> Program:
    """Says "ready", waits for a line, then remembers `count` memories; prints each id once it is durable."""
    return Program(_WRITE, home, name, count)


def reader(home: Path) -> Program:
    """Prints how much a first recall finds; then, for each token that it reads, the ids that it sees."""
    return Program(_READ, home)
