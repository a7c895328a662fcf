"""Timelines: all that was said of one subject, in the order in which it held."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from mnemolog.processors.folds.memory_rows import stamped
from mnemolog.processors.folds.port import Stamp
from mnemolog.schemas.events import Event
from mnemolog.schemas.facts import moment_of, normalized
from mnemolog.schemas.rows import Row, Rows


def same_timeline(one: Row, other: Row) -> bool:
    """Whether both rows speak of one subject."""
    return one["timeline"] is not None and one["timeline"] == other["timeline"]


def in_order(
    rows: Rows, changed: Mapping[str, Row], timelines: Collection[str], event: Event, stamp: Stamp
) -> dict[str, Row]:
    """The rows of `timelines` that have another place there once `changed` replace those in `rows`."""
    every = {**rows, **changed}
    members: dict[str, list[Row]] = {timeline: [] for timeline in timelines}
    for row in every.values():
        if row["timeline"] in members:
            members[row["timeline"]].append(row)
    both = (*rows.values(), *changed.values())
    known = {row["pk"] for row in both if row["timeline"] in members}
    moved = {}
    for said in members.values():
        for row, place in places(sorted(said, key=lambda one: (one["rank"], one["pk"]))):
            if row["successor"] is not None and row["successor"] not in known:
                place = {
                    name: place[name] for name in ("valid_from", "valid_to")
                }  # superseded by other means
            if any(row[name] != value for name, value in place.items()):
                placed = {**row, **place}
                moved[row["pk"]] = placed if row["pk"] in changed else stamped(placed, event, stamp)
    return moved


def places(said: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Each statement of a timeline in order, with its period and what follows it.

    The same statement said again goes on with the period; the newest of them stands for it.
    """
    ends = _ends(said)
    begin = None
    for at, row in enumerate(said):
        if at == 0 or not _goes_on(said[at - 1], row):
            begin = moment_of(row["rank"])
        following = said[at + 1] if at + 1 < len(said) else None
        if not row["deleted"]:
            yield (
                row,
                {
                    "valid_from": begin,
                    "valid_to": ends[at],
                    "superseded_by": following and following["id"],
                    "successor": following and following["pk"],
                },
            )


def _goes_on(before: Row, row: Row) -> bool:
    if before["deleted"] or row["deleted"]:
        return False
    return normalized(before["text"]) == normalized(row["text"])


def _ends(said: Sequence[Row]) -> list[object]:
    ends: list[object] = [None] * len(said)
    for at in range(len(said) - 2, -1, -1):
        ends[at] = ends[at + 1] if _goes_on(said[at], said[at + 1]) else moment_of(said[at + 1]["rank"])
    return ends
