"""Continuous consolidation: new memories of a shard become facts, beside the stream of events."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from mnemolog.processors.consolidation import (
    MAX_EVENT_BYTES,
    Read,
    assertions,
    extract,
    news,
    operations,
    part,
)
from mnemolog.processors.deadletters import to_deadletter
from mnemolog.processors.materialize import Rejected
from mnemolog.processors.reactors.unconsolidated import Unconsolidated, Waiting, last_said
from mnemolog.schemas import events as ev
from mnemolog.schemas.codec import encode
from mnemolog.schemas.consolidation_events import MAX_FACTS
from mnemolog.schemas.errors import ExtractionError, ExtractorUnavailableError, ViewError, ViewMissingError
from mnemolog.schemas.extraction import Extraction, Extractor, name_of
from mnemolog.schemas.facts import digest_of, timeline_of
from mnemolog.schemas.namespaces import Namespace, decode_namespace
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.rows import Row
from mnemolog.schemas.topics import MEMORIES

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock, Log, NewId
    from mnemolog.storage.layout import Manifest, Views

EVERY, SECONDS, BATCH = 20, 600.0, 200
IMPORTANCE = 0.7
APPLY_SECONDS = 30.0
LOOK_SECONDS = 10.0
"""A look goes on for so long at most, so that an owner that lost its shard stops."""

_POLL_SECONDS = 0.02
_FIRST_PAUSE_SECONDS = 0.2

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """When a namespace is consolidated, and how much at once.

    After `every` new memories, or `seconds` after the first of them; up to `batch` memories a step (at most
    1,000), in `concurrency` namespaces at a time. A memory that makes the extractor fail is tried `attempts`
    times, then it is a dead letter.
    """

    every: int = EVERY
    seconds: float = SECONDS
    batch: int = BATCH
    concurrency: int = 4
    attempts: int = 3


@dataclass(slots=True)
class _Found:
    """What a step found: facts, what failed and why, and what it took."""

    facts: list[Any] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    parts: list[Extraction] = field(default_factory=list)


class ConsolidationReactor:
    """Consolidates the namespaces of one shard.

    A step is one event: its facts, and how far they go. It counts only if no other step came first, so two
    owners, a crash or a retry neither lose nor double anything, also where the extractor says something else
    each time. `item_of` makes of a row what extractors get.
    """

    def __init__(
        self,
        views: Views,
        manifest: Manifest,
        partition: int,
        log: Log,
        clock: Clock,
        new_id: NewId,
        extractor: Extractor,
        item_of: Callable[[Row], Any],
        pace: Pace,
    ) -> None:
        self._unread = Unconsolidated(views, manifest, partition)
        self._partition = partition
        self._log = log
        self._clock = clock
        self._new_id = new_id
        self._extractor = extractor
        self._item_of = item_of
        self._pace = pace

    def look(self) -> int:
        """Consolidate what is due; how many memories were read.

        Raises:
            ExtractorUnavailableError: the model does not answer; nothing is lost, the next look tries again.
            MnemologError: a view could not be read, or the log takes nothing.
        """
        try:
            return sum(self._steps())
        except ViewMissingError:
            return 0

    def _steps(self) -> Iterator[int]:
        deadline = time.monotonic() + LOOK_SECONDS
        while time.monotonic() < deadline:
            self._unread.follow()
            due = [name for name, waiting in sorted(self._unread.namespaces.items()) if self._is_due(waiting)]
            if not due:
                return
            with ThreadPoolExecutor(self._pace.concurrency, thread_name_prefix="mnemolog-extract") as threads:
                prepared = [(name, self._rows(name)) for name in due[: self._pace.concurrency]]
                steps = [threads.submit(self._event, name, rows) for name, rows in prepared if rows]
                done = [step.result() for step in steps]
            yield sum(self._append(step) for step in done)

    def _is_due(self, waiting: Waiting) -> bool:
        if not waiting.memories:
            return False
        if len(waiting.memories) >= self._pace.every:
            return True
        return (self._clock() - waiting.since()).total_seconds() >= self._pace.seconds

    def _rows(self, name: str) -> list[Row]:
        waiting = self._unread.namespaces[name]
        return self._unread.rows(waiting, waiting.oldest(self._pace.batch), self._clock())

    def _event(self, name: str, rows: Sequence[Row]) -> tuple[ev.FactsAsserted, list[Rejected]]:
        """The step that reads these memories, or the first of them if they give too much for one event."""
        namespace = decode_namespace(name)
        found = self._extract(rows)
        parts = self._news(namespace, rows, found)
        while len(rows) > 1 and _too_much(parts):
            rows = rows[: len(rows) // 2]
            found = self._extract(rows)
            parts = self._news(namespace, rows, found)
        if _too_much(parts):
            found = _Found(failed={rows[0]["id"]: "it gives more facts than one event holds"})
            parts = []
        previous = self._unread.namespaces[name].progress.event_id
        event = ev.FactsAsserted(
            event_id=self._new_id(),
            namespace=namespace,
            occurred_at=self._clock(),
            read=tuple(_source(row) for row in rows),
            facts=tuple(parts),
            importance=IMPORTANCE,
            made_by=_made_by(self._extractor, found.parts),
            run=ev.Run(previous=previous, failed=tuple(found.failed)),
        )
        by_id = {row["id"]: row for row in rows}
        return event, [self._dead(namespace, by_id[one], reason) for one, reason in found.failed.items()]

    def _extract(self, rows: Sequence[Row]) -> _Found:
        found = _Found()
        ordered = sorted(rows, key=lambda row: (row["occurred_at"], row["id"]))
        self._extract_into(found, [self._item_of(row) for row in ordered])
        return found

    def _extract_into(self, found: _Found, items: Sequence[Any]) -> None:
        """Ask for all, and where that fails for each half, so that one bad memory costs no other."""
        try:
            self._take(found, extract(self._extractor, items))
        except ExtractorUnavailableError:
            raise
        except ExtractionError as error:
            if len(items) == 1:
                self._try_again(found, items, error)
                return
            logger.warning("partition %d: %d memories in two halves: %s", self._partition, len(items), error)
            half = len(items) // 2
            self._extract_into(found, items[:half])
            self._extract_into(found, items[half:])

    def _try_again(self, found: _Found, items: Sequence[Any], error: ExtractionError) -> None:
        pause = _FIRST_PAUSE_SECONDS
        for _ in range(self._pace.attempts - 1):
            time.sleep(pause)
            pause *= 2
            try:
                self._take(found, extract(self._extractor, items))
            except ExtractorUnavailableError:
                raise
            except ExtractionError as again:
                error = again
            else:
                return
        found.failed[items[0].id] = str(error)

    def _take(self, found: _Found, answer: Extraction) -> None:
        for reason in answer.rejected:
            logger.warning("partition %d: left out: %s", self._partition, reason)
        found.facts += answer.facts
        found.parts.append(answer)

    def _news(self, namespace: Namespace, rows: Sequence[Row], found: _Found) -> list[ev.FactFound]:
        read = [Read(row["id"], row["occurred_at"], "") for row in rows if row["id"] not in found.failed]
        made = assertions(namespace, found.facts, read) if read else []
        timeline = partial(timeline_of, namespace)
        known = self._unread.table.lookup("timeline", {timeline(fact.subject) for fact in made})
        return [part(fact) for fact in news(operations(made, timeline, known))]

    def _dead(self, namespace: Namespace, row: Row, reason: str) -> Rejected:
        """A dead letter: tried again, it asks to read the memory again."""
        event = ev.ConsolidationRequested(
            event_id=self._new_id(),
            namespace=namespace,
            occurred_at=self._clock(),
            memory_ids=(row["id"],),
            reason="its dead letter was tried again",
        )
        (record,) = encode(event)
        at = Position(MEMORIES, self._partition, last_said(row)["offset"])
        reason = f"no facts were found in the memory {row['id']}: {reason}"
        return Rejected(StoredRecord(at, 0, record.key, record.value, record.headers), reason)

    def _append(self, step: tuple[ev.FactsAsserted, list[Rejected]]) -> int:
        event, failed = step
        letters = [record for bad in failed for record in encode(to_deadletter(bad, self._clock))]
        if letters:
            self._log.append(letters)
        (at,) = self._log.append(encode(event))
        deadline = time.monotonic() + APPLY_SECONDS
        while self._unread.table.applied() <= at.offset:
            if time.monotonic() > deadline:
                raise ViewError(f"the view has not applied {at} within {APPLY_SECONDS:g} s")
            time.sleep(_POLL_SECONDS)
        logger.info(
            "partition %d: read %d memories of %s, %d facts, %d failed",
            self._partition,
            len(event.read),
            "/".join(event.namespace),
            len(event.facts),
            len(failed),
        )
        return len(event.read)


def _too_much(parts: Sequence[ev.FactFound]) -> bool:
    if len(parts) > MAX_FACTS:
        return True
    return sum(len(one.model_dump_json()) for one in parts) > MAX_EVENT_BYTES


def _source(row: Row) -> ev.SourceRead:
    return ev.SourceRead(id=row["id"], digest=digest_of(row["text"]), change=last_said(row)["event_id"])


def _made_by(extractor: Extractor, parts: Sequence[Extraction]) -> ev.MadeBy:
    model = next((one.model for one in parts if one.model), None)
    version = next((one.version for one in parts if one.version), None)
    return ev.MadeBy(
        extractor=name_of(extractor),
        model=model,
        version=version,
        input_tokens=sum(one.input_tokens for one in parts),
        output_tokens=sum(one.output_tokens for one in parts),
    )
