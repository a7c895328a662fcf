"""A request of the OpenAI Agents SDK as JSON: what its answer follows from, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from agents.agent_output import AgentOutputSchemaBase
from agents.handoffs import Handoff
from agents.model_settings import ModelSettings
from agents.tool import Tool
from pydantic_core import PydanticSerializationError, to_jsonable_python

_HOW_IT_IS_ASKED = frozenset({"retry", "timeout"})
_WHERE_IT_GOES = "prompt_cache_key"
"""In the arguments of a request, which server has its beginning at hand. The SDK makes one for each run."""

_NOT_SENT = frozenset({"tool_input_guardrails", "tool_output_guardrails", "is_enabled", "needs_approval"})


class Uncacheable(ValueError):  # noqa: N818 it says what the request is
    """A part of the request that JSON can't hold, so no key can stand for it."""


def request(
    asked: object,
    settings: ModelSettings,
    tools: Sequence[Tool],
    output_schema: AgentOutputSchemaBase | None,
    handoffs: Sequence[Handoff[Any, Any]],
    prompt: object,
) -> dict[str, Any]:
    """The parts of a request, as JSON.

    Raises:
        Uncacheable: one that JSON can't hold, say a tool with an object of the program in it.
    """
    return {
        "input": _json(asked),
        "settings": _settings(settings),
        "tools": [_tool(tool) for tool in tools],
        "output_schema": None if output_schema is None else _schema(output_schema),
        "handoffs": [_handoff(handoff) for handoff in handoffs],
        "prompt": _json(prompt),
    }


def _settings(settings: ModelSettings) -> dict[str, Any]:
    said = _guarded(settings.to_json_dict)
    for extra in ("extra_args", "extra_body"):
        if isinstance(said.get(extra), dict):
            said[extra] = {name: one for name, one in said[extra].items() if name != _WHERE_IT_GOES} or None
    return {name: one for name, one in said.items() if one is not None and name not in _HOW_IT_IS_ASKED}


def _tool(tool: Tool) -> dict[str, Any]:
    """A tool's name and the fields that describe it: callables are the program's own."""
    if not is_dataclass(tool):
        raise Uncacheable(type(tool).__name__)
    described: dict[str, Any] = {}
    for field in fields(tool):
        value = getattr(tool, field.name, None)
        private = field.name.startswith("_") and not isinstance(value, str)
        if not private and field.name not in _NOT_SENT and not callable(value):
            described[field.name] = _json(value)
    return {**described, "name": tool.name, "kind": type(tool).__name__}


def _schema(schema: AgentOutputSchemaBase) -> dict[str, Any]:
    if schema.is_plain_text():
        return {"plain_text": True}
    return {
        "name": schema.name(),
        "schema": _json(schema.json_schema()),
        "strict": schema.is_strict_json_schema(),
    }


def _handoff(handoff: Handoff[Any, Any]) -> dict[str, Any]:
    return {
        "name": handoff.tool_name,
        "description": handoff.tool_description,
        "schema": _json(handoff.input_json_schema),
        "strict": handoff.strict_json_schema,
        "agent": handoff.agent_name,
    }


def _json(value: object) -> Any:
    return _guarded(lambda: to_jsonable_python(value))


def _guarded(write: Callable[[], Any]) -> Any:
    try:
        return write()
    except (PydanticSerializationError, ValueError, TypeError) as error:
        raise Uncacheable(str(error)) from error
