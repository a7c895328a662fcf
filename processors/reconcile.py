"""What new facts change in what is known. Pure and deterministic.

Each subject has a timeline: its assertions by rank, that is by the moment from which they hold, then by when
they were said. The last one holds. So the outcome does not depend on the order in which facts are found, and
the same facts again change nothing.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from mnemolog.schemas.facts import Assertion, normalized, subject_key


@dataclass(frozen=True, slots=True)
class Add:
    """A statement that replaces none: the first of its subject, or (`current` false) one of the past."""

    fact: Assertion
    current: bool = True


@dataclass(frozen=True, slots=True)
class Update:
    """A newer statement takes the place of `replaces`; with `refreshes` it says the same."""

    fact: Assertion
    replaces: Assertion
    refreshes: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """A tombstone ends the statement `retracts`."""

    fact: Assertion
    retracts: Assertion


@dataclass(frozen=True, slots=True)
class Noop:
    """It is known already: the same statement, no newer, of the same sources."""

    fact: Assertion


@dataclass(frozen=True, slots=True)
class UnmatchedTombstone:
    """A tombstone with nothing to end. It is kept: a statement that is older may still be found."""

    fact: Assertion


Operation: TypeAlias = Add | Update | Delete | Noop | UnmatchedTombstone
_Place: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class _Timeline:
    """The assertions of a subject: sorted by rank, and what each says by its id."""

    places: list[_Place] = field(default_factory=list)
    said: dict[str, Assertion] = field(default_factory=dict)

    def put(self, fact: Assertion) -> tuple[Assertion | None, bool]:
        """Take a fact in: the one before it, and whether it is the last."""
        place = (fact.rank, fact.id)
        at = bisect(self.places, place)
        self.places.insert(at, place)
        self.said[fact.id] = fact
        before = self.said[self.places[at - 1][1]] if at else None
        return before, at == len(self.places) - 1


def reconcile(known: Iterable[Assertion], candidates: Iterable[Assertion]) -> list[Operation]:
    """What each of the `candidates` does to what is `known`, one after the other, in the given order."""
    timelines: dict[str, _Timeline] = {}
    for fact in known:
        timelines.setdefault(subject_key(fact.subject), _Timeline()).put(fact)
    return [
        _operation(timelines.setdefault(subject_key(fact.subject), _Timeline()), fact) for fact in candidates
    ]


def _operation(timeline: _Timeline, fact: Assertion) -> Operation:
    if fact.id in timeline.said:
        return Noop(fact)
    before, last = timeline.put(fact)
    held = None if before is None or before.tombstone else before
    if fact.tombstone:
        return UnmatchedTombstone(fact) if held is None else Delete(fact, held)
    if held is None or not last:
        return Add(fact, current=last)
    return Update(fact, held, refreshes=normalized(held.statement) == normalized(fact.statement))
