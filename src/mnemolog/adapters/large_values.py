"""Values of any size in context entries: one that does not fit into an entry is cut into parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mnemolog.producers.expiry import expiry_after
from mnemolog.schemas.context_events import check_value
from mnemolog.schemas.errors import InvalidInputError, ViewError

if TYPE_CHECKING:
    from mnemolog.memory import Memory
    from mnemolog.query.contexts import ContextEntry

PART_BYTES = 60_000
"""What a part holds: it fits into an entry, with room for what stands around it."""

_PAGE, _PAGE_BACK = 10_000, 50
_PARTS = "part/"
_SOME_TIME = datetime(2025, 1, 1, tzinfo=UTC)


class LargeValues:
    """JSON values by key in the context of one agent's name, by thread. Threads may share it.

    A value that is too large for an entry is cut, as text, into parts that are written before the entry that
    names them: whoever sees the entry sees all of it, and a writer that is killed halfway has written
    nothing. Keys of values must not begin with `part/`. None as `thread_id` is a place of its own.
    """

    def __init__(self, memory: Memory, agent_id: str, ttl_seconds: float | None) -> None:
        if ttl_seconds is not None:
            check_ttl(ttl_seconds)
        self._memory = memory
        self._agent_id = agent_id
        self._ttl_seconds = ttl_seconds

    def set(self, thread_id: str | None, key: str, value: Any) -> None:
        """Let `key` hold `value`. Returns once that is durable.

        Raises:
            InvalidInputError: it is not JSON.
        """
        text = _text(value)
        if _fits(value):
            self._set(thread_id, key, {"value": value})
            return
        digest = hashlib.sha256(text.encode()).hexdigest()
        name = _name_of_parts(key, digest)
        cuts = range(0, len(text), PART_BYTES)
        for at, start in enumerate(cuts):
            self._set(thread_id, f"{name}{at:08}", text[start : start + PART_BYTES])
        self._set(thread_id, key, {"parts": len(cuts), "sha256": digest})

    def get(self, thread_id: str | None, key: str) -> Any:
        """What `key` holds, or None."""
        held = self._memory.get_context(key, agent_id=self._agent_id, thread_id=thread_id)
        return None if held is None else self._whole(thread_id, key, held)

    def last(self, thread_id: str | None, prefix: str) -> tuple[str, Any] | None:
        """The last of the keys that begin with `prefix`, and what it holds."""
        return next(self.scan_back(thread_id, prefix), None)

    def scan(self, thread_id: str | None, prefix: str) -> Iterator[tuple[str, Any]]:
        """The keys that begin with `prefix`, by key, and what they hold."""
        for entry in self._entries(thread_id, prefix):
            value = self._whole(thread_id, entry.key, entry.value)
            if value is not None:
                yield entry.key, value

    def scan_back(self, thread_id: str | None, prefix: str) -> Iterator[tuple[str, Any]]:
        """What `scan` gives from the last key to the first, read as it is asked for.

        What is deleted meanwhile moves others towards the beginning: a key may be seen again, none is missed.
        """
        end, seen = self._page(thread_id, prefix, 0, 0)[1], None
        while end:
            start = max(0, end - _PAGE_BACK)
            for entry in reversed(self._page(thread_id, prefix, end - start, start)[0]):
                if seen is not None and entry.key >= seen:
                    continue
                seen = entry.key
                value = self._whole(thread_id, entry.key, entry.value)
                if value is not None:
                    yield entry.key, value
            end = start

    def delete(self, thread_id: str | None, keys: Iterable[str]) -> None:
        """Let the keys hold nothing; their parts go after them."""
        keys = list(keys)
        parts: list[str] = []
        for key in keys:
            held = self._memory.get_context(key, agent_id=self._agent_id, thread_id=thread_id)
            parts += _parts_of(key, held)
        where = {"agent_id": self._agent_id, "thread_id": thread_id}
        self._memory.delete_context_many([*keys, *parts], **where)

    def replace(self, thread_id: str | None, key: str, value: Any) -> None:
        """Let `key` hold a value in place of a different one, whose parts go after it."""
        held = self._memory.get_context(key, agent_id=self._agent_id, thread_id=thread_id)
        self.set(thread_id, key, value)
        if parts := _parts_of(key, held):
            self._memory.delete_context_many(parts, agent_id=self._agent_id, thread_id=thread_id)

    def delete_thread(self, thread_id: str) -> None:
        """Let all keys of a thread hold nothing."""
        self._memory.destroy_thread(thread_id, agent_id=self._agent_id)

    def _entries(self, thread_id: str | None, prefix: str) -> list[ContextEntry]:
        found: list[ContextEntry] = []
        while True:
            page, total = self._page(thread_id, prefix, _PAGE, len(found))
            found += page
            if not page or len(found) >= total:
                return found

    def _page(
        self, thread_id: str | None, prefix: str, limit: int, offset: int
    ) -> tuple[list[ContextEntry], int]:
        page = self._memory.list_context(
            prefix, agent_id=self._agent_id, thread_id=thread_id, limit=limit, offset=offset
        )
        return page.items, page.total

    def _set(self, thread_id: str | None, key: str, value: Any) -> None:
        self._memory.set_context(
            key, value, agent_id=self._agent_id, thread_id=thread_id, ttl_seconds=self._ttl_seconds
        )

    def _whole(self, thread_id: str | None, key: str, held: Any) -> Any:
        """What an entry holds; None where parts of it are gone, as it is being deleted or has expired."""
        if "value" in held:
            return held["value"]
        parts = [
            self._memory.get_context(name, agent_id=self._agent_id, thread_id=thread_id)
            for name in _parts_of(key, held)
        ]
        if any(part is None for part in parts):
            return None
        text = "".join(parts)
        if hashlib.sha256(text.encode()).hexdigest() != held["sha256"]:
            raise ViewError(f"{key}: its parts are not those that were written; does this handle redact?")
        return json.loads(text)


def check_ttl(ttl_seconds: float) -> None:
    """Refuse what is no time to live, before anything is asked to live so long."""
    expiry_after(_SOME_TIME, ttl_seconds)


def _text(value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"it can't be kept as JSON: {error}", field="value") from error


def _fits(value: Any) -> bool:
    try:
        check_value({"value": value})
    except ValueError:
        return False
    return True


def _name_of_parts(key: str, digest: str) -> str:
    of = hashlib.sha256(f"{key}\n{digest}".encode()).hexdigest()
    return f"{_PARTS}{of}/"


def _parts_of(key: str, held: Any) -> list[str]:
    if not isinstance(held, dict) or "parts" not in held:
        return []
    name = _name_of_parts(key, held["sha256"])
    return [f"{name}{at:08}" for at in range(held["parts"])]
