"""Recall, and feedback on what it showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypedDict, Unpack, overload

from mnemolog.query.context_hits import KIND as CONTEXT_KIND
from mnemolog.query.context_hits import context_hits
from mnemolog.query.models import Hits
from mnemolog.query.queries import Asked
from mnemolog.schemas.filters import Filter
from mnemolog.schemas.positions import Position
from mnemolog.schemas.scope import TagsMode
from mnemolog.verbs.learning import Learning


class RecallOptions(TypedDict, total=False):
    """What `recall` takes beside the query."""

    k: int
    kinds: Sequence[str] | None
    tags: Sequence[str] | None
    tags_mode: TagsMode
    agent_id: str | None
    thread_id: str | None
    valid_at: datetime | None
    filters: Filter | None
    threshold: float | None
    min_score: float
    weights: Mapping[str, float] | None
    include_superseded: bool
    after: Position | str | None
    now: datetime | None


class Recalling(Learning):
    """The verbs that recall, and learn from what came of it."""

    @overload
    def recall(
        self, query: str, *, group_by_kind: Literal[False] = ..., **options: Unpack[RecallOptions]
    ) -> Hits: ...
    @overload
    def recall(
        self, query: str, *, group_by_kind: Literal[True], **options: Unpack[RecallOptions]
    ) -> dict[str, Hits]: ...
    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_mode: TagsMode = "all",
        agent_id: str | None = None,
        thread_id: str | None = None,
        valid_at: datetime | None = None,
        filters: Filter | None = None,
        threshold: float | None = None,
        min_score: float = 0.0,
        weights: Mapping[str, float] | None = None,
        include_superseded: bool = False,
        after: Position | str | None = None,
        group_by_kind: bool = False,
        now: datetime | None = None,
    ) -> Hits | dict[str, Hits]:
        """The `k` memories that answer `query` best, best first, each with its score and why.

        `tags_mode` says how `tags` must fit: `all` of them there, `any`, `none`, or `exact`. `filters` is in
        the filter language. `threshold` is the greatest cosine distance (0…2) of a hit, `min_score` its least
        score. `weights` changes single weights for this call. `after` waits for a position, such as another
        process's receipt. `now` is what ages count from. `valid_at` leaves only what held in the world then.
        `group_by_kind` gives a dict of kinds, with up to `k` hits each; under "context", where an agent or a
        thread is given here or when opening, the entries of theirs that have words of the query. Superseded
        memories are left out unless asked for, and then count a tenth.

        Nothing known yet is an empty list. An embedder that does not answer leaves keyword search, with a
        warning in the hits.
        """
        self._session.settle(after)
        ask = self._queries.question(
            query,
            k=k,
            kinds=kinds,
            tags=tags,
            tags_mode=tags_mode,
            agent_id=agent_id,
            thread_id=thread_id,
            valid_at=valid_at,
            filters=filters,
            threshold=threshold,
            min_score=min_score,
            weights=weights,
            include_superseded=include_superseded,
            now=now,
        )
        if not group_by_kind:
            hits = self._queries.recall(ask)
            self._note(query, hits)
            return hits
        kinds_found = self._queries.recall_by_kind(ask)
        for hits in kinds_found.values():
            self._note(query, hits)
        if tags is None and filters is None and (kinds is None or CONTEXT_KIND in kinds):
            self._add_context(kinds_found, ask, agent_id, thread_id)
        return kinds_found

    def _add_context(
        self, kinds: dict[str, Hits], ask: Asked, agent_id: str | None, thread_id: str | None
    ) -> None:
        """Put what the agent and the thread keep in mind beside the kinds of memories."""
        whose = agent_id or self._commands.agent_id, thread_id or self._commands.thread_id
        if whose == (None, None):
            return
        k, now, recall_id = ask.question.k, ask.question.now, self._commands.new_id()
        found = context_hits(self._queries.contexts, self.namespace, whose, ask.text, k, now, recall_id)
        if found:
            own = kinds.get(CONTEXT_KIND, found)  # memories may be of that kind too
            kinds[CONTEXT_KIND] = found if own is found else replace(own, items=(*own.items, *found.items))
