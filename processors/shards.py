"""Which views there are, and how to open the shard of a partition for writing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from mnemolog.processors.applied import OnApplied
from mnemolog.processors.embedding import RowEmbedder
from mnemolog.processors.folds.config import ConfigFold
from mnemolog.processors.folds.context import ContextFold
from mnemolog.processors.folds.edges import EdgesProjection
from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.processors.folds.port import Fold, View
from mnemolog.processors.folds.usage import UsageFold
from mnemolog.processors.folds.usefulness import UsefulnessFold
from mnemolog.processors.materialize import OnRejected, ShardWriter
from mnemolog.schemas.analysis import ANALYZER_VERSION
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.rows import (
    config_schema,
    context_schema,
    edges_schema,
    memories_schema,
    usage_schema,
    usefulness_schema,
)
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    import pyarrow as pa

    from mnemolog.schemas.ports import Embedder

FOLDS: Sequence[Fold] = (MemoriesFold(), ContextFold(), UsageFold(), UsefulnessFold(), ConfigFold())
VIEWS: Sequence[View] = (*FOLDS, EdgesProjection())
_MAKING_AT_ONCE = 8
FED_TOPICS = tuple(dict.fromkeys(fold.topic for fold in FOLDS))


def new_manifest(partitions: int, embedder: Embedder | None, generation: str = "") -> Manifest:
    """What a generation built now with `embedder` is made of."""
    return Manifest(
        generation,
        partitions,
        embedder.name if embedder else None,
        embedder.dim if embedder else None,
        {view.name: view.version for view in VIEWS},
        ANALYZER_VERSION,
    )


def ensure_live(views: Views, partitions: int, embedder: Embedder | None) -> Manifest:
    """The live generation, made empty if there is none.

    Raises:
        EmbedderMismatchError: it was built with another embedder.
        ViewError: it was built for another number of partitions, or by other folds.
    """
    if not views.exist:
        manifest = make_generation(views, partitions, embedder)
        if not views.make_first_live(manifest.generation):
            views.drop(manifest.generation)
    manifest = views.current()
    check_manifest(manifest, partitions, embedder)
    return manifest


def check_manifest(manifest: Manifest, partitions: int, embedder: Embedder | None) -> None:
    """Refuse to write views that were built with something else; see `ensure_live`."""
    manifest.require_embedder(embedder.name if embedder else None)
    wanted = new_manifest(partitions, embedder, manifest.generation)
    if manifest != wanted:
        raise ViewError(
            f"the views were built with {manifest}, this release and log need {wanted}; "
            "rebuild them from the log: mnemolog replay"
        )


def open_shard(
    views: Views,
    manifest: Manifest,
    partition: int,
    embedder: Embedder | None,
    on_rejected: OnRejected,
    lock: AbstractContextManager[object] | None = None,
    on_applied: OnApplied | None = None,
) -> ShardWriter:
    """The writer of one partition's views in a generation; see `open_tables`."""
    tables = open_tables(views, manifest, partition)
    vectors = RowEmbedder(embedder) if embedder else None
    return ShardWriter(
        tables, vectors, on_rejected, lock, partitions=manifest.partitions, on_applied=on_applied
    )


def open_tables(
    views: Views, manifest: Manifest, partition: int, topics: Collection[str] = FED_TOPICS
) -> list[tuple[View, LanceTable]]:
    """Each view that one of `topics` feeds, with its table in one shard, for its writer.

    Raises:
        ViewMissingError: the generation was never made to its end.
    """
    shard = views.shard(manifest.generation, partition)
    return [
        (view, LanceTable.open(shard, view.name, view.topic, partition, writes=True)) for view in _fed(topics)
    ]


def make_generation(
    views: Views,
    partitions: int,
    embedder: Embedder | None,
    topics: Collection[str] = FED_TOPICS,
    of: Collection[int] | None = None,
) -> Manifest:
    """A generation with all its tables, empty and not live yet: those that `topics` feed, `of` some
    partitions or all.

    Whoever opens a generation only opens its tables. Making one is not safe against another who makes it too.
    """
    manifest = views.add(new_manifest(partitions, embedder))
    make_tables(views, manifest, topics, of)
    return manifest


def make_tables(
    views: Views,
    manifest: Manifest,
    topics: Collection[str] = FED_TOPICS,
    of: Collection[int] | None = None,
) -> None:
    """The tables of a generation that nobody writes yet, as far as they are not there."""

    def make(partition: int) -> None:
        shard = views.shard(manifest.generation, partition)
        for view in _fed(topics):
            LanceTable.create(shard, view.name, _schema(view.name, manifest), view.topic, partition)

    with ThreadPoolExecutor(_MAKING_AT_ONCE) as threads:
        list(threads.map(make, range(manifest.partitions) if of is None else of))


def _fed(topics: Collection[str]) -> list[View]:
    return [view for view in VIEWS if view.topic in topics]


def _schema(table: str, manifest: Manifest) -> pa.Schema:
    schemas: Mapping[str, Callable[[], pa.Schema]] = {
        "memories": lambda: memories_schema(manifest.dim),
        "edges": edges_schema,
        "context": context_schema,
        "usage": usage_schema,
        "usefulness": usefulness_schema,
        "config": config_schema,
    }
    return schemas[table]()
