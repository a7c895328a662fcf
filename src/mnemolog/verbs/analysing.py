"""Sums and tables of the memories in a scope, for reports and for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from mnemolog.query.aggregates import COUNT, Metrics
from mnemolog.schemas.positions import Position
from mnemolog.schemas.scope import Scope
from mnemolog.verbs.handle import Handle
from mnemolog.verbs.keywords import takes

if TYPE_CHECKING:
    import pyarrow as pa

Groups: TypeAlias = list[dict[str, Any]]


class Analysing(Handle):
    """The verbs that look at many memories as columns."""

    @takes(Scope)
    def aggregate(
        self,
        by: str | Sequence[str] | None = None,
        metrics: Metrics = COUNT,
        *,
        include_superseded: bool = False,
        after: Position | str | None = None,
        **scope: Unpack[Scope],
    ) -> Groups:
        """Numbers about the memories in `scope`: one dict for each value of `by`, or one for all.

        `by` is a field, a metadata path such as `metadata.city`, or a list of these; a memory counts once for
        each of its tags, and under None where it has no value. `metrics` maps a function to what it is taken
        of: `{"count": True, "avg": "importance", "max": ["occurred_at", "metadata.cost"]}` gives `count`,
        `avg_importance`, `max_occurred_at` and `max_metadata.cost`. `sum` and `avg` take numbers, `min` and
        `max` also times, `count` of a field counts where it is there. In metadata what is no number counts
        as missing. `use_count`, `ignore_count` and `last_used_at` are fields too.

        Raises:
            InvalidInputError: an unknown field or function, or one that does not go with the field.
        """
        self._session.settle(after)
        return self._queries.table.aggregate(by, metrics, include_superseded=include_superseded, **scope)

    @takes(Scope)
    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        vectors: bool = False,
        include_superseded: bool = False,
        after: Position | str | None = None,
        **scope: Unpack[Scope],
    ) -> pa.Table:
        """The memories in `scope` as a `pyarrow.Table`, newest first, for DuckDB, Polars or pandas.

        `columns` names those to give, else all but `vector`, which is float32 [dim] and added by `vectors`.
        Times are UTC in microseconds, `metadata` is JSON text, `tags` a list of strings.

        Raises:
            InvalidInputError: an unknown column.
        """
        self._session.settle(after)
        return self._queries.table.to_arrow(
            columns, vectors=vectors, include_superseded=include_superseded, **scope
        )
