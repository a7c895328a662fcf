"""Events of what recalls showed, of feedback and of what was learned, as in `commands`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mnemolog.producers.building import Ids, build_event, id_set
from mnemolog.producers.ids import derived_id
from mnemolog.schemas import events as ev
from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.namespaces import Namespace, encode_namespace


class Maker(Protocol):
    """What these need of `Commands`."""

    @property
    def namespace(self) -> Namespace:
        """Whose events these are."""

    @property
    def _envelope(self) -> Any: ...


class FeedbackCommands:
    """The part of `Commands` that learning rests on."""

    __slots__ = ()

    def feedback(
        self: Maker,
        recall_id: str | None = None,
        *,
        used: Ids = (),
        ignored: Ids = (),
        ratings: Mapping[str, float] | None = None,
        event_id: str | None = None,
    ) -> ev.FeedbackGiven:
        """Of what a recall showed, `used` helped and `ignored` did not; `ratings` grade others from 0 to 1.

        With a `recall_id` the same feedback given twice counts once: its event id follows from its content.
        """
        did, did_not = id_set("used", used), id_set("ignored", ignored)
        graded = _graded(ratings)
        if not did and not did_not and not graded:
            raise InvalidInputError("feedback needs ids that were used or ignored, or ratings", field="used")
        for field, others in (("ignored", {*did}), ("ratings", {*did, *did_not})):
            if twice := {*(did_not if field == "ignored" else graded)} & others:
                raise InvalidInputError(f"said twice of: {', '.join(sorted(twice))}", field=field)
        if event_id is None and isinstance(recall_id, str):
            said = (did, did_not, tuple(sorted(graded.items()))) if graded else (did, did_not)
            event_id = derived_id("feedback", encode_namespace(self.namespace), recall_id, *said)
        return build_event(
            ev.FeedbackGiven,
            **self._envelope(event_id),
            recall_id=recall_id,
            used=did,
            ignored=did_not,
            ratings=graded,
        )

    def served(
        self: Maker,
        recall_id: str,
        shown: Sequence[tuple[str, Sequence[str], Sequence[float]]],
        *,
        query: str | None,
        query_type: str,
        feature_set: str,
    ) -> ev.RecallServed:
        """A recall showed memories, best first: (id, shape, features) each."""
        each = [{"id": name, "shape": shape, "features": features} for name, shape, features in shown]
        return build_event(
            ev.RecallServed,
            **self._envelope(None),
            recall_id=recall_id,
            query=query,
            query_type=query_type,
            feature_set=feature_set,
            shown=each,
        )

    def refitted(
        self: Maker, weights: Sequence[float], *, feature_set: str, evidence: int, gain: float, served: bool
    ) -> ev.ModelRefitted:
        """The usefulness model of all namespaces was fitted again."""
        envelope = self._envelope(None) | {"namespace": EVERYWHERE}
        return build_event(
            ev.ModelRefitted,
            **envelope,
            weights=weights,
            feature_set=feature_set,
            evidence=evidence,
            gain=gain,
            served=served,
        )


def _graded(ratings: Mapping[str, float] | None) -> dict[str, float]:
    if not isinstance(ratings, Mapping | None):
        raise InvalidInputError(f"ratings: give a dict of id to rating, not {ratings!r:.80}", field="ratings")
    return dict(ratings or {})
