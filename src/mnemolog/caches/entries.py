"""The entries of one namespace: what context and the caches are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, cast

from mnemolog.producers.context_commands import Address, ContextCommands
from mnemolog.query.context_cache import Held, Place
from mnemolog.query.contexts import ContextEntry, ContextQueries
from mnemolog.schemas.context_events import Tier
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.positions import Position
from mnemolog.schemas.topics import CONTEXT
from mnemolog.session import LogSession

_TOPICS = (CONTEXT,)
_BATCH = 1_000


class Entries:
    """Reads and writes entries. Each read waits first until the views show what the session wrote of context.

    Threads may share it.
    """

    def __init__(self, session: LogSession, queries: ContextQueries, commands: ContextCommands) -> None:
        self._session = session
        self.queries = queries
        self.commands = commands

    def now(self) -> datetime:
        """The present, as the handle's clock has it."""
        return self.queries.clock()

    def settle(self, after: Position | str | None = None) -> None:
        """Wait for what was written of context, and for `after`."""
        self._session.settle(after, _TOPICS)

    def get(self, address: Address, after: Position | str | None = None) -> ContextEntry | None:
        """What is there and has not expired."""
        self.settle(after)
        return self.queries.find(address.place, address.key)

    def all(self, place: Place, prefix: str = "") -> list[ContextEntry]:
        """All that a place holds under keys that begin with `prefix`."""
        self.settle()
        return self.queries.entries(place, prefix)

    def set(
        self, address: Address, value: Any, ttl_seconds: float | None = None, origin: str | None = None
    ) -> Position:
        """Put a value there, for so long."""
        return self._session.append([self.commands.set(address, value, ttl_seconds, origin)])[0]

    def touch(self, address: Address, ttl_seconds: float | None) -> bool:
        """Let what is there expire after so long from now, or never; whether anything is there."""
        self.commands.expiry(ttl_seconds)
        entry = self.get(address)
        if entry is not None:
            self._session.append([self.commands.touch(address, entry.revision, ttl_seconds)])
        return entry is not None

    def renew(self, address: Address, revision: str, ttl_seconds: float) -> None:
        """Let the value that `revision` gave live so long from now; no read waits until the views show it."""
        self.append_aside(self.commands.touch(address, revision, ttl_seconds))

    def append_aside(self, event: Envelope) -> Position:
        """Append an event that later reads need not wait for."""
        return self._session.append_aside(event)

    def wait(self, position: Position) -> None:
        """Wait until the views show `position`."""
        self._session.settle(position, ())

    def delete(self, address: Address) -> bool:
        """Delete what is there, if anything; whether there was."""
        held = self.get(address) is not None
        self.remove(address)
        return held

    def remove(self, address: Address) -> Position:
        """Delete what is there, if anything."""
        return self._session.append([self.commands.delete(address)])[0]

    def delete_many(self, addresses: Iterable[Address]) -> int:
        """Delete what is at each of these, in as few appends as can be; at how many there was something."""
        wanted = dict.fromkeys(addresses)
        self.settle()
        held = sum(self.queries.find(address.place, address.key) is not None for address in wanted)
        for batch in _batches(self.commands.delete(address) for address in wanted):
            self._session.append(batch)
        return held

    def delete_scope(
        self,
        *tiers: Tier,
        agent_id: str | None = None,
        thread_id: str | None = None,
        origin: str | None = None,
    ) -> int:
        """Delete all of some tiers: of one agent, thread or origin where named; how many entries there were.

        Each of them is deleted by its key too, so that compaction takes its content out of the log. The scope
        comes last: what others write in the meantime is deleted with the rest, and nothing after it is.
        """
        scope = self.commands.delete_scope(*tiers, agent_id=agent_id, thread_id=thread_id, origin=origin)
        self.settle()
        found = self.queries.keys(tiers, agent_id, thread_id, origin)
        deletions = (self.commands.delete(_address(held)) for held in found)
        for batch in _batches(deletions):
            self._session.append(batch)
        self._session.append([scope])
        return len(found)


def _address(held: Held) -> Address:
    return Address(cast("Tier", held.tier), held.agent_id, held.thread_id, held.key)


def _batches(events: Iterator[Envelope]) -> Iterator[Sequence[Envelope]]:
    while batch := list(islice(events, _BATCH)):
        yield batch
