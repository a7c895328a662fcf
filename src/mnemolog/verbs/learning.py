"""Feedback on what recalls showed, and what was learned from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemolog.processors.refit import refit
from mnemolog.producers.building import Ids
from mnemolog.producers.receipts import Receipt
from mnemolog.query.models import Hits
from mnemolog.query.scoring.query_types import query_type
from mnemolog.query.scoring.usefulness import Link
from mnemolog.schemas.checks import check_count
from mnemolog.schemas.positions import Position
from mnemolog.schemas.usefulness import FEATURE_SET
from mnemolog.verbs.handle import Handle

MAX_TRACKED = 50
"""Of a longer list of hits the log keeps so many."""


@dataclass(frozen=True, slots=True)
class Refit:
    """What a refit found: the recalls with feedback it rests on, how much likelier it chose what was used in
    those it had not seen, and whether recalls use it; `position` of its event."""

    evidence: int
    gain: float
    served: bool
    position: Position


class Learning(Handle):
    """The verbs that learn from use."""

    def feedback(
        self,
        recall_id: str | None = None,
        *,
        used: Ids = (),
        ignored: Ids = (),
        ratings: Mapping[str, float] | None = None,
    ) -> Receipt:
        """Say which of the memories that a recall showed were used and which were ignored, or grade them 0…1.

        The same feedback on the same recall counts once, whoever gives it again and when. It may come from
        another process, hours later. A used memory counts as fresh again.
        """
        event = self._commands.feedback(recall_id, used=used, ignored=ignored, ratings=ratings)
        self._session.served.flush()
        return Receipt(event.event_id, self._session.append([event])[0])

    def mark_used(self, ids: Ids, *, recall_id: str | None = None) -> Receipt:
        """Say that these memories were used; with a `recall_id` it teaches for which questions."""
        return self.feedback(recall_id, used=ids)

    def mark_ignored(self, ids: Ids, *, recall_id: str | None = None) -> Receipt:
        """Say that these memories were of no use; with a `recall_id` it teaches for which questions."""
        return self.feedback(recall_id, ignored=ids)

    def explain_usefulness(
        self, *, query_type: str | None = None, everywhere: bool = False, min_count: int = 1
    ) -> list[Link]:
        """What feedback taught: how memories of each shape fared for each type of query, the strongest first.

        `everywhere` shows what all namespaces taught together. `min_count` leaves out what rests on fewer
        ratings.
        """
        check_count("min_count", min_count, 0, 2**62)
        self._session.settle()
        links = self._queries.links(everywhere=everywhere)
        return [
            link
            for link in links
            if (link.pooled if everywhere else link.count) >= min_count
            and query_type in (None, link.query_type)
        ]

    def refit_usefulness(self) -> Refit | None:
        """Fit the usefulness model to the feedback of all namespaces, now; None where nothing can be learned.

        The model is used only as far as it told feedback better that it had not seen.
        """
        self._session.settle()
        fitted = refit(self._queries.usefulness_tables(), FEATURE_SET)
        if fitted is None:
            return None
        event = self._commands.refitted(
            fitted.weights.tolist(),
            feature_set=FEATURE_SET,
            evidence=fitted.evidence,
            gain=fitted.gain,
            served=fitted.served,
        )
        position = self._session.append([event])[0]
        return Refit(fitted.evidence, fitted.gain, fitted.served, position)

    def _note(self, query: str, hits: Hits) -> None:
        """Let the log know what was shown, so that feedback can teach."""
        if not hits or self._session.served.keep == "off":
            return
        kept = query if self._session.served.keep == "text" else None
        best = hits[:MAX_TRACKED]
        shown = [(hit.memory.id, hit.trace.shape, hit.trace.features) for hit in best]
        self._session.served.note(
            lambda: self._commands.served(
                hits.recall_id,
                shown,
                query=kept,
                query_type=query_type(query),
                feature_set=FEATURE_SET,
            ),
            self._session.trace(),
        )
