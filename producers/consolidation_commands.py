"""From the result of a consolidation to the events it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mnemolog.producers.building import build_event
from mnemolog.producers.commands import Commands
from mnemolog.schemas import events as ev
from mnemolog.schemas.ids import derived_id
from mnemolog.schemas.namespaces import encode_namespace


class ConsolidationCommands:
    """Makes the events of consolidations in one namespace; see `Commands`.

    `agent_id` and `thread_id` are those that the results belong to, if they are of one alone.
    """

    def __init__(self, commands: Commands, agent_id: str | None = None, thread_id: str | None = None) -> None:
        self._commands = commands
        self._whose = {"agent_id": agent_id, "thread_id": thread_id}

    def assert_facts(
        self,
        read: Sequence[ev.SourceRead],
        facts: Sequence[ev.FactFound],
        made_by: ev.MadeBy,
        importance: float | None,
    ) -> ev.FactsAsserted:
        """Facts were found in memories."""
        return build_event(
            ev.FactsAsserted,
            **self._envelope(),
            read=read,
            facts=facts,
            made_by=made_by,
            importance=importance,
        )

    def write_summary(
        self, text: str, read: Sequence[ev.SourceRead], made_by: ev.MadeBy, importance: float | None
    ) -> ev.SummaryWritten:
        """Memories were summed up. The summary of the same memories is the same one."""
        content = sorted([one.id, one.digest] for one in read)
        return build_event(
            ev.SummaryWritten,
            **self._envelope(),
            memory_id=derived_id("summary", encode_namespace(self._commands.namespace), content),
            text=text,
            read=read,
            made_by=made_by,
            importance=importance,
        )

    def let_go(self, digests: Mapping[str, str], into: Iterable[str]) -> ev.MemoryForgotten:
        """Memories (id → digest of the text that was read) are forgotten for what was made of them."""
        made = ", ".join(into)
        return build_event(
            ev.MemoryForgotten,
            **self._envelope(),
            memory_ids=tuple(digests),
            consolidated=dict(digests),
            reason=f"consolidated into {made}"[:2_000],
        )

    def _envelope(self) -> dict[str, object]:
        return {
            "event_id": self._commands.new_id(),
            "namespace": self._commands.namespace,
            "occurred_at": self._commands.clock(),
            **self._whose,
        }
