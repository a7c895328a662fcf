"""Which views there are, and how to open the shard of a partition for writing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

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
        manifest = views.add(new_manifest(partitions, embedder))
        views.make_first_live(manifest.generation)
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
) -> ShardWriter:
    """The writer of one partition's views in a generation; its tables are made if they are not there."""
    tables = open_tables(views, manifest, partition)
    return ShardWriter(tables, RowEmbedder(embedder) if embedder else None, on_rejected, lock)


def open_tables(
    views: Views, manifest: Manifest, partition: int, topics: Collection[str] = FED_TOPICS
) -> list[tuple[View, LanceTable]]:
    """Each view that one of `topics` feeds, with its table in one shard."""
    shard = views.shard(manifest.generation, partition)
    return [
        (view, LanceTable.create(shard, view.name, _schema(view.name, manifest), view.topic, partition))
        for view in VIEWS
        if view.topic in topics
    ]


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
