"""Many memories become few true statements: facts and summaries."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from mnemolog.query.facts import FactItem
from mnemolog.schemas.checks import check_bool, check_finite
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.extraction import Extractor, Summarizer
from mnemolog.schemas.filters import Filter
from mnemolog.schemas.moments import Moment
from mnemolog.schemas.positions import Position
from mnemolog.schemas.scope import TagsMode, scope_node, selects_everything
from mnemolog.verbs.consolidation import Consolidated, Consolidation, Selected, select
from mnemolog.verbs.handle import Handle

Mode = Literal["summary", "facts"]
Facts: TypeAlias = list[FactItem]
DEFAULT_IMPORTANCE = 0.7


class Consolidating(Handle):
    """The verbs that consolidate, and read what came of it."""

    def consolidate(
        self,
        *,
        mode: Mode | None = None,
        summarize: Summarizer | None = None,
        extract_facts: Extractor | None = None,
        older_than_seconds: float | None = None,
        max_importance: float | None = None,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_mode: TagsMode = "all",
        agent_id: str | None = None,
        thread_id: str | None = None,
        filters: Filter | None = None,
        delete_sources: bool = False,
        importance: float | None = DEFAULT_IMPORTANCE,
        after: Position | str | None = None,
    ) -> Consolidated:
        """Let a function make facts or a summary of the memories that are selected.

        `extract_facts` gets them, oldest first, and returns `mnemolog.Fact`s; `summarize` returns a text.
        Each is called with up to 1,000 memories at a time, and not at all if none are selected. Every
        selector that is given must hold, and at least one must be: `older_than_seconds` (since they
        happened), `max_importance` (none given counts as 0.5), kinds, tags, agent, thread, filters.
        Superseded memories, facts and summaries are never selected, nor for a summary what one stands for
        already.

        Facts go into the timeline of their subject: the newest date holds, the others stay as history, and
        the same facts again change nothing; see `mnemolog.Fact`. What rests only on memories that were
        forgotten or changed while the function ran does not count, and is in `dropped`.

        With `delete_sources` the memories that the results rest on are forgotten once these are in the log.
        `importance` is that of the results.

        Raises:
            InvalidInputError: no selector, no function, both of them without a `mode`, or a bad argument.
            ExtractionError: the function failed, or returned something else; of its batch nothing was
                written, and no memory was forgotten. `ExtractorUnavailableError`: it may work later.
        """
        chosen = _mode(mode, summarize, extract_facts)
        selected = Selected(
            scope_node(
                filters=filters,
                kinds=kinds,
                tags=tags,
                tags_mode=tags_mode,
                agent_id=agent_id,
                thread_id=thread_id,
            ),
            _at_least_0("older_than_seconds", older_than_seconds),
            _at_least_0("max_importance", max_importance),
        )
        if selects_everything(selected.where) and older_than_seconds is None and max_importance is None:
            raise InvalidInputError(
                "say which memories: older_than_seconds, max_importance, kinds, tags, agent_id, thread_id or "
                "filters",
                field="filters",
            )
        check_bool("delete_sources", delete_sources)
        if importance is not None and not 0 <= _number("importance", importance) <= 1:
            raise InvalidInputError(f"importance is from 0 to 1, not {importance!r}", field="importance")
        self._session.settle(after)
        memories = select(self._queries, self._commands.clock(), selected, covered=chosen == "facts")
        run = Consolidation(
            self._session, self._queries, self._commands, agent_id, thread_id, importance, delete_sources
        )
        if chosen == "facts":
            return run.facts(memories, extract_facts)
        return run.summaries(memories, summarize)

    def facts(
        self,
        subject: str | None = None,
        *,
        as_of: datetime | None = None,
        known_at: Moment | None = None,
        after: Position | str | None = None,
    ) -> Facts:
        """The statements about `subject`, however it is spelled, or about all, in the order of the alphabet.

        Of each subject the newest comes first, then the past ones, each with its period, its sources and the
        confidence in it.
        `as_of` leaves what held in the world at that time. `known_at` asks what was known at a moment of the
        log, as `as_of` does in `recall`.
        """
        if known_at is not None:
            past = self._past(known_at, after, "known_at")
            return past.queries.facts.facts(subject, as_of)
        self._session.settle(after)
        return self._queries.facts.facts(subject, as_of)


def _mode(mode: object, summarize: object, extract_facts: object) -> Mode:
    known = get_args(Mode)
    if mode is not None and mode not in known:
        raise InvalidInputError(f"mode is one of {', '.join(known)}, not {mode!r:.80}", field="mode")
    given: builtins.list[Mode] = []
    if summarize is not None:
        given.append("summary")
    if extract_facts is not None:
        given.append("facts")
    if mode is None and len(given) != 1:
        raise InvalidInputError("give summarize or extract_facts; with both, say which mode", field="mode")
    chosen: Mode = given[0] if mode is None else mode  # type: ignore[assignment]
    name, function = ("extract_facts", extract_facts) if chosen == "facts" else ("summarize", summarize)
    if not callable(function):
        raise InvalidInputError(f"{name} is a function of memories, not {function!r:.80}", field=name)
    return chosen


def _at_least_0(field: str, value: float | None) -> float | None:
    if value is not None and _number(field, value) < 0:
        raise InvalidInputError(f"{field} is at least 0, not {value!r}", field=field)
    return value


def _number(field: str, value: float) -> float:
    check_finite(field, value)
    return value
