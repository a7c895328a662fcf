"""`mnemolog mcp` as agents run it: a process of its own, over stdio and HTTP; how it ends, what is left."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import StdioServerParameters
from support.agents import agent
from support.command_line import PROGRAM, CommandLine, settings, start
from support.stores import texts

import mnemolog
from mnemolog.adapters.mcp_serving import serve
from mnemolog.schemas.errors import InvalidInputError

NAMESPACE = ("acme", "alice")


def process(home: Path, *options: str) -> StdioServerParameters:
    """The server as an MCP client starts it: by variables."""
    chosen = settings(home, MNEMOLOG_NAMESPACE="/".join(NAMESPACE))
    variables = {name: value for name, value in chosen.items() if value is not None}
    return StdioServerParameters(command=PROGRAM, args=["mcp", *options], env=variables)


def left(home: Path, namespace: tuple[str, ...] = NAMESPACE) -> list[str]:
    """The texts that the memory in `home` holds afterwards."""
    with mnemolog.open(home, namespace, embedder="hashing") as memory:
        return sorted(texts(memory))


def test_an_agent_uses_it_over_stdio(tmp_path: Path) -> None:
    with agent(process(tmp_path / "m")) as alice:
        made = alice.ok("remember", text="Alice eats fish", key="diet")
        found = alice.ok("recall", query="what does Alice eat?")
        assert [one["id"] for one in found["memories"]] == [made["id"]]
        assert "no memory 'nope'" in alice.fails("get", id="nope")
        alice.ok("feedback", recall_id=found["recall_id"], used=[made["id"]])
    assert made["namespace"] == "acme/alice"
    with mnemolog.open(tmp_path / "m", NAMESPACE, embedder="hashing") as memory:
        (item,) = memory
        assert (item.text, item.use_count) == ("Alice eats fish", 1)
        assert memory.explain_usefulness()  # what the recall showed is in the log too


def test_an_agent_uses_it_over_http(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = start(
        tmp_path / "m", "mcp", "--transport", "streamable-http", "--port", port, stdout=subprocess.PIPE
    )
    try:
        until(lambda: listens(port))
        with agent(f"http://127.0.0.1:{port}/mcp") as alice, agent(f"http://127.0.0.1:{port}/mcp") as bob:
            made = alice.ok("remember", text="Alice eats fish")
            assert bob.ok("get", id=made["id"])["text"] == "Alice eats fish"
            server.send_signal(signal.SIGTERM)  # with clients still there
            assert server.wait(60) == 0
        assert server.stdout is not None
        assert server.stdout.read() == b""
    finally:
        server.kill()
        server.wait()
    assert left(tmp_path / "m", ("default",)) == ["Alice eats fish"]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Wire:
    """The server's stdin and stdout, line by line, without a client that would tidy up."""

    def __init__(self, home: Path) -> None:
        self.process = start(
            home, "mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        opening = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.send("initialize", 0, **opening)
        self.answer()
        self.send("notifications/initialized")

    def send(self, method: str, number: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        line = json.dumps(message if number is None else {**message, "id": number})
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        document: dict[str, Any] = json.loads(self.process.stdout.readline())
        return document

    def remember(self, number: int) -> None:
        self.send("tools/call", number, name="remember", arguments={"text": f"note {number}"})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "m"


def told_to_stop(wire: Wire) -> None:
    wire.process.send_signal(signal.SIGTERM)


def interrupted(wire: Wire) -> None:
    wire.process.send_signal(signal.SIGINT)


def left_by_its_client(wire: Wire) -> None:
    assert wire.process.stdin is not None
    wire.process.stdin.close()


@pytest.mark.parametrize("end", [told_to_stop, interrupted, left_by_its_client])
def test_it_ends_in_order_and_all_that_it_answered_is_there(home: Path, end: Callable[[Wire], None]) -> None:
    wire = Wire(home)
    for number in range(1, 21):
        wire.remember(number)
    answered = {wire.answer()["id"] for _ in range(3)}  # the others are under way
    end(wire)
    assert wire.process.stdout is not None
    assert wire.process.stderr is not None
    later = [json.loads(line) for line in wire.process.stdout]
    answered |= {one["id"] for one in later if "result" in one}
    assert wire.process.wait(60) == 0
    assert wire.process.stderr.read() == b""
    kept = left(home, ("default",))
    assert len(kept) == len(set(kept))
    assert {f"note {number}" for number in answered} <= set(kept)


def test_stdout_is_the_protocols_alone(home: Path) -> None:
    wire = Wire(home)
    wire.send("tools/call", 1, name="get", arguments={"id": "nope"})
    assert wire.answer()["result"]["isError"]
    assert wire.process.stdin is not None
    wire.process.stdin.write(b"this is not JSON\n")
    wire.process.stdin.flush()
    wire.remember(2)
    answers = [wire.answer()]
    while answers[-1].get("id") != 2:
        answers.append(wire.answer())
    assert all(one["jsonrpc"] == "2.0" for one in answers)
    left_by_its_client(wire)
    assert wire.process.wait(60) == 0


def test_what_is_wrong_is_told_before_it_serves(home: Path) -> None:
    cli = CommandLine(home)
    assert "--transport is stdio or streamable-http" in cli.fails(2, "mcp", "--transport", "carrier-pigeon")
    assert "port" in cli.fails(2, "mcp", "--transport", "streamable-http", "--port", "99999")
    assert "host" in cli.fails(2, "mcp", "--transport", "streamable-http", "--host", " ")  # not all addresses
    assert "streamable-http" in cli.ok("mcp", "--help")


def test_without_stdin_there_is_nobody_to_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # as where a program was started with it closed
    with mnemolog.open(tmp_path, embedder="hashing") as memory:
        with pytest.raises(InvalidInputError, match="stdin is closed"):
            serve(memory)
        memory.remember("the memory is still open")
