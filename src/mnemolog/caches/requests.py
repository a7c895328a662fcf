"""The key of a cached answer: a hash of canonical JSON, equal for requests that mean the same."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from mnemolog.schemas.context_events import MAX_VALUE_DEPTH
from mnemolog.schemas.errors import InvalidInputError

_HOW_IT_COMES = frozenset({"stream", "stream_options"})
"""How an answer is sent, not what it says."""


def request_key(params: Mapping[str, Any]) -> str:
    """SHA-256 of a request to a model, as 64 hexadecimal digits.

    Every parameter counts (model, messages, temperature, tools, seed, response_format, …), but for `stream`
    and `stream_options`. The order of keys does not matter, nor does that of `tools`; a parameter that is
    None is as one that is not there; 1 and 1.0 are the same number, 1 and true are not the same.

    Raises:
        InvalidInputError: no `model`, or what JSON can't hold; `field` names the parameter.
    """
    if not isinstance(params, Mapping):
        raise InvalidInputError(f"params: give a dict, not {params!r:.80}", field="params")
    if not isinstance(params.get("model"), str) or not params["model"].strip():
        raise InvalidInputError("params.model: it must name the model", field="params.model")
    given = {name: value for name, value in params.items() if value is not None and name not in _HOW_IT_COMES}
    plain = canonical("params", given)
    if isinstance(plain.get("tools"), list):
        plain["tools"] = sorted(plain["tools"], key=_tool_order)
    return _digest(plain)


def call_key(tool: str, args: Any) -> str:
    """SHA-256 of a tool's name and its arguments, as 64 hexadecimal digits; the same rules for equality."""
    return _digest([tool, canonical("args", args)])


def canonical(field: str, value: Any, depth: int = 1) -> Any:
    """`value` as plain JSON in which equal numbers are written alike.

    Raises:
        InvalidInputError: it is not JSON, holds NaN or an infinity, or nests too deep; `field` names where.
    """
    if depth > MAX_VALUE_DEPTH:
        raise InvalidInputError(f"{field}: it nests deeper than {MAX_VALUE_DEPTH} levels", field=field)
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return int(value) if value.is_integer() else float(value)
        case Mapping():
            return {
                _name(field, name): canonical(f"{field}.{name}", one, depth + 1)
                for name, one in value.items()
            }
        case list() | tuple():
            return [canonical(f"{field}.{at}", one, depth + 1) for at, one in enumerate(value)]
    raise InvalidInputError(f"{field}: JSON can't hold {value!r:.80}", field=field)


def _name(field: str, name: object) -> str:
    if not isinstance(name, str):
        raise InvalidInputError(f"{field}: keys are strings, not {name!r:.80}", field=field)
    return name


def _tool_order(tool: Any) -> tuple[str, str]:
    """By name, wherever the format has it, then by content."""
    outer = tool if isinstance(tool, dict) else {}
    inner = outer.get("function")
    name = outer.get("name") or (inner.get("name") if isinstance(inner, dict) else None)
    return str(name or ""), _text(tool)


def _text(plain: Any) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _digest(plain: Any) -> str:
    try:
        return hashlib.sha256(_text(plain).encode()).hexdigest()
    except UnicodeEncodeError:
        raise InvalidInputError("it holds half of a surrogate pair, which is not Unicode text") from None
