"""`mnemolog mcp`: memory as a server of the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.session import open_memory
from mnemolog.cli.shell import UsageError


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(mcp)


def mcp(
    target: Target,
    transport: Annotated[
        str, typer.Option(metavar="NAME", envvar="MNEMOLOG_TRANSPORT", help="stdio or streamable-http.")
    ] = "stdio",
    host: Annotated[
        str, typer.Option(metavar="HOST", envvar="MNEMOLOG_HOST", help="Where streamable-http listens.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", envvar="MNEMOLOG_PORT", help="At which port; 0 takes a free one.")
    ] = 8765,
) -> None:
    """Serve the memory of the namespace to agents over MCP, until the client leaves or Ctrl-C.

    Under streamable-http it is at http://HOST:PORT/mcp, and asks nobody who they are.
    """
    from mnemolog.adapters.mcp_serving import serve

    if transport not in ("stdio", "streamable-http"):
        raise UsageError(f"--transport is stdio or streamable-http, not {transport}")
    with open_memory(target, create=True) as memory:
        serve(memory, transport, host=host, port=port)  # type: ignore[arg-type]
