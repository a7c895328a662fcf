"""A namespace as it was: its own events up to a moment, folded into views of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mnemolog.processors.embedding import GivesVectors, ReusedVectors, RowEmbedder
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.processors.shards import make_generation, open_tables
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.topics import FEEDBACK, MEMORIES
from mnemolog.storage.layout import Views
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Embedder, Log

PAST_TOPICS = (MEMORIES, FEEDBACK)
"""What has a past. The compacted topics keep only the last record of each key."""

_BATCH = 2_000


class Stretch(NamedTuple):
    """The beginning of a partition of a topic, up to before the offset `end`."""

    topic: str
    partition: int
    end: int


def build_past(
    log: Log,
    views: Views,
    stretches: Sequence[Stretch],
    keys: Collection[bytes],
    embedder: Embedder | None,
    old: LanceTable | None,
) -> int:
    """Fold the records of `stretches` with one of these `keys` into a first generation of `views`.

    Vectors of texts that are the same in `old`, a table of the same embedder, are taken from there. What
    can't be applied is left out, as it was by the live views. Returns how many records were folded.

    Raises:
        MnemologError: the log or the views failed.
    """
    wanted = sorted({stretch.partition for stretch in stretches})
    topics = {stretch.topic for stretch in stretches}
    manifest = make_generation(views, log.partitions(MEMORIES), embedder, topics, wanted)
    vectors = _vectors(embedder, old)
    folded = 0
    for partition in wanted:
        ours = [stretch for stretch in stretches if stretch.partition == partition]
        tables = open_tables(views, manifest, partition, {stretch.topic for stretch in ours})
        writer = ShardWriter(tables, vectors, _leave_out)
        folded += sum(_fold(log, writer, stretch, keys) for stretch in ours)
    views.make_first_live(manifest.generation)
    return folded


def _vectors(embedder: Embedder | None, old: LanceTable | None) -> GivesVectors | None:
    if embedder is None:
        return None
    fresh = RowEmbedder(embedder)
    return fresh if old is None else ReusedVectors(partial(old.lookup, "pk"), fresh)


def _leave_out(_: Sequence[Rejected]) -> None:
    pass


def _fold(log: Log, writer: ShardWriter, stretch: Stretch, keys: Collection[bytes]) -> int:
    folded, since = 0, 0
    batch: list[StoredRecord] = []
    for record in _records(log, stretch, keys):
        batch.append(record)
        if len(batch) == _BATCH:
            writer.apply(stretch.topic, batch, since=since)
            folded, since, batch = folded + len(batch), record.position.offset + 1, []
    writer.apply(stretch.topic, batch, since=since)
    return folded + len(batch)


def _records(log: Log, stretch: Stretch, keys: Collection[bytes]) -> Iterator[StoredRecord]:
    offset = 0
    while offset < stretch.end:
        records = log.read(stretch.topic, stretch.partition, offset, min(_BATCH, stretch.end - offset))
        if not records:
            return
        yield from (one for one in records if one.key in keys and one.position.offset < stretch.end)
        offset = records[-1].position.offset + 1
