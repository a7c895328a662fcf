"""What every verb needs: the way to the log, the queries, and the maker of events."""

from __future__ import annotations

from mnemolog.producers.commands import Commands
from mnemolog.query.models import MemoryItem
from mnemolog.query.queries import Queries
from mnemolog.schemas.namespaces import Namespace
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

    def _require(self, memory_id: str) -> MemoryItem:
        self._session.settle()
        return self._queries.require(memory_id)
