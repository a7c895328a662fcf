"""An agent that speaks MCP: the protocol's own client, of a server here, in a process, or behind a URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp_types import CallToolResult, TextContent, Tool


class Agent:
    """Calls tools, one after the other."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    @property
    def instructions(self) -> str | None:
        """What the server tells it."""
        return self._client.instructions

    def tools(self) -> dict[str, Tool]:
        """The tools, by name."""
        return {tool.name: tool for tool in self._portal.call(self._client.list_tools).tools}

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        """What a call gives, as the protocol has it."""
        return self._portal.call(lambda: self._client.call_tool(tool, arguments))

    def ok(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a call that must succeed."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content
        answer: dict[str, Any] | None = result.structured_content
        assert answer is not None
        return answer

    def fails(self, tool: str, **arguments: Any) -> str:
        """The message of a call that must fail."""
        result = self.result(tool, **arguments)
        assert result.is_error, result.structured_content
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert "Traceback" not in content.text
        return content.text


@contextmanager
def agent(server: Any) -> Iterator[Agent]:
    """An agent of `server`: the object, how to start the process, or the URL."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server)) as client,
    ):
        yield Agent(portal, client)
