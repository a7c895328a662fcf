"""Facts: what was said of subjects, since when and until when, and what it rests on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mnemolog.query.models import Change, to_change
from mnemolog.query.reader import ViewReader
from mnemolog.schemas.checks import check_moment
from mnemolog.schemas.consolidation import consolidation_pk, progress_of
from mnemolog.schemas.details import Statement, load_detail
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.facts import check_subject, normalized, subject_key, timeline_of
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import Row
from mnemolog.storage.arrow import from_arrow
from mnemolog.storage.sql import literal

if TYPE_CHECKING:
    from mnemolog.storage.table import LanceTable

_ASSERTING = "FactsAsserted"


@dataclass(frozen=True, slots=True)
class FactItem:
    """A statement about a subject, which holds from `valid_from` to before `valid_to` (None: it still does).

    `id` is the memory that it is; `date` is the one that was given for it, `said_at` when it was last said.
    `sources` are all memories that say so, `confidence` is that of the surest of them. `decided_by` is the
    event that asserted it. `superseded_by` is the memory, or the retraction, that followed it.
    """

    id: str
    subject: str
    statement: str
    valid_from: datetime
    valid_to: datetime | None
    sources: tuple[str, ...]
    confidence: float
    date: datetime | None
    said_at: datetime | None
    superseded_by: str | None
    decided_by: Change

    @property
    def current(self) -> bool:
        """Whether it still holds."""
        return self.valid_to is None and self.superseded_by is None


class FactQueries:
    """Reads the facts of one namespace. Threads may share it."""

    def __init__(self, reader: ViewReader, namespace: Namespace) -> None:
        self._reader = reader
        self._namespace = namespace

    def facts(self, subject: str | None = None, as_of: datetime | None = None) -> list[FactItem]:
        """See `Consolidating.facts`."""
        moment = None if as_of is None else check_moment("as_of", as_of)
        if subject is not None:
            rows = self.timelines([timeline_of(self._namespace, check_subject(subject))])
        else:
            rows = self._every()
        items = _merged([row for row in rows if not row["deleted"]])
        if moment is not None:
            items = [item for item in items if _held(item, moment)]
        newest_first = items[::-1]  # by rank, which also tells equal times apart
        newest_first.sort(key=lambda item: item.valid_from, reverse=True)
        return sorted(newest_first, key=lambda item: subject_key(item.subject))

    def timelines(self, timelines: Collection[str]) -> list[Row]:
        """The rows of timelines, retractions among them."""
        table = self._table()
        return [] if table is None else table.lookup("timeline", timelines)

    def rows(self, ids: Collection[str]) -> dict[str, Row]:
        """Memory → its row, tombstones included."""
        return {row["id"]: row for row in self._reader.rows(self._namespace, ids)}

    def progress(self) -> dict[str, Any] | None:
        """How far continuous consolidation has come; None where it never ran."""
        table = self._table()
        found = [] if table is None else table.lookup("pk", [consolidation_pk(self._namespace)])
        if table is None or not found:
            return None
        progress = progress_of(found[0])
        waiting = f"NOT deleted AND rests_on IS NULL AND superseded_by IS NULL AND _off >= {progress.through}"
        return {
            "last_run": progress.ran_at,
            "lag": table.count(f"namespace = {literal(encode_namespace(self._namespace))} AND {waiting}"),
            "runs": progress.runs,
            "read": progress.read,
            "facts": progress.facts,
            "failed": progress.failed,
            "input_tokens": progress.input_tokens,
            "output_tokens": progress.output_tokens,
            "extractor": progress.extractor,
        }

    def _every(self) -> list[Row]:
        table = self._table()
        if table is None:
            return []
        ours = f"namespace = {literal(encode_namespace(self._namespace))}"
        return from_arrow(table.where(f"{ours} AND timeline IS NOT NULL AND NOT deleted"))

    def _table(self) -> LanceTable | None:
        try:
            return self._reader.shard_table("memories", self._namespace)[1]
        except ViewMissingError:
            return None


def _held(item: FactItem, moment: datetime) -> bool:
    return item.valid_from <= moment and (item.valid_to is None or moment < item.valid_to)


def _merged(rows: list[Row]) -> list[FactItem]:
    """One item a period: the newest that says so stands for it, and it rests on all that do."""
    periods: dict[tuple[Any, ...], FactItem] = {}
    for row in sorted(rows, key=lambda one: (one["rank"], one["pk"])):
        period = (row["timeline"], row["valid_from"], row["valid_to"], normalized(row["text"]))
        item, before = _item(row), periods.get(period)
        if before is not None:
            sources = tuple(dict.fromkeys([*before.sources, *item.sources]))
            item = replace(item, sources=sources, confidence=max(before.confidence, item.confidence))
        periods[period] = item
    return list(periods.values())


def _item(row: Row) -> FactItem:
    detail = load_detail(row["detail"])
    told = detail if isinstance(detail, Statement) else None
    deciding = [change for change in row["history"] if change["type"] == _ASSERTING]
    return FactItem(
        id=row["id"],
        subject=told.subject if told else row["id"],
        statement=row["text"],
        valid_from=row["valid_from"].astimezone(UTC),
        valid_to=None if row["valid_to"] is None else row["valid_to"].astimezone(UTC),
        sources=tuple(row["sources"] or ()),
        confidence=told.confidence if told else 1.0,
        date=told.date if told else None,
        said_at=told.said_at if told else None,
        superseded_by=row["superseded_by"],
        decided_by=to_change(deciding[-1] if deciding else row["history"][-1]),
    )
