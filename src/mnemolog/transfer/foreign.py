"""What other memories exported, as the lines that `ingest` loads. Pure, but for reading the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from mnemolog.schemas.details import Triple, render
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.namespaces import Namespace

Foreign: TypeAlias = Literal["mem0", "langgraph", "mcp"]
FOREIGN: tuple[str, ...] = get_args(Foreign)

_TEXTS = ("text", "content", "memory", "data")
_MEM0_KNOWN = frozenset(
    {*_TEXTS, "id", "user_id", "agent_id", "run_id", "actor_id", "metadata", "categories", "created_at",
     "expiration_date", "hash", "score"}
)  # fmt: skip

Fields = dict[str, Any]


def foreign_lines(source: str, file: Path, base: Namespace) -> Iterator[Fields]:
    """The memories of a file, as fields of `write_jsonl`, in namespaces below `base`.

    mem0: what `get_all` or an export gives, `{"results": […]}`, a list, or JSON lines; a user's memories go
    to the namespace of that name. langgraph: store items as `{"namespace", "key", "value", …}`, a list or
    lines. mcp: the memory server's JSON lines; an observation is a memory, a relation a fact.

    Raises:
        InvalidInputError: the file can't be read, or is not of that kind.
    """
    convert: dict[str, Callable[[Mapping[str, Any], Namespace], Iterator[Fields]]] = {
        "mem0": _mem0,
        "langgraph": _langgraph,
        "mcp": _mcp,
    }
    if source not in convert:
        raise InvalidInputError(f"from is one of {', '.join(FOREIGN)}, not {source!r:.80}", field="from")
    for number, document in enumerate(_documents(file), 1):
        try:
            yield from convert[source](_as_object(document), base)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise InvalidInputError(f"entry {number} is not of {source}: {reason}", field="file") from error


def _as_object(document: object) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise TypeError("it is no JSON object")
    return document


def _documents(file: Path) -> Iterator[Any]:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} can't be read: {error}", field="file") from error
    try:
        whole = json.loads(text)
    except ValueError:
        yield from _lines(text)
        return
    if isinstance(whole, dict):
        lists = [
            whole[name] for name in ("results", "memories", "items") if isinstance(whole.get(name), list)
        ]
        whole = lists[0] if lists else [whole]
    yield from whole if isinstance(whole, list) else [whole]


def _lines(text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InvalidInputError(f"line {number} is not JSON: {error}", field="file") from error


def _mem0(entry: Mapping[str, Any], base: Namespace) -> Iterator[Fields]:
    text = next((entry[name] for name in _TEXTS if isinstance(entry.get(name), str)), None)
    if text is None:
        raise ValueError("it has no memory")
    user = entry.get("user_id")
    rest = {name: value for name, value in entry.items() if name not in _MEM0_KNOWN and value is not None}
    yield {
        "text": text,
        "id": entry.get("id"),
        "namespace": [*base, *([str(user)] if user else [])],
        "agent_id": entry.get("agent_id"),
        "thread_id": entry.get("run_id"),
        "author": entry.get("actor_id"),
        "tags": list(entry.get("categories") or ()),
        "metadata": rest | dict(entry.get("metadata") or {}),
        "occurred_at": entry.get("created_at"),
        "expires_at": entry.get("expiration_date"),
        "source": "mem0",
    }


def _langgraph(item: Mapping[str, Any], base: Namespace) -> Iterator[Fields]:
    value, parts = item["value"], item["namespace"]
    if not isinstance(value, dict) or not isinstance(parts, list):
        raise TypeError("its value is an object, and its namespace a list of strings")
    name = next((name for name in _TEXTS if isinstance(value.get(name), str) and value[name].strip()), None)
    yield {
        "text": json.dumps(value, ensure_ascii=False) if name is None else value[name],
        "id": str(item["key"]),
        "namespace": [*base, *parts],
        "metadata": {field: one for field, one in value.items() if field != name},
        "occurred_at": item.get("created_at"),
        "source": "langgraph",
    }


def _mcp(entry: Mapping[str, Any], base: Namespace) -> Iterator[Fields]:
    namespace = list(base)
    if entry["type"] == "relation":
        triple = Triple(subject=entry["from"], predicate=entry["relationType"], object=entry["to"])
        detail = triple.model_dump(mode="json", exclude_none=True)
        yield {
            "text": render(triple),
            "kind": "fact",
            "detail": detail,
            "namespace": namespace,
            "source": "mcp",
        }
    elif entry["type"] == "entity":
        name, kind = str(entry["name"]), str(entry["entityType"])
        about = {"namespace": namespace, "tags": [kind], "metadata": {"entity": name}, "source": "mcp"}
        texts = [f"{name}: {one}" for one in entry["observations"]] or [f"{name} ({kind})"]
        yield from ({"text": text, "kind": "observation", **about} for text in texts)
    else:
        raise ValueError(f"its type is neither entity nor relation: {entry['type']!r:.80}")
