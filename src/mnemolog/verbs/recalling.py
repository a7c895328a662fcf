"""Recall, and feedback on what it showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Unpack, overload

from mnemolog.past import Past
from mnemolog.query.asking import Asking
from mnemolog.query.context_hits import KIND as CONTEXT_KIND
from mnemolog.query.context_hits import context_hits
from mnemolog.query.models import Hits
from mnemolog.query.queries import Asked
from mnemolog.schemas.moments import Moment
from mnemolog.schemas.positions import Position
from mnemolog.storage.looks import looking_once
from mnemolog.verbs.keywords import takes
from mnemolog.verbs.learning import Learning


class RecallOptions(Asking, total=False):
    """What `recall` takes beside the query."""

    as_of: Moment | None
    after: Position | str | None


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
    @takes(Asking)
    def recall(
        self,
        query: str,
        *,
        group_by_kind: bool = False,
        as_of: Moment | None = None,
        after: Position | str | None = None,
        **options: Unpack[Asking],
    ) -> Hits | dict[str, Hits]:
        """The `k` (5) memories that answer `query` best, best first, each with its score and why.

        Which: `kinds`, `agent_id`, `thread_id`; `tags`, and `tags_mode` says how they must fit: "all" of them
        there, "any", "none", or "exact"; `filters` in the filter language; `valid_at` leaves only what held
        in the world then. Superseded memories are left out unless asked for with `include_superseded`, and
        then count a tenth. `threshold` is the greatest cosine distance (0…2) of a hit, `min_score` its least
        score.

        How: `scoring` names a preset ("default", "ongoing", "additive"), `weights` changes single weights,
        `rules` (name → callable of a memory) multiply its score, `now` is what ages count from. `max_tokens`
        bounds all texts together (about four bytes a token), `diversity` (0…1) sets near duplicates apart.

        `after` waits for a position, such as another process's receipt. `group_by_kind` gives a dict of
        kinds, with up to `k` hits each; under "context", where an agent or a thread is given here or when
        opening, the entries of theirs that have words of the query.

        Nothing known yet is an empty list. An embedder that does not answer leaves keyword search, with a
        warning in the hits.
        """
        if as_of is not None:
            return self._recall_past(query, group_by_kind, self._past(as_of, after), options)
        self._session.settle(after)
        if not group_by_kind:
            with looking_once():
                hits = self._queries.recall(self._queries.question(query, **options))
            self._note(query, hits)
            return hits
        ask = self._queries.question(query, **options)
        found = self._queries.recall_by_kind(ask)
        for hits in found.values():
            self._note(query, hits)
        kinds = options.get("kinds")
        plain = options.get("tags") is None and options.get("filters") is None
        if plain and (kinds is None or CONTEXT_KIND in kinds):
            self._add_context(found, ask, options.get("agent_id"), options.get("thread_id"))
        return found

    @staticmethod
    def _recall_past(query: str, group_by_kind: bool, past: Past, options: Asking) -> Hits | dict[str, Hits]:
        ask = past.queries.question(query, **options)
        if not group_by_kind:
            return replace(past.queries.recall(ask), as_of=past.as_of)
        found = past.queries.recall_by_kind(ask)
        return {kind: replace(hits, as_of=past.as_of) for kind, hits in found.items()}

    @takes(Asking)
    def recall_by_vector(
        self,
        vector: Sequence[float],
        *,
        as_of: Moment | None = None,
        after: Position | str | None = None,
        **options: Unpack[Asking],
    ) -> Hits:
        """The memories nearest to `vector`, float [dim] of the views' model; see `recall` for the options."""
        if as_of is not None:
            past = self._past(as_of, after)
            found = past.queries.recall(past.queries.question_of_vector(vector, **options))
            return replace(found, as_of=past.as_of)
        self._session.settle(after)
        hits = self._queries.recall(self._queries.question_of_vector(vector, **options))
        self._note("", hits)
        return hits

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
