"""What a session keeps for a while: values by thread and key, which live on while they are used."""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Any

from mnemolog.caches.counting import Counter
from mnemolog.caches.entries import Entries
from mnemolog.caches.lifetimes import Lifetime, Lifetimes
from mnemolog.producers.commands import UNSET, Unset
from mnemolog.producers.context_commands import Address, Whose, check_json, check_name
from mnemolog.producers.receipts import Receipt
from mnemolog.query.contexts import ContextEntry
from mnemolog.schemas.errors import InvalidInputError

RENEWED_AFTER = 0.1
"""The part of its time to live that passes before a read renews a value: fewer events for nearly the same."""

_MAX_REMEMBERED = 4_096


class SessionCache:
    """Values of threads. `thread_id` is the handle's unless a call names another.

    A value's time to live slides: a read that finds it renews it, unless it was given or renewed within the
    last tenth of that time.
    """

    def __init__(self, entries: Entries, counter: Counter, lifetimes: Lifetimes) -> None:
        self._entries = entries
        self._counter = counter
        self._lifetimes = lifetimes
        self._lock = threading.Lock()
        self._renewed: OrderedDict[str, datetime] = OrderedDict()

    def get(self, key: str, default: Any = None, *, thread_id: str | Unset = UNSET) -> Any:
        """What `key` holds, renewed; `default` where it holds nothing, or nothing any more."""
        address = self._address(key, thread_id)
        entry = self._entries.get(address)
        self._counter.checked("session", None, hit=entry is not None)
        if entry is None:
            return default
        self._renew(address, entry)
        return entry.value

    def set(
        self, key: str, value: Any, *, thread_id: str | Unset = UNSET, ttl_seconds: Lifetime = UNSET
    ) -> Receipt:
        """Let `key` hold `value`, any JSON of up to 64 KiB, for `ttl_seconds` after its last use.

        For ever if that is None; as `set_default_ttl` says if it is not given.
        """
        address = self._address(key, thread_id)
        check_json("value", value)
        ttl = self._lifetimes.resolve(ttl_seconds, "session")
        position = self._entries.set(address, value, ttl)
        self._counter.stored("session", None)
        return Receipt(key, position)

    def get_all(self, *, thread_id: str | Unset = UNSET) -> dict[str, Any]:
        """All that a thread's keys hold. Nothing is renewed."""
        return self.scan("", thread_id=thread_id)

    def scan(self, prefix: str, *, thread_id: str | Unset = UNSET) -> dict[str, Any]:
        """What the keys hold that begin with `prefix`. Nothing is renewed."""
        place = ("session", None, self._thread(thread_id))
        return {entry.key: entry.value for entry in self._entries.all(place, prefix)}

    def delete(self, key: str, *, thread_id: str | Unset = UNSET) -> bool:
        """Let `key` hold nothing; whether it held something."""
        return self._entries.delete(self._address(key, thread_id))

    def touch(self, *, thread_id: str | Unset = UNSET) -> int:
        """Renew all that a thread's keys hold, by the time to live of each; how many have one."""
        thread = self._thread(thread_id)
        renewed = 0
        for entry in self._entries.all(("session", None, thread)):
            if entry.ttl_seconds is not None:
                address = Address("session", None, thread, entry.key)
                renewed += self._entries.touch(address, entry.ttl_seconds)
        return renewed

    def destroy_thread(self, thread_id: str) -> int:
        """Delete all that a thread's keys hold here; how many there were. See `Memory.destroy_thread` too."""
        return self._entries.delete_scope("session", thread_id=check_name("thread_id", thread_id))

    def clear(self) -> int:
        """Delete the values of all threads; how many there were."""
        return self._entries.delete_scope("session")

    def set_default_ttl(self, ttl_seconds: float | None) -> None:
        """How long values live after their last use where a call does not say; None is for ever."""
        self._lifetimes.set("tier:session", ttl_seconds)

    def _renew(self, address: Address, entry: ContextEntry) -> None:
        ttl = entry.ttl_seconds
        if ttl is None or entry.expires_at is None:
            return
        now, life = self._entries.now(), timedelta(seconds=ttl)
        with self._lock:
            expires_at = max(entry.expires_at, self._renewed.get(entry.revision, entry.expires_at))
            if expires_at - now > life * (1 - RENEWED_AFTER):
                return
            self._renewed[entry.revision] = now + life
            if len(self._renewed) > _MAX_REMEMBERED:
                self._renewed.popitem(last=False)
        self._entries.renew(address, entry.revision, ttl)

    def _address(self, key: str, thread_id: str | Unset) -> Address:
        return Address("session", None, self._thread(thread_id), key)

    def _thread(self, thread_id: Whose) -> str:
        _, thread = self._entries.commands.whose(None, thread_id)
        if thread is None:
            raise InvalidInputError("thread_id: name a thread, here or when opening", field="thread_id")
        return check_name("thread_id", thread)
