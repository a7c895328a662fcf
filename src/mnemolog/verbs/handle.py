"""What every verb needs: the way to the log, the queries, and the maker of events."""

from __future__ import annotations

from collections.abc import Sequence

from mnemolog.past import Past
from mnemolog.producers.commands import Commands
from mnemolog.query.models import MemoryItem
from mnemolog.query.queries import Queries
from mnemolog.schemas import events as ev
from mnemolog.schemas.details import Structured
from mnemolog.schemas.errors import NotFoundError
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.moments import Moment
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.positions import Position
from mnemolog.session import LogSession


class Handle:
    """One namespace of a log and its views. Threads may share it."""

    def __init__(self, session: LogSession, queries: Queries, commands: Commands) -> None:
        self._session = session
        self._queries = queries
        self._commands = commands

    @property
    def namespace(self) -> Namespace:
        """The namespace that this handle reads and writes."""
        return self._commands.namespace

    def _past(self, moment: Moment, after: Position | str | None = None, field: str = "as_of") -> Past:
        """What to ask about a moment; the live views have applied it where they are what is asked."""
        self._session.settle(after)
        past = self._session.past().at(self._queries, self.namespace, moment, field)
        if past.as_of.source == "live" and past.as_of.position is not None:
            self._session.settle(past.as_of.position)
        return past

    def _check_references(self, events: Sequence[Envelope]) -> None:
        """Refuse events that name memories which are neither in the namespace nor made by these events.

        Raises:
            NotFoundError: there is no such memory; `field` names the argument.
        """
        made = {event.memory_id for event in events if isinstance(event, ev.MemoryRemembered)}
        named = [name for event in events for name in references(event) if name[1] not in made]
        if named:
            self._session.settle()
        for field, memory_id in named:
            if self._queries.get(memory_id) is None:
                raise NotFoundError(
                    f"{field}: no memory {memory_id!r} in namespace {self.namespace!r}", field=field
                )

    def _require(self, memory_id: str) -> MemoryItem:
        self._session.settle()
        return self._queries.require(memory_id)


def references(event: Envelope) -> list[tuple[str, str]]:
    """The memories that must be there for an event to make sense: (argument that names it, id)."""
    match event:
        case ev.MemoryRemembered():
            return [("sources", source) for source in event.sources] + _in_detail(event.detail)
        case ev.MemoryUpdated():
            return _in_detail(event.changes.get("detail"))
        case ev.MemoriesLinked():
            return [("id", event.memory_id), ("target", event.target_id)]
        case ev.MemoriesUnlinked():
            return [("id", event.memory_id)]
    return []


def _in_detail(detail: Structured | None) -> list[tuple[str, str]]:
    episode = getattr(detail, "source_episode", None)
    return [] if episode is None else [("source_episode_id", episode)]
