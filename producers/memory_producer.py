"""The write-only handle: it remembers without views, embedder or anything heavy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from mnemolog.producers.arguments import (
    EpisodeFields,
    FactFields,
    ProcedureFields,
    ReflectionFields,
    RememberFields,
    RewardFields,
    UpdateFields,
)
from mnemolog.producers.building import Ids
from mnemolog.producers.bulk import deliver, encode_checked
from mnemolog.producers.clock import utc_now
from mnemolog.producers.commands import Commands
from mnemolog.producers.deliveries import BulkLog
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.ingest import OnProgress, ingest
from mnemolog.producers.jsonl import Source
from mnemolog.producers.receipts import Receipt
from mnemolog.producers.redaction import Redactor, RedactSpec, make_redactor, redacted
from mnemolog.producers.reports import DeliveryReport, IngestReport
from mnemolog.producers.tracing import checked_trace
from mnemolog.schemas.checks import check_path
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.events import Envelope, MemoryRemembered
from mnemolog.schemas.namespaces import Namespace, make_namespace
from mnemolog.schemas.ports import Clock
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import GiveTrace, no_trace, with_headers
from mnemolog.schemas.topics import MEMORIES

DEFAULT_NAMESPACE = "default"
LOG_FILE = "log.sqlite"


class MemoryProducer:
    """Writes the events of one namespace. Made by `open` or `connect`; threads may share it.

    Every write returns once its event is durable in the log. Nothing is looked up: whether an id exists is
    only seen by the views. Raises only `MnemologError`s: InvalidInputError for bad arguments (nothing was
    appended), LogError when an event could not be made durable.
    """

    def __init__(
        self, log: BulkLog, commands: Commands, redactor: Redactor | None = None, trace: GiveTrace = no_trace
    ) -> None:
        self._log = log
        self._commands = commands
        self._redactor = redactor
        self._trace = trace

    @classmethod
    def open(
        cls,
        path: str | Path,
        namespace: str | Iterable[str] = DEFAULT_NAMESPACE,
        *,
        agent_id: str | None = None,
        thread_id: str | None = None,
        clock: Clock = utc_now,
        redact: RedactSpec = None,
        trace: GiveTrace = no_trace,
    ) -> Self:
        """A producer on the embedded log in the folder `path`, the one that `mnemolog.open(path)` reads.

        `trace` gives the trace that each write belongs to: `mnemolog.telemetry.trace_headers`, or another
        function that gives `traceparent` and perhaps `tracestate`, as pairs of a name and bytes.

        Raises:
            InvalidInputError: an argument that makes no sense.
            LogUnavailableError: the log can't be opened.
        """
        commands = Commands(make_namespace(namespace), agent_id, thread_id, clock)
        redactor, traced = make_redactor(redact), checked_trace(trace)
        return cls(EmbeddedLog(check_path("path", path) / LOG_FILE, clock=clock), commands, redactor, traced)

    @classmethod
    def connect(
        cls,
        kafka: str,
        namespace: str | Iterable[str] = DEFAULT_NAMESPACE,
        *,
        agent_id: str | None = None,
        thread_id: str | None = None,
        clock: Clock = utc_now,
        timeout_seconds: float = 30.0,
        options: Mapping[str, Any] | None = None,
        redact: RedactSpec = None,
        trace: GiveTrace = no_trace,
    ) -> Self:
        """A producer on the brokers `kafka` (`HOST:PORT[,…]`); see `producers.kafka.KafkaLog`.

        `trace`: see `open`.

        Raises:
            InvalidInputError: an argument that makes no sense.
            LogUnavailableError: no broker answers, or the topics are missing (`mnemolog init` makes them).
        """
        from mnemolog.producers.kafka import KafkaLog

        commands = Commands(make_namespace(namespace), agent_id, thread_id, clock)
        redactor, traced = make_redactor(redact), checked_trace(trace)
        log = KafkaLog(kafka, timeout_seconds=timeout_seconds, options=options)
        log.partitions(MEMORIES)
        return cls(log, commands, redactor, traced)

    @property
    def namespace(self) -> Namespace:
        """The namespace that this producer writes."""
        return self._commands.namespace

    @property
    def redacted(self) -> dict[str, int]:
        """Kind → how often redaction took it out of what this producer wrote."""
        return {} if self._redactor is None else self._redactor.counts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the log. What was written stays."""
        self._log.close()

    def remember(self, text: str, **fields: Unpack[RememberFields]) -> Receipt:
        """Remember `text`, up to 64 KiB. See `Commands.remember` for the fields."""
        return self._remembered(self._commands.remember(text, **fields))

    def update(self, id: str, **changes: Unpack[UpdateFields]) -> Receipt:  # noqa: A002 the public name of the field
        """Change the given fields of a memory; all others stay. See `Commands.update`."""
        return Receipt(id, self._append(self._commands.update(id, **changes)))

    def supersede(
        self,
        id: str,  # noqa: A002 the public name of the field
        by: str,
        *,
        reason: str | None = None,
        event_id: str | None = None,
    ) -> Receipt:
        """Let the memory `by` replace the memory `id`, which stays as history."""
        return Receipt(id, self._append(self._commands.supersede(id, by, reason=reason, event_id=event_id)))

    def forget(self, ids: Ids, *, reason: str | None = None, event_id: str | None = None) -> Receipt:
        """Forget one memory, or up to 1,000: their content leaves every view. Unknown ids are harmless."""
        event = self._commands.forget(ids, reason=reason, event_id=event_id)
        return Receipt(event.memory_ids[0], self._append(event))

    def remember_episode(self, content: str, **fields: Unpack[EpisodeFields]) -> Receipt:
        """Remember something that happened; see `Commands.remember_episode`."""
        return self._remembered(self._commands.remember_episode(content, **fields))

    def know_fact(
        self,
        subject: str,
        predicate: str,
        object: str,  # noqa: A002 the field's standard name
        **fields: Unpack[FactFields],
    ) -> Receipt:
        """Remember a triple; see `Commands.know_fact`."""
        return self._remembered(self._commands.know_fact(subject, predicate, object, **fields))

    def learn_procedure(
        self, name: str, steps: Sequence[Mapping[str, Any]], **fields: Unpack[ProcedureFields]
    ) -> Receipt:
        """Remember how to do something; see `Commands.learn_procedure`."""
        return self._remembered(self._commands.learn_procedure(name, steps, **fields))

    def reflect(self, content: str, lesson: str, **fields: Unpack[ReflectionFields]) -> Receipt:
        """Remember a thought and its lesson; see `Commands.reflect`."""
        return self._remembered(self._commands.reflect(content, lesson, **fields))

    def record_reward(
        self, state: str, action: str, reward: float, **fields: Unpack[RewardFields]
    ) -> Receipt:
        """Remember what an action in a state was worth; see `Commands.record_reward`."""
        return self._remembered(self._commands.record_reward(state, action, reward, **fields))

    def link(
        self,
        id: str,  # noqa: A002 the public name of the field
        target: str,
        relation: str = "related",
    ) -> Receipt:
        """Link the memory `id` to the memory `target`, as its `relation`."""
        return Receipt(id, self._append(self._commands.link(id, target, relation)))

    def unlink(
        self,
        id: str,  # noqa: A002 the public name of the field
        target: str,
        relation: str | None = None,
    ) -> Receipt:
        """Take a link away; without a `relation` all from `id` to `target`."""
        return Receipt(id, self._append(self._commands.unlink(id, target, relation)))

    def feedback(
        self,
        recall_id: str | None = None,
        *,
        used: Ids = (),
        ignored: Ids = (),
        ratings: Mapping[str, float] | None = None,
        event_id: str | None = None,
    ) -> Receipt:
        """Say which of the memories that a recall showed were used and which were ignored.

        The same feedback on the same recall counts once.
        """
        event = self._commands.feedback(
            recall_id, used=used, ignored=ignored, ratings=ratings, event_id=event_id
        )
        return Receipt(event.event_id, self._append(event))

    def write(self, event: Envelope) -> Receipt:
        """Append an event of `mnemolog.schemas.events`, whatever its namespace; the receipt has its id."""
        position = self._append(event)
        return Receipt(event.event_id, position)

    def write_batch(self, events: Iterable[Envelope]) -> list[DeliveryReport]:
        """Append many events quickly, and report on each, in order. One that fails does not stop the others.

        Not all or nothing: an event that failed may be written again with the same event id.
        """
        if not isinstance(events, Iterable):
            raise InvalidInputError(f"events: give a list of events, not {events!r:.80}", field="events")
        said = redacted(events, self._redactor)
        marked = ((None, event) for event in said)
        return [report for _, report in deliver(self._log, marked, self._trace())]

    def write_jsonl(
        self, source: Source, on_progress: OnProgress | None = None, *, strict: bool = False
    ) -> IngestReport:
        """Load a file of JSON lines, a path or an open file, without reading it into memory.

        A line with a `type` is a whole event, as `mnemolog export` writes it. Any other holds the fields of a
        memory: `text`, and perhaps kind, importance, tags, key, id, author, thread_id, agent_id, source,
        metadata, occurred_at, expires_at (ISO 8601, or seconds since 1970), pinned, event_id, and `namespace`
        (a list of parts, or "part/part"). Null is the same as nothing. Blank lines are skipped.

        The same file loaded twice makes the same memories: a line without id and key gets an id of its
        content. A line that is not good is reported, and the others are loaded; `strict` stops there.

        Raises:
            InvalidInputError: the file can't be opened; or, with `strict`, a line is not good.
            LogUnavailableError: the log gave up on a line. Loading the file again is harmless.
        """
        return ingest(self._log, self._commands, source, on_progress, strict, self._redactor, self._trace())

    def _remembered(self, event: MemoryRemembered) -> Receipt:
        return Receipt(event.memory_id, self._append(event))

    def _append(self, event: Envelope) -> Position:
        (said,) = redacted([event], self._redactor)
        return self._log.append(with_headers(encode_checked(said), self._trace()))[0]
