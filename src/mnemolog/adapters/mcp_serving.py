"""Running the MCP server until its client leaves, or the process is told to stop: nothing is lost."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, get_args

from mnemolog.adapters.mcp_server import build_server
from mnemolog.async_memory import AsyncMemory
from mnemolog.memory import Memory
from mnemolog.schemas.checks import check_count, check_string
from mnemolog.schemas.errors import InvalidInputError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

Transport = Literal["stdio", "streamable-http"]

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
_GRACE_SECONDS = 5
_STOPPING = (signal.SIGTERM, signal.SIGINT)


def serve(
    memory: Memory, transport: Transport = "stdio", *, host: str = DEFAULT_HOST, port: int = DEFAULT_PORT
) -> None:
    """Serve `memory` until the client closes stdin, or a SIGTERM or SIGINT; then close it.

    Under "stdio" stdout belongs to the protocol. Under "streamable-http" the server is at
    `http://HOST:PORT/mcp`; it asks nobody who they are, so let it listen to this machine alone, or stand
    behind a proxy that does. Call it from the main thread.

    Raises:
        InvalidInputError: an unknown transport, a blank host, a port that is none, or no stdin.
    """
    if transport not in get_args(Transport):
        known = ", ".join(get_args(Transport))
        raise InvalidInputError(f"transport is one of {known}, not {transport!r:.80}", field="transport")
    if not check_string("host", host).strip():
        raise InvalidInputError("host is the address to listen on, and must not be blank", field="host")
    check_count("port", port, 0, 65_535)
    if transport == "stdio" and sys.stdin is None:
        raise InvalidInputError("stdin is closed, and there the client would speak", field="transport")
    shared = AsyncMemory(memory)
    server = build_server(shared)

    async def run() -> None:
        try:
            await (_over_stdio(server) if transport == "stdio" else _over_http(server, host, port))
        finally:
            await shared.close()  # after the calls under way: what they write is durable

    asyncio.run(run())


async def _over_stdio(server: MCPServer[Any]) -> None:
    with _ended_by_signals():
        await server.run_stdio_async()


async def _over_http(server: MCPServer[Any], host: str, port: int) -> None:
    import uvicorn

    app = server.streamable_http_app(host=host)
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=_GRACE_SECONDS
    )
    with _signals_to(lambda *_: None):  # uvicorn stops in order, and then raises the signal again
        await uvicorn.Server(config).serve()


@contextmanager
def _signals_to(handler: object) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in _STOPPING}  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal end stdin, as a client does that goes away.

    A thread that waits in a read can't be told to stop, so the server gets a pipe for its stdin, and another
    thread, which can, feeds it.
    """
    out, into = os.pipe()
    woken, wake = os.pipe()
    feeder = threading.Thread(target=_feed, args=(sys.stdin.fileno(), woken, into), name="mnemolog-mcp-stdin")
    stdin, sys.stdin = sys.stdin, os.fdopen(out, encoding="utf-8")
    try:
        with _signals_to(lambda *_: os.write(wake, b"x")):
            feeder.start()
            yield
    finally:
        os.write(wake, b"x")
        sys.stdin.close()
        sys.stdin = stdin
        feeder.join()
        os.close(wake)
        os.close(woken)


def _feed(source: int, woken: int, into: int) -> None:
    """Copy from `source` into `into` until the one ends, `woken` can be read, or nobody reads the other."""
    try:
        while woken not in (ready := select.select([source, woken], [], [])[0]):
            chunk = os.read(source, 65_536) if ready else b""
            if not chunk:
                break
            while chunk:
                chunk = chunk[os.write(into, chunk) :]
    except OSError:
        pass
    finally:
        os.close(into)
