"""Items of a LangGraph store as memories, and back: a value comes back equal, and is found by its text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mnemolog.query.models import MemoryItem
from mnemolog.schemas.checks import check_string
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.fields import MAX_METADATA_DEPTH, MAX_TAGS, check_identifier

MARK = "langgraph"
"""Under this name the metadata of a memory says that it is an item, and which; under `VALUE` is its value."""
VALUE = "value"

_TEXTS = ("text", "content", "memory", "data")
_MAX_ID = 256
_HASHED = "sha256-"
_MAX_CHARS = 16_384  # of four bytes at most, so that a text is never too long to be remembered
_UNINDEXED = "(not indexed)"


@dataclass(frozen=True, slots=True)
class Stored:
    """An item as it was put: `value` is its own copy; `ttl` is in minutes."""

    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl: float | None


def id_of(key: str) -> str:
    """The memory's id of a key: the key itself where it can be one, else a hash of it.

    Raises:
        InvalidInputError: it is no string.
    """
    check_string("key", key)
    try:
        if 0 < len(key) <= _MAX_ID and not key.startswith(_HASHED):
            return check_identifier(key)
    except ValueError:
        pass
    return _HASHED + hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def fields_of(
    key: str,
    value: Mapping[str, Any],
    texts: Callable[[dict[str, Any]], Sequence[str]],
    ttl: float | None,
    now: datetime,
    kind: str,
) -> dict[str, Any]:
    """The arguments of `remember` for an item. It is found by what `texts` takes from it, if anything.

    `kind`, `importance` and `tags` of the value are those of the memory, where they can be.

    Raises:
        InvalidInputError: the value is no JSON object.
    """
    whole, json_text = _as_json(value)
    shallow = _shallow(whole, 2)
    text = "\n".join(texts(whole))[:_MAX_CHARS]
    mark: dict[str, Any] = {"key": key, "put_at": now.isoformat(), "indexed": bool(text.strip())}
    mark |= {} if shallow == whole else {"json": json_text}
    mark |= {} if ttl is None else {"ttl": ttl}
    return {
        "id": id_of(key),
        "text": text if text.strip() else _UNINDEXED,
        "metadata": {MARK: mark, VALUE: shallow},
        "ttl_seconds": None if ttl is None else ttl * 60,
        "occurred_at": now,
        "source": MARK,
        **_hints(whole, kind),
    }


def default_text(value: Mapping[str, Any]) -> list[str]:
    """The text of a value that says no fields: what is usually called so, else all of it as JSON."""
    for name in _TEXTS:
        if isinstance(value.get(name), str) and value[name].strip():
            return [value[name]]
    return [json.dumps(value, ensure_ascii=False)] if value else []


def item_of(memory: MemoryItem) -> Stored | None:
    """The item that a memory is; None if it is none: others may write there, and by other ways."""
    try:
        mark = memory.metadata[MARK]
        key, put_at, whole, ttl = mark["key"], mark["put_at"], mark.get("json"), mark.get("ttl")
        value = memory.metadata[VALUE] if whole is None else json.loads(whole)
        at = datetime.fromisoformat(put_at)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    told = isinstance(value, dict) and at.tzinfo is not None
    return Stored(key, value, memory.occurred_at, at, ttl) if told and _is_item(memory, key, ttl) else None


def _is_item(memory: MemoryItem, key: object, ttl: object) -> bool:
    timed = ttl is None or (isinstance(ttl, int | float) and ttl > 0)
    return isinstance(key, str) and id_of(key) == memory.id and timed


def _as_json(value: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """A copy of the value, and its JSON text."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"value is a dict, not {value!r:.80}", field="value")
    try:
        whole: dict[str, Any] = _copied(value)
        return whole, json.dumps(whole, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"value is not JSON: {error}", field="value") from error


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("a name in it is no string")
        return {name: _copied(one) for name, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list | tuple) else value


def _shallow(value: Any, depth: int) -> Any:
    """The value as far down as metadata may nest."""
    if isinstance(value, dict):
        return {} if depth == MAX_METADATA_DEPTH else {k: _shallow(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [] if depth == MAX_METADATA_DEPTH else [_shallow(v, depth + 1) for v in value]
    return value


def _hints(value: Mapping[str, Any], kind: str) -> dict[str, Any]:
    importance, tags = value.get("importance"), value.get("tags")
    number = isinstance(importance, int | float) and not isinstance(importance, bool)
    return {
        "kind": value["kind"] if _names(value.get("kind")) else kind,
        "importance": importance if number and 0 <= importance <= 1 else None,  # type: ignore[operator]
        "tags": tags if isinstance(tags, list) and len(tags) <= MAX_TAGS and all(map(_names, tags)) else (),
    }


def _names(value: object) -> bool:
    """Whether it can be a kind or a tag."""
    return isinstance(value, str) and 0 < len(value) <= _MAX_ID and id_of(value) == value
