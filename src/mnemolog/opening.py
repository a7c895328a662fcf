"""Opening a memory: the composition roots of the embedded and the Kafka facade."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mnemolog.embedders import CachedEmbedder, EmbedderSpec, resolve
from mnemolog.memory import Memory
from mnemolog.past import PastViews
from mnemolog.processors.inline import InlineRunner
from mnemolog.processors.shards import FED_TOPICS
from mnemolog.producers.clock import utc_now
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.ids import new_id
from mnemolog.producers.redaction import RedactSpec, make_redactor
from mnemolog.query.queries import Queries
from mnemolog.query.reader import DEFAULT_CACHE_BYTES, ViewReader
from mnemolog.query.scoring.weights import Weights
from mnemolog.schemas.checks import check_count, check_path, check_seconds
from mnemolog.schemas.errors import LogUnavailableError
from mnemolog.schemas.namespaces import make_namespace
from mnemolog.schemas.positions import Position
from mnemolog.served import Tracking, check_tracking
from mnemolog.session import DEFAULT_WAIT_SECONDS, LogSession
from mnemolog.storage.layout import Views
from mnemolog.watching import Watch

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock, Embedder, Log

DEFAULT_NAMESPACE = "default"
LOG_FILE = "log.sqlite"
VIEWS_FOLDER = "views"


def open(  # noqa: A001 the public name
    path: str | Path,
    namespace: str | Iterable[str] = DEFAULT_NAMESPACE,
    *,
    embedder: EmbedderSpec = None,
    agent_id: str | None = None,
    thread_id: str | None = None,
    weights: Weights | None = None,
    clock: Clock = utc_now,
    cache_bytes: int = DEFAULT_CACHE_BYTES,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    track: Tracking = "text",
    redact: RedactSpec = None,
) -> Memory:
    """A memory in the folder `path`, which is made if it is not there: a durable log and its views.

    `namespace` is a tuple of parts, or one string that is a single part. `embedder` is a name such as
    "minilm" (the default), "hashing" or "none", an `Embedder`, or any callable. `agent_id` and `thread_id`
    are the defaults of what is written. `track` says what the log keeps of each recall, so that feedback can
    teach: its query and features ("text"), the "features" alone, or nothing ("off"). `redact` takes out what
    must not enter the log, before it does: "secrets", patterns, or a function; see `producers.redaction`.
    Several processes may open one folder. The first read shows all that was durable when it was opened.

    Raises:
        InvalidInputError: an argument that makes no sense, such as a bad namespace or embedder.
        EmbedderMismatchError: the views hold the vectors of another model.
        LogUnavailableError: the folder or the log can't be made or opened.
    """
    commands = Commands(make_namespace(namespace), agent_id, thread_id, clock)
    check_seconds("wait_seconds", wait_seconds)
    check_tracking(track)
    check_count("cache_bytes", cache_bytes, 0, 2**62)
    folder = check_path("path", path)
    redactor = make_redactor(redact)
    model = _cached(embedder)
    home = _made(folder)
    views = Views(home / VIEWS_FOLDER)
    log = EmbeddedLog(home / LOG_FILE, clock=clock)
    try:
        runner = InlineRunner(log, views, model, clock, time.monotonic)
    except BaseException:
        log.close()
        raise
    runner.start()

    def close() -> None:
        runner.stop()
        log.close()

    def waiter(at: Position, timeout: float) -> bool:
        return runner.wait_for_progress(at.topic, at.partition, at.offset, timeout)

    reader = ViewReader(views, cache_bytes)
    queries = Queries(reader, commands.namespace, model, clock, new_id, weights)
    past = PastViews(log, reader, model, clock)
    session = LogSession(log, waiter, wait_seconds, close, commands.namespace, track, redactor, past)
    session.expect(_ends(log))
    return Memory(session, queries, commands)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogUnavailableError(f"the folder {folder} can't be made: {error.strerror}") from error
    return folder


def connect(
    kafka: str,
    views: str | Path,
    namespace: str | Iterable[str] = DEFAULT_NAMESPACE,
    *,
    embedder: EmbedderSpec = None,
    agent_id: str | None = None,
    thread_id: str | None = None,
    weights: Weights | None = None,
    clock: Clock = utc_now,
    cache_bytes: int = DEFAULT_CACHE_BYTES,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    track: Tracking = "text",
    redact: RedactSpec = None,
) -> Memory:
    """A memory that writes to the brokers `kafka` (`HOST:PORT[,…]`) and reads what workers keep in `views`.

    See `open` for the other arguments. Needs the extra `mnemolog[kafka]`, and workers: `mnemolog worker`.

    Raises:
        LogUnavailableError: no broker answers, or the topics are missing (`mnemolog init` makes them).
    """
    from mnemolog.producers.kafka import KafkaLog

    commands = Commands(make_namespace(namespace), agent_id, thread_id, clock)
    check_seconds("wait_seconds", wait_seconds)
    check_tracking(track)
    check_count("cache_bytes", cache_bytes, 0, 2**62)
    check_path("views", views)  # not as a path: it would take a slash out of s3://
    redactor = make_redactor(redact)
    model = _cached(embedder)
    log = KafkaLog(kafka)
    reader = ViewReader(Views(views), cache_bytes)
    queries = Queries(reader, commands.namespace, model, clock, new_id, weights)
    past, waiter = PastViews(log, reader, model, clock), Watch(reader.applied).wait
    session = LogSession(log, waiter, wait_seconds, log.close, commands.namespace, track, redactor, past)
    return Memory(session, queries, commands)


def _ends(log: Log) -> list[Position]:
    """The last position of each partition: what is durable when a memory is opened, its first read shows."""
    ends = ((topic, log.end_offsets(topic)) for topic in FED_TOPICS)
    return [
        Position(topic, number, end - 1) for topic, offsets in ends for number, end in offsets.items() if end
    ]


def _cached(spec: EmbedderSpec) -> Embedder | None:
    """The embedder, asked once for each text among those in use; queries and rows share what it knows."""
    model = resolve(spec)
    return None if model is None else CachedEmbedder(model)
