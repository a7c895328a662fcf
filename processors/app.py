"""The Faust application: brings records from Kafka to the pumps. The only module that knows Faust.

Faust spends about 0.3 ms on each message that goes through its streams. So its message is here a run: up to
`RUN` records of one partition as they were fetched together. Faust's scheduling strategy cuts the runs, and
one acknowledgement covers a run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import faust
from faust.transport.drivers.aiokafka import Consumer
from faust.types import TP, ConsumerMessage
from mode.threads import WorkerThread

from mnemolog.processors.assignment import Assignment
from mnemolog.processors.partition_pump import Delivery, Source
from mnemolog.processors.shards import FED_TOPICS
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import StoredRecord

RUN = 500
"""Records of one partition that travel together at most."""

BUFFERED_RUNS = 16

HELD_SECONDS = 0.1
"""How often to look whether a source on hold may be fetched again."""

SESSION_SECONDS = 10.0
"""After this silence a worker counts as dead, and others take over its partitions."""


class LeavableThread(WorkerThread):  # type: ignore[misc]
    """Does not keep the process from ending: Faust waits for ever for brokers that are away."""

    def __init__(self, service: Any, **options: Any) -> None:
        super().__init__(service, **options)
        self.daemon = True

    def run(self) -> None:
        """Serve; a stop that was given up ends here, without a word."""
        with suppress(asyncio.CancelledError):
            super().run()


class RunMessage(ConsumerMessage):  # type: ignore[misc]
    """A Faust message that stands for a run of records; its offset is that of the last."""

    records: list[StoredRecord]


class RunScheduling:
    """Cuts what was fetched into runs, and takes the partitions in turn."""

    def iterate(self, records: Mapping[Any, Sequence[Any]]) -> Iterator[tuple[Any, Sequence[Any]]]:
        """Topic partition → its records, as (topic partition, run)."""
        for start in range(0, max(map(len, records.values()), default=0), RUN):
            for tp, fetched in records.items():
                if run := fetched[start : start + RUN]:
                    yield tp, run


class SinkConsumer(Consumer):  # type: ignore[misc]
    """Starts each partition where its views stand, the group's own offsets only inform; and makes runs."""

    logger = logging.getLogger("faust.consumer")

    def _new_consumer_thread(self) -> Any:
        thread = super()._new_consumer_thread()
        thread.Worker = LeavableThread
        return thread

    async def _getmany(self, active_partitions: set[Any] | None, timeout: float) -> Mapping[Any, Any]:
        """Fetch, but not from the sources on hold.

        Pausing a partition in Faust would drop what is fetched of it already.
        """
        wanted = (active_partitions or set()) - self.app.held
        if not wanted:
            await self.sleep(HELD_SECONDS)
            return {}
        longest = HELD_SECONDS if self.app.held else timeout
        fetched: Mapping[Any, Any] = await super()._getmany(wanted, longest)
        return fetched

    async def perform_seek(self) -> None:
        """Seek each assigned partition to what its views need next."""
        owned = self.assignment()
        offsets = {tp: at for tp, at in self.app.assignment.next_offsets().items() if tp in owned}
        self._committed_offset.update({tp: at or None for tp, at in offsets.items()})
        if offsets:
            await self.seek_wait({TP(*tp): at for tp, at in offsets.items()})

    def _to_message(self, tp: Any, run: Sequence[Any]) -> RunMessage:
        last = run[-1]
        message = RunMessage(
            tp.topic,
            tp.partition,
            last.offset,
            last.timestamp / 1000,
            last.timestamp_type,
            (),
            None,
            b"",
            None,
            tp=tp,
            generation_id=self.app.consumer_generation_id,
        )
        message.records = [stored(record) for record in run]
        return message


class WorkerApp(faust.App):  # type: ignore[misc]
    """A Faust app whose partitions are those of an `Assignment`; it is also the gate of its pumps."""

    logger = logging.getLogger("faust.app")
    assignment: Assignment
    held: set[Source]

    def hold(self, source: Source) -> None:
        """Fetch no more of a source."""
        self.held.add(source)

    def release(self, source: Source) -> None:
        """Fetch a source again."""
        self.held.discard(source)

    def _new_transport(self) -> Any:
        transport = super()._new_transport()
        transport.Consumer = SinkConsumer
        return transport


def build_app(kafka: str, group: str, state: Path, assignment: Assignment) -> WorkerApp:
    """An app that reads the fed topics from the brokers `kafka`, as a member of the consumer group `group`.

    `state` is a folder that Faust wants; nothing of worth is in it.
    """
    app = WorkerApp(
        group,
        broker=[f"kafka://{server}" for server in kafka.split(",")],
        key_serializer="raw",
        value_serializer="raw",
        datadir=state,
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        ConsumerScheduler=RunScheduling,
        stream_buffer_maxsize=BUFFERED_RUNS,
        # The pumps finish and drop batches themselves: a rebalance must not wait for a whole backlog.
        stream_wait_empty=False,
        broker_session_timeout=SESSION_SECONDS,
        broker_heartbeat_interval=SESSION_SECONDS / 4,
    )
    app.assignment = assignment
    app.held = set()
    for topic in FED_TOPICS:
        app.agent(app.topic(topic), name=topic)(partial(_receive, app))
    app.on_partitions_revoked.connect(_close, weak=False)
    app.on_rebalance_complete.connect(_open, weak=False)
    return app


async def _open(app: WorkerApp, **_: Any) -> None:
    """Faust waits for this before it seeks and fetches; it does not wait for `on_partitions_assigned`."""
    app.held.clear()
    await app.assignment.open([(tp.topic, tp.partition) for tp in app.consumer.assignment()], gate=app)


async def _close(app: WorkerApp, revoked: set[Any], **_: Any) -> None:  # noqa: ARG001 Faust passes it
    await app.assignment.close()


async def _receive(app: WorkerApp, stream: Any) -> AsyncIterator[None]:
    """Hand each run to its pump, which acknowledges it once it is committed. Nothing here can fail."""
    stream.enable_acks = False
    async for event in stream.events():
        message = event.message
        app.assignment.deliver((message.topic, message.partition), Delivery(message.records, event.ack))
        yield


def stored(record: Any) -> StoredRecord:
    """A fetched record of aiokafka as one of ours."""
    return StoredRecord(
        Position(record.topic, record.partition, record.offset),
        record.timestamp,
        record.key,
        record.value,
        tuple(record.headers),
    )
