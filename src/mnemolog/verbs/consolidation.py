"""One consolidation on demand: select, ask, check, write, look what counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal

from mnemolog.processors.consolidation import Read, assertions, call, extract, news, operations, parts
from mnemolog.processors.reconcile import Add, Delete, Operation, UnmatchedTombstone, Update
from mnemolog.producers.commands import Commands
from mnemolog.producers.consolidation_commands import ConsolidationCommands
from mnemolog.query.models import MemoryItem
from mnemolog.query.queries import Queries
from mnemolog.schemas import events as ev
from mnemolog.schemas.consolidation_events import MAX_READ
from mnemolog.schemas.errors import ExtractionError, InvalidInputError
from mnemolog.schemas.extraction import Extraction, name_of
from mnemolog.schemas.facts import digest_of, timeline_of
from mnemolog.schemas.filters import And, Compare, Node, Span
from mnemolog.schemas.rows import Row
from mnemolog.session import LogSession

NEUTRAL_IMPORTANCE = 0.5
_MADE = ("fact", "summary")


@dataclass(slots=True)
class Consolidated:
    """What a consolidation did.

    `considered` is how many memories were read. `created` are the ids of new facts or summaries,
    `superseded` of facts that others replaced, `retracted` of facts that tombstones ended; `unmatched` are
    the subjects of tombstones with nothing to end. `dropped` are the ids of results that do not count, as
    their sources were forgotten or changed meanwhile; `deleted` are the sources that were forgotten.
    `rejected` says of each item that the extractor could not use why.
    """

    mode: Literal["summary", "facts"]
    considered: int = 0
    created: list[str] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    retracted: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Selected:
    """Which memories to consolidate; see `Consolidating.consolidate`."""

    where: Node
    older_than_seconds: float | None
    max_importance: float | None


def select(queries: Queries, now: datetime, wanted: Selected, *, covered: bool) -> list[MemoryItem]:
    """The memories, oldest first; with `covered` those too that a summary stands for."""
    where = wanted.where
    if wanted.older_than_seconds is not None:
        try:
            moment = now - timedelta(seconds=wanted.older_than_seconds)
        except OverflowError:
            return []
        where = And((where, Compare("occurred_at", "lte", Span(moment, moment), "time")))
    found = queries.table.oldest(where)
    if wanted.max_importance is not None:
        most = wanted.max_importance
        found = [item for item in found if _importance(item) <= most]
    left_out = set() if covered else _stood_for(queries)
    return [item for item in found if not _is_made(item) and item.id not in left_out]


def _importance(item: MemoryItem) -> float:
    return NEUTRAL_IMPORTANCE if item.importance is None else item.importance


def _is_made(item: MemoryItem) -> bool:
    return item.source in _MADE and bool(item.sources)


def _stood_for(queries: Queries) -> set[str]:
    summaries = queries.table.oldest(Compare("source", "eq", "summary", "string"))
    return {source for item in summaries for source in item.sources}


class Consolidation:
    """One consolidation. Each batch of memories is written by itself."""

    def __init__(
        self,
        session: LogSession,
        queries: Queries,
        commands: Commands,
        agent_id: str | None,
        thread_id: str | None,
        importance: float | None,
        delete_sources: bool,
    ) -> None:
        self._session = session
        self._queries = queries
        self._namespace = commands.namespace
        self._commands = ConsolidationCommands(commands, agent_id, thread_id)
        self._importance = importance
        self._delete_sources = delete_sources

    def facts(self, memories: Sequence[MemoryItem], extractor: Any) -> Consolidated:
        """See `Consolidating.consolidate`."""
        result = Consolidated("facts")
        for batch in _batches(memories):
            found = extract(extractor, batch)
            self._write_facts(batch, found, _made_by(extractor, found), result)
        return result

    def _write_facts(
        self, batch: Sequence[MemoryItem], found: Extraction, made_by: ev.MadeBy, result: Consolidated
    ) -> None:
        _count(result, batch, found)
        read = [Read(item.id, item.occurred_at, digest_of(item.text)) for item in batch]
        asserted = assertions(self._namespace, found.facts, read)
        timeline = partial(timeline_of, self._namespace)
        timelines = {timeline(fact.subject) for fact in asserted}
        done = operations(asserted, timeline, self._queries.facts.timelines(timelines))
        new = news(done)
        sources = {one.id: ev.SourceRead(id=one.id, digest=one.digest) for one in read}
        events = []
        for group in parts(new) if new else []:
            named = {source for fact in group for source in fact.sources}
            rests_on = [sources[one.id] for one in read if one.id in named]
            events.append(self._commands.assert_facts(rests_on, group, made_by, self._importance))
        self._append(events)
        rows = self._queries.facts.timelines(timelines)
        _tell(done, {row["id"]: row for row in rows}, result)
        if self._delete_sources:
            standing = [row for row in rows if row["rests_on"]]
            self._let_go(batch, standing, result)

    def summaries(self, memories: Sequence[MemoryItem], summarize: Any) -> Consolidated:
        """See `Consolidating.consolidate`."""
        result = Consolidated("summary")
        for batch in _batches(memories):
            made_by = ev.MadeBy(extractor=name_of(summarize))
            _count(result, batch, None)
            read = [ev.SourceRead(id=item.id, digest=digest_of(item.text)) for item in batch]
            text = call(summarize, batch)
            try:
                event = self._commands.write_summary(text, read, made_by, self._importance)
            except InvalidInputError as error:
                raise ExtractionError(f"{made_by.extractor} gave no summary: {error}") from error
            self._append([event])
            row = self._queries.facts.rows([event.memory_id]).get(event.memory_id)
            if row is None or row["deleted"]:
                result.dropped.append(event.memory_id)
                continue
            result.created.append(event.memory_id)
            if self._delete_sources:
                self._let_go(batch, [row], result)
        return result

    def _append(self, events: Sequence[ev.Envelope]) -> None:
        if events:
            self._session.append(events)
            self._session.settle()

    def _let_go(self, batch: Sequence[MemoryItem], rows: Iterable[Row], result: Consolidated) -> None:
        """Forget the memories that the results rest on by now, those that still say what was read."""
        into = {pk.partition("|")[2]: row["id"] for row in rows for pk in row["rests_on"]}
        digests = {item.id: digest_of(item.text) for item in batch if item.id in into}
        if digests:
            made = dict.fromkeys(into[one] for one in digests)
            self._append([self._commands.let_go(digests, made)])
            left = self._queries.facts.rows(digests)
            result.deleted += [one for one in digests if one in left and left[one]["deleted"]]


def _batches(memories: Sequence[MemoryItem]) -> Iterator[Sequence[MemoryItem]]:
    for start in range(0, len(memories), MAX_READ):
        yield memories[start : start + MAX_READ]


def _made_by(extractor: Any, found: Extraction) -> ev.MadeBy:
    return ev.MadeBy(
        extractor=name_of(extractor),
        model=found.model,
        version=found.version,
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
    )


def _count(result: Consolidated, batch: Sequence[MemoryItem], found: Extraction | None) -> None:
    result.considered += len(batch)
    if found is not None:
        result.rejected += found.rejected
        result.input_tokens += found.input_tokens
        result.output_tokens += found.output_tokens


def _tell(done: Iterable[Operation], rows: dict[str, Row], result: Consolidated) -> None:
    """Say what the operations came to, as the views show it."""
    for one in done:
        if isinstance(one, Add | Update | Delete | UnmatchedTombstone) and one.fact.id not in rows:
            result.dropped.append(one.fact.id)
            continue
        match one:
            case Add():
                result.created.append(one.fact.id)
            case Update():
                result.created.append(one.fact.id)
                result.superseded.append(one.replaces.id)
            case Delete():
                result.retracted.append(one.retracts.id)
            case UnmatchedTombstone():
                result.unmatched.append(one.fact.subject)
