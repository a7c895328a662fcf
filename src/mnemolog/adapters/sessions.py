"""A list of items that grows at its end, in context entries: the history of a conversation."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import uuid_utils

from mnemolog.adapters.large_values import LargeValues

if TYPE_CHECKING:
    from mnemolog.memory import Memory

_ADDED = "added/"


class SessionItems:
    """JSON items in the order in which they were added. Threads may share it.

    What is added at once is one value, so it is there in full or not at all. Keys are UUIDv7: of two programs
    that add at the same time, the order is their clocks'.
    """

    def __init__(
        self, memory: Memory, agent_id: str, session_id: str, ttl_seconds: float | None = None
    ) -> None:
        self._values = LargeValues(memory, agent_id, ttl_seconds)
        self._session_id = session_id
        self._lock = threading.Lock()

    def add(self, items: Sequence[Any]) -> None:
        """Add items at the end."""
        if items:
            self._values.set(self._session_id, f"{_ADDED}{uuid_utils.uuid7()}", list(items))

    def last(self, limit: int | None) -> list[Any]:
        """The last `limit` items, all if that is None, the oldest first."""
        if limit is None:
            return [one for _, added in self._values.scan(self._session_id, _ADDED) for one in added]
        found: list[Any] = []
        for _, added in self._values.scan_back(self._session_id, _ADDED):
            if len(found) >= limit:
                break
            found = [*added, *found]
        return found[-limit:] if limit > 0 else []

    def pop(self) -> Any:
        """Take the last item away; None where there is none."""
        with self._lock:
            last = self._values.last(self._session_id, _ADDED)
            if last is None:
                return None
            key, added = last
            if len(added) == 1:
                self._values.delete(self._session_id, [key])
            else:
                self._values.replace(self._session_id, key, added[:-1])
            return added[-1]

    def clear(self) -> None:
        """Take all items away."""
        self._values.delete_thread(self._session_id)
