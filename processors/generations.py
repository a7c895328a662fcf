"""What is in a generation of views: to see whether two of them are equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mnemolog.processors.digest import Digest, digest_rows
from mnemolog.processors.folds.port import View, is_projection
from mnemolog.processors.shards import VIEWS
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.rows import Row
from mnemolog.storage.layout import Views
from mnemolog.storage.table import LanceTable


@dataclass(frozen=True, slots=True)
class Contents:
    """A generation's `digests` by table, and `applied`: (table, partition) → the next offset to apply.

    Two generations that applied the same offsets of one log, with the same folds, have equal contents.
    """

    digests: dict[str, Digest]
    applied: dict[tuple[str, int], int]

    def differing(self, other: Contents, *, vectors: bool = True) -> list[str]:
        """The names of the tables that differ; leave out the `vectors` where the models do."""
        return sorted(
            name
            for name in self.digests.keys() | other.digests.keys()
            if _compared(self.digests.get(name), vectors) != _compared(other.digests.get(name), vectors)
        )


def _compared(digest: Digest | None, vectors: bool) -> Digest | None:
    return digest if vectors or digest is None else replace(digest, vectors="")


def read_contents(views: Views, generation: str) -> Contents:
    """The contents of a generation, live or not. Reads every row once.

    Raises:
        ViewMissingError: there is no such generation.
    """
    partitions = views.manifest(generation).partitions
    digests: dict[str, Digest] = {}
    applied: dict[tuple[str, int], int] = {}
    for view in VIEWS:
        tables = dict(_tables(views, generation, view, partitions))
        digests[view.name] = digest_rows(_rows(tables))
        if not is_projection(view):
            applied |= {(view.name, partition): table.applied() for partition, table in tables.items()}
    return Contents(digests, applied)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the contents of two generations compare: the tables that are `differing`, and whether the one had
    applied another part of the log, so that they may (`lags`)."""

    differing: list[str]
    lags: bool

    @property
    def equal(self) -> bool | None:
        """Whether they are; None where that can't be told, since they stand at different offsets."""
        return None if self.lags and self.differing else not self.differing


def compare(views: Views, one: str, other: str) -> Comparison:
    """Compare two generations; their vectors only if they are of one model. Reads every row of both."""
    old, new = read_contents(views, one), read_contents(views, other)
    same_model = views.manifest(one).embedder == views.manifest(other).embedder
    return Comparison(old.differing(new, vectors=same_model), old.applied != new.applied)


def keep_newest(views: Views, count: int) -> list[str]:
    """Drop all generations that were built to their end but the `count` newest up to the live one; those
    dropped. What an interrupted replay left stays, to be resumed or dropped by name."""
    live = views.current().generation
    complete = [name for name in views.generations() if name <= live and views.is_complete(name)]
    dropped = complete[: max(len(complete) - max(count, 1), 0)]
    for generation in dropped:
        views.drop(generation)
    return dropped


def _tables(views: Views, generation: str, view: View, partitions: int) -> Iterator[tuple[int, LanceTable]]:
    for partition in range(partitions):
        try:
            table = LanceTable.open(views.shard(generation, partition), view.name, view.topic, partition)
        except ViewMissingError:
            continue
        yield partition, table


def _rows(tables: dict[int, LanceTable]) -> Iterator[Row]:
    for table in tables.values():
        yield from table.scan()
