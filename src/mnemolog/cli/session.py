"""Opening what a command works on. Heavy libraries are imported here, when they are needed and not before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mnemolog.cli.following import follow
from mnemolog.cli.options import Target
from mnemolog.cli.quiet_logging import log_in_one_line
from mnemolog.cli.shell import UsageError
from mnemolog.cli.values import parse_redaction
from mnemolog.schemas.errors import InvalidInputError, ViewMissingError
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.positions import Position
from mnemolog.schemas.topics import CONTEXT, FEEDBACK, MEMORIES, partition_of

if TYPE_CHECKING:
    from mnemolog.memory import Memory
    from mnemolog.producers.deliveries import BulkLog
    from mnemolog.schemas.ports import Embedder
    from mnemolog.storage.layout import Manifest, Views

LOG_FILE = "log.sqlite"
VIEWS_FOLDER = "views"


def require_kafka(target: Target, why: str) -> str:
    """The brokers, for a command that an embedded memory has no use for."""
    if target.kafka is None:
        raise UsageError(f"--kafka HOST:PORT is needed: {why}")
    return target.kafka


def views_root(target: Target) -> str:
    """Where the views are."""
    if target.path is not None:
        return str(target.path / VIEWS_FOLDER)
    if target.views is None:
        raise UsageError("--views DIR is needed with --kafka: where the workers keep the views")
    return target.views


def _existing(path: Path) -> Path:
    if not (path / LOG_FILE).exists():
        raise ViewMissingError(
            f"there is no memory in {path}; make one with: mnemolog init --path {path}, or remember something"
        )
    return path


@contextmanager
def open_log(target: Target, *, create: bool = False) -> Iterator[BulkLog]:
    """The log alone: light, and enough to write.

    Raises:
        ViewMissingError: there is no embedded memory in the folder, and none may be made.
        LogUnavailableError: the log can't be reached.
    """
    log = make_log(target, create=create)
    try:
        yield log
    finally:
        log.close()


def make_log(target: Target, *, create: bool = False) -> BulkLog:
    """See `open_log`; whoever calls closes it."""
    return _kafka_log(target) if target.path is None else _embedded_log(target.path, create=create)


def _kafka_log(target: Target) -> BulkLog:
    from mnemolog.producers.kafka import KafkaLog

    return KafkaLog(target.kafka or "", timeout_seconds=max(target.timeout, 1.0))


def _embedded_log(path: Path, *, create: bool) -> BulkLog:
    from mnemolog.producers.embedded import EmbeddedLog

    if create:
        path.mkdir(parents=True, exist_ok=True)
    return EmbeddedLog((path if create else _existing(path)) / LOG_FILE)


@contextmanager
def open_memory(target: Target, *, create: bool = False) -> Iterator[Memory]:
    """The memory, once its views show all that an embedded log has.

    Over Kafka the views are as the workers have them: `--after` waits for a position.

    Raises:
        ViewMissingError: there is no embedded memory in the folder, and none may be made.
        WaitTimeoutError: the views stood still for the target's timeout.
    """
    log_in_one_line()
    memory = _connect(target) if target.path is None else _open(target, target.path, create=create)
    try:
        if target.path is not None:
            follow(memory, _ends(memory, target.path), target.timeout, shown=not target.json)
        yield memory
    finally:
        memory.close()


def _connect(target: Target) -> Memory:
    from mnemolog.opening import connect

    root = views_root(target)
    embedder = choose_embedder(target)
    return connect(
        target.kafka or "",
        root,
        target.namespace,
        embedder=embedder or "none",
        wait_seconds=target.timeout,
        redact=parse_redaction(target.redact),
    )


def _open(target: Target, path: Path, *, create: bool) -> Memory:
    from mnemolog.opening import open as open_embedded

    home = path if create else _existing(path)
    embedder = choose_embedder(target)
    return open_embedded(
        home,
        target.namespace,
        embedder=embedder or "none",
        wait_seconds=target.timeout,
        redact=parse_redaction(target.redact),
    )


def _ends(memory: Memory, path: Path) -> list[Position]:
    """The last positions of the namespace's partition: other commands have only appended there."""
    from mnemolog.producers.embedded import EmbeddedLog

    with EmbeddedLog(path / LOG_FILE) as log:
        partition = partition_of(encode_namespace(memory.namespace).encode(), log.partitions(MEMORIES))
        ends = {topic: log.end_offsets(topic)[partition] for topic in (MEMORIES, FEEDBACK, CONTEXT)}
    return [Position(topic, partition, end - 1) for topic, end in ends.items() if end]


def open_views(target: Target) -> Views:
    """The views."""
    from mnemolog.storage.layout import Views

    return Views(views_root(target))


def choose_embedder(target: Target) -> Embedder | None:
    """The embedder that was named, or the one that the live views were built with, or the default."""
    from mnemolog.embedders import resolve

    if target.embedder is not None:
        return resolve(target.embedder)
    views = open_views(target)
    return embedder_of(views.current()) if views.exist else resolve()


def embedder_of(manifest: Manifest) -> Embedder | None:
    """The embedder that a generation was built with.

    Raises:
        InvalidInputError: no name on a command line stands for it.
    """
    from mnemolog.embedders import resolve

    if manifest.embedder is None:
        return None
    for spec in ("minilm", f"hashing:{manifest.dim}"):
        embedder = resolve(spec)
        if embedder is not None and embedder.name == manifest.embedder:
            return embedder
    raise InvalidInputError(
        f"these views hold vectors of {manifest.embedder!r}, which no --embedder names: open them with the "
        "library, or rebuild them: mnemolog replay --embedder minilm",
        field="embedder",
    )
