"""Memory as an MCP server, for agents that speak the Model Context Protocol. Needs the extra `mnemolog[mcp]`.

    server = build_server(memory)
    server.run("stdio")

`mnemolog mcp` does so from the command line.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec, get_args

from pydantic import ConfigDict, create_model

from mnemolog import __version__
from mnemolog.adapters.mcp_answers import Answer
from mnemolog.adapters.mcp_tools import MemoryTools
from mnemolog.adapters.missing import needs
from mnemolog.async_memory import AsyncMemory
from mnemolog.memory import Memory
from mnemolog.schemas.errors import MnemologError

with needs("the MCP server", "mcp"):
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
    from mcp_types import ToolAnnotations

P = ParamSpec("P")

DEFAULT_NAME = "mnemolog"

INSTRUCTIONS = """\
Long-term memory that outlives this conversation.
1. Before you answer or plan, call recall with the question in plain words: what was learned earlier counts.
2. When you learn what will still matter later (a preference, a decision, a lesson, a fact about the user or
   the project), call remember: one thing a call, in a sentence that stands alone. Give what can change a key,
   such as "diet": a new memory under it supersedes the old one. Do not remember secrets, or what only this
   turn needs.
3. After you answered, call feedback with the recall_id: the ids you used, and those that were of no use.
   Recall learns from it.
If a memory is wrong, update it. Forget one only if the user asks for it, or if it never should have been
there. get, list_memories, history and facts show what there is and how it came about."""

_CLOSED_WORLD = ToolAnnotations(open_world_hint=False)
_READS = _CLOSED_WORLD.model_copy(
    update={"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True}
)
_ADDS = _READS.model_copy(update={"read_only_hint": False, "idempotent_hint": False})
_JUDGES = _READS.model_copy(update={"read_only_hint": False})
_ENDS = _JUDGES.model_copy(update={"destructive_hint": True})


def build_server(
    memory: Memory | AsyncMemory, name: str = DEFAULT_NAME, *, instructions: str = INSTRUCTIONS
) -> MCPServer[Any]:
    """An MCP server whose tools read and write the namespace of `memory`, and nothing else.

    `instructions` is what clients tell the model about it. Errors of the facade come back as tool errors with
    their message. `memory` stays the caller's: close it when the server has ended.
    """
    tools = MemoryTools(memory if isinstance(memory, AsyncMemory) else AsyncMemory(memory))
    offered: list[tuple[Callable[..., Awaitable[Answer]], ToolAnnotations]] = [
        (tools.remember, _ADDS),
        (tools.recall, _READS),
        (tools.feedback, _JUDGES),
        (tools.mark_used, _ADDS),
        (tools.mark_ignored, _ADDS),
        (tools.get, _READS),
        (tools.update, _ENDS),
        (tools.forget, _ENDS),
        (tools.list_memories, _READS),
        (tools.history, _READS),
        (tools.facts, _READS),
    ]
    return MCPServer(
        name,
        version=__version__,
        instructions=instructions,
        tools=[_tool(function, hints) for function, hints in offered],
        log_level="WARNING",
    )


def _tool(function: Callable[..., Awaitable[Answer]], hints: ToolAnnotations) -> Tool:
    """The tool of a function; arguments that it does not have are refused, not ignored."""
    made = Tool.from_function(_telling(function), description=_one_line(function.__doc__), annotations=hints)
    known = made.fn_metadata.arg_model
    strict = create_model(known.__name__, __base__=(known, _Strict))
    metadata = _Arguments.model_construct(**{**dict(made.fn_metadata), "arg_model": strict})
    return made.model_copy(update={"fn_metadata": metadata, "parameters": strict.model_json_schema()})


def _telling(function: Callable[P, Awaitable[Answer]]) -> Callable[P, Awaitable[Answer]]:
    """`function`, whose errors of ours are told to the model; what else goes wrong is a bug."""

    @wraps(function)
    async def told(*args: P.args, **kwargs: P.kwargs) -> Answer:
        try:
            return await function(*args, **kwargs)
        except MnemologError as error:
            raise ToolError(str(error)) from error

    return told


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


class _Strict(ArgModelBase):
    """Arguments, and no others."""

    model_config = ConfigDict(extra="forbid")


class _Arguments(FuncMetadata):
    """The arguments of a tool. Some clients send lists and objects as JSON text; text is never parsed."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """`data`, with JSON text parsed where a list or an object belongs."""
        fields = self.arg_model.model_fields
        return {name: _parsed(value) if _no_text(fields, name) else value for name, value in data.items()}


def _no_text(fields: Any, name: str) -> bool:
    if name not in fields:
        return False
    annotation = fields[name].annotation
    return str not in (annotation, *get_args(annotation))


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return document if isinstance(document, list | dict) or document is None else value
