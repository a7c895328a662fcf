"""What a fold is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import Node
from mnemolog.schemas.rows import Row, Rows


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where and when the log recorded an event."""

    offset: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows that an event concerns.

    `lookups`: column → values (`pk` among the columns); `scope`: a namespace and a filter over its rows.
    """

    lookups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    scope: tuple[str, Node] | None = None


class Fold(Protocol):
    """A pure projection of one topic into one table: no I/O, clock or randomness.

    A change of what it computes is a new `version`: views of another version are rebuilt by a replay.
    """

    @property
    def name(self) -> str:
        """The table's name."""

    @property
    def version(self) -> int:
        """Counts up when the same events give other rows."""

    @property
    def topic(self) -> str:
        """The one topic that feeds the table, so that one offset guards it."""

    def affects(self, event: Event, rows: Rows) -> Selection:
        """The rows that `evolve` needs for `event`, given the `rows` that are loaded already.

        Asked again until nothing is missing, so that a row may name further rows.
        """

    def evolve(self, rows: Rows, event: Event, stamp: Stamp) -> dict[str, Row]:
        """The rows that `event` makes or changes, by primary key; none where it changes nothing.

        `rows` holds every row that `affects` named and that exists, tombstones included. A forgotten row
        becomes a tombstone: content gone, `deleted` true.
        """
