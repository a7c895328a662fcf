"""Context: what an agent keeps in mind under a key, in a thread or for itself, for a while or for good."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from mnemolog.caches.caches import Caches
from mnemolog.caches.entries import Entries
from mnemolog.producers.commands import UNSET
from mnemolog.producers.context_commands import Address, ContextCommands, Whose, check_name
from mnemolog.producers.receipts import Receipt
from mnemolog.query.contexts import ContextPage
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.positions import Position
from mnemolog.verbs.handle import Handle


class Context(Handle):
    """The verbs of context, and the caches beside them.

    An entry belongs to an agent and a thread: the handle's, unless the call names others; None stands for no
    one in particular, which is a place of its own. Reads show what this handle wrote before.
    """

    @cached_property
    def _entries(self) -> Entries:
        return Entries(self._session, self._queries.contexts, ContextCommands(self._commands))

    @cached_property
    def _caches(self) -> Caches:
        return Caches(self._entries, self._commands.new_id())

    @property
    def cache(self) -> Caches:
        """The short-term caches of the namespace: `cache.llm`, `cache.tool` and `cache.session`."""
        return self._caches

    def set_context(
        self,
        key: str,
        value: Any,
        *,
        agent_id: Whose = UNSET,
        thread_id: Whose = UNSET,
        ttl_seconds: float | None = None,
    ) -> Receipt:
        """Let `key` hold `value`, which is JSON of up to 64 KiB, in place of any that it held.

        It expires after `ttl_seconds`; never without. The last of several writers wins, in the log's order.
        """
        address = self._address(key, agent_id, thread_id)
        return Receipt(key, self._entries.set(address, value, ttl_seconds))

    def get_context(
        self,
        key: str,
        default: Any = None,
        *,
        agent_id: Whose = UNSET,
        thread_id: Whose = UNSET,
        after: Position | str | None = None,
    ) -> Any:
        """What `key` holds, a copy of its own; `default` where it holds nothing, or nothing any more."""
        entry = self._entries.get(self._address(key, agent_id, thread_id), after)
        return default if entry is None else entry.value

    def list_context(
        self,
        prefix: str | None = None,
        contains: str | None = None,
        *,
        agent_id: Whose = UNSET,
        thread_id: Whose = UNSET,
        limit: int = 100,
        offset: int = 0,
        after: Position | str | None = None,
    ) -> ContextPage:
        """The entries whose keys begin with `prefix` and whose key or value holds `contains`, by key.

        `contains` is a plain substring, in upper or lower case; a value that is no string counts as its JSON.
        """
        agent, thread = self._whose(agent_id, thread_id)
        self._entries.settle(after)
        return self._entries.queries.page(("context", agent, thread), prefix, contains, limit, offset)

    def delete_context(self, key: str, *, agent_id: Whose = UNSET, thread_id: Whose = UNSET) -> bool:
        """Let `key` hold nothing; whether it held something."""
        return self._entries.delete(self._address(key, agent_id, thread_id))

    def delete_context_many(
        self, keys: Iterable[str], *, agent_id: Whose = UNSET, thread_id: Whose = UNSET
    ) -> int:
        """Let each of `keys` hold nothing, at little more than the cost of one; how many held something."""
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise InvalidInputError(f"keys are a list of strings, not {keys!r:.80}", field="keys")
        whose = self._whose(agent_id, thread_id)
        return self._entries.delete_many([Address("context", *whose, key) for key in keys])

    def touch_context(
        self,
        key: str,
        ttl_seconds: float | None,
        *,
        agent_id: Whose = UNSET,
        thread_id: Whose = UNSET,
    ) -> bool:
        """Let what `key` holds expire after so long from now, never if None; whether it holds anything."""
        return self._entries.touch(self._address(key, agent_id, thread_id), ttl_seconds)

    def destroy_thread(self, thread_id: str, *, agent_id: str | None = None) -> int:
        """Delete all context and session entries of a thread, of one agent if named; how many there were.

        What another handle writes there while this runs is deleted too if it comes first in the log.
        """
        check_name("thread_id", thread_id)
        return self._entries.delete_scope("context", "session", thread_id=thread_id, agent_id=agent_id)

    def _address(self, key: str, agent_id: Whose, thread_id: Whose) -> Address:
        return Address("context", *self._whose(agent_id, thread_id), key)

    def _whose(self, agent_id: Whose, thread_id: Whose) -> tuple[str | None, str | None]:
        agent, thread = self._entries.commands.whose(agent_id, thread_id)
        for name, value in (("agent_id", agent), ("thread_id", thread)):
            if value is not None:
                check_name(name, value)
        return agent, thread

    def _close_caches(self) -> None:
        """Append what was counted, if anything was."""
        if "_caches" in vars(self):
            self._caches.close()
