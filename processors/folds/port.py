"""What a fold is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from typing_extensions import TypeIs

from mnemolog.schemas.events import Event
from mnemolog.schemas.filters import Node
from mnemolog.schemas.rows import Row, Rows


class Stamp(NamedTuple):
    """Where and when the log recorded an event."""

    offset: int
    recorded_at: datetime


_NONE: Mapping[str, frozenset[str]] = MappingProxyType({})


class Selection(NamedTuple):
    """The rows that an event concerns.

    `lookups`: column → values (`pk` among the columns); `scope`: a namespace and a filter over its rows.
    """

    lookups: Mapping[str, frozenset[str]] = _NONE
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


class Projection(Protocol):
    """A pure view of another table, row by row: its rows follow the rows of the table `base`.

    So it also follows what events do to rows that they do not name, such as forgetting by a filter.
    """

    @property
    def name(self) -> str:
        """The table's name."""

    @property
    def version(self) -> int:
        """Counts up when the same rows give other rows."""

    @property
    def topic(self) -> str:
        """The topic that feeds the base table."""

    @property
    def base(self) -> str:
        """The name of the fold whose table it follows."""

    def row(self, base: Row) -> Row | None:
        """The row that stands for one of the base table, under the same `pk`, `namespace` and `_off`.

        None where there never was one. A row that has no more to say is a tombstone: the answer must depend
        on nothing but `base`, so that it does not matter which of its earlier states were seen.
        """


View: TypeAlias = Fold | Projection
"""What keeps a table."""


def is_projection(view: View) -> TypeIs[Projection]:
    """Whether a view follows another one."""
    return hasattr(view, "base")
