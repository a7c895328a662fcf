"""The reactor of one shard: looks at what changed, decides what must go, and appends it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from mnemolog.processors.embedding import Backoff
from mnemolog.processors.reactors.decisions import Decider, Rules, Seen, rules_of
from mnemolog.processors.reactors.refitter import Refitter, is_home
from mnemolog.processors.reactors.shard_memories import ShardMemories
from mnemolog.processors.threads import in_thread
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.events import MemoryEvicted
from mnemolog.schemas.settings import Settings
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.table import TableState

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock, Log

LOOK_SECONDS = 0.5
"""Between looks: settings are followed, and memories let go, within about a second."""

logger = logging.getLogger(__name__)


class ShardReactor:
    """Watches the namespaces of one shard whose settings bound them.

    What it decides depends on the view and the clock alone, and is carried out by the fold only on what it
    was decided on. So any number may watch one shard, and one that was killed leaves nothing behind. Not safe
    for threads.
    """

    def __init__(self, memories: ShardMemories, log: Log, clock: Clock) -> None:
        self._memories = memories
        self._log = log
        self._clock = clock
        self._settings: tuple[Settings, dict[str, Settings]] = ({}, {})
        self._state: TableState | None = None
        self._next = Seen(0, 0)
        self._due: set[str] = set()
        self._compared: dict[str, Seen] = {}
        self._appended: dict[str, tuple[str, int]] = {}

    def look(self) -> int:
        """Decide for the namespaces that changed; how many memories go.

        Raises:
            MnemologError: a view could not be read, or the log takes nothing; the next look does it again.
        """
        try:
            return self._look()
        except ViewMissingError:
            return 0

    def _look(self) -> int:
        settings = self._memories.settings()
        if settings != self._settings:
            self._settings, self._state, self._next = settings, None, Seen(0, 0)
        if not any(rules_of(settings[0], own).any for own in ({}, *settings[1].values())):
            self._due.clear()
            return 0
        state = self._memories.state(self._state)
        if self._state is None or state.version != self._state.version:
            self._note_changes()
            self._state = state
        return sum(self._decide(name) for name in sorted(self._due))

    def _note_changes(self) -> None:
        offset = self._memories.applied()
        changed, fill = self._memories.changed_since(self._next.offset, self._next.fill)
        self._next = Seen(offset, fill)
        self._due |= {name for name in changed if self._rules(name).any}

    def _rules(self, name: str) -> Rules:
        everywhere, own = self._settings
        return rules_of(everywhere, own.get(name, {}))

    def _decide(self, name: str) -> int:
        event_id, offset = self._appended.get(name, ("", -1))
        if self._memories.applied() <= offset:
            return 0
        events = self._decisions(name)
        if not events or events[-1].event_id == event_id:  # carried out already, or void for good
            self._due.discard(name)
            return 0
        records = [record for event in events for record in encode(event)]
        positions = self._log.append(records)
        last = max(position.offset for position in positions if position.topic == MEMORIES)
        self._appended[name] = (events[-1].event_id, last)
        return sum(len(event.memory_ids) for event in events)

    def _decisions(self, name: str) -> Sequence[MemoryEvicted]:
        """Near duplicates first: what they replace is the first to go over the capacity."""
        rules, seen = self._rules(name), self._next
        decider = Decider(self._memories, name, seen, self._clock())
        if rules.near_duplicate is not None:
            if events := decider.near_duplicates(rules.near_duplicate, self._compared.get(name)):
                return events
            self._compared[name] = seen
        if rules.capacity is None:
            return ()
        return decider.over_capacity(rules.capacity, rules.half_life)


class Reactor(Protocol):
    """Looks at views and appends what it decides."""

    def look(self) -> int:
        """Decide for what changed; how much was decided."""


def open_reactors(views: Views, manifest: Manifest, partition: int, log: Log, clock: Clock) -> list[Reactor]:
    """The reactors of one partition's shard in a generation."""
    reactors: list[Reactor] = [ShardReactor(ShardMemories(views, manifest, partition), log, clock)]
    if is_home(manifest, partition):
        reactors.append(Refitter(views, manifest, log, clock))
    return reactors


class AllReactors:
    """The reactors of every shard of the live generation, for a program that owns them all."""

    def __init__(self, views: Views, log: Log, clock: Clock) -> None:
        self._views = views
        self._log = log
        self._clock = clock
        self._generation = ""
        self._reactors: list[Reactor] = []

    def look(self) -> int:
        """See `Reactor.look`."""
        manifest = self._views.current()
        if manifest.generation != self._generation:
            self._reactors = [
                reactor
                for partition in range(manifest.partitions)
                for reactor in open_reactors(self._views, manifest, partition, self._log, self._clock)
            ]
            self._generation = manifest.generation
        return sum(reactor.look() for reactor in self._reactors)


async def keep_reacting(partition: int, reactor: Reactor) -> None:
    """Look at a shard for ever, beside its stream of events."""
    backoff = Backoff(time.monotonic)
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if not backoff.due:
            continue
        try:
            decided = await in_thread(reactor.look)
            backoff.succeeded()
        except Exception as error:  # noqa: BLE001 what bounds a memory must not stop it
            backoff.failed()
            logger.warning("partition %d: decisions have to wait: %s", partition, error)
        else:
            if decided:
                logger.info("partition %d: %d decided by %s", partition, decided, type(reactor).__name__)
