"""The worker on a real broker: every record once, whatever dies."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.structs import OffsetAndMetadata
from numpy.typing import NDArray
from support.streams import append, mixed, remembered, users
from support.telemetry import Scrape, address_in, scrape
from support.workers import (
    WorkerProcess,
    WorkerThread,
    folded,
    live,
    wait_until,
    wait_until_caught_up,
)

from mnemolog.broker import LocalBroker
from mnemolog.broker.ports import free_port, is_taken
from mnemolog.embedders import CallableEmbedder, HashingEmbedder
from mnemolog.processors.replay import replay
from mnemolog.producers.commands import Commands
from mnemolog.producers.kafka import KafkaLog, create_topics
from mnemolog.schemas.codec import decode, encode
from mnemolog.schemas.events import RecordDeadLettered
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record
from mnemolog.schemas.topics import DEADLETTERS, FEEDBACK, MEMORIES
from mnemolog.storage.layout import Views
from mnemolog.worker import run_worker


@pytest.fixture(scope="module")
def log(broker: LocalBroker) -> Iterator[KafkaLog]:
    create_topics(broker.bootstrap)
    with KafkaLog(broker.bootstrap) as opened:
        yield opened


@pytest.fixture
def views(tmp_path: Path) -> Path:
    return tmp_path / "views"


def test_what_is_appended_becomes_rows_and_a_stop_is_clean(
    broker: LocalBroker, log: KafkaLog, views: Path, topic_prefix: str
) -> None:
    with WorkerProcess(broker.bootstrap, views, topic_prefix, "hashing", "--metrics-port", "0") as worker:
        append(log, mixed(users(topic_prefix), 300, "before"))
        wait_until_caught_up(log, views)
        append(log, mixed(users(topic_prefix), 300, "after"))
        wait_until_caught_up(log, views)
        check_metrics(scrape(address_in(worker.said)), log)
        assert worker.stop() == 0
    assert live(views) == folded(log, HashingEmbedder())
    assert worker.said.count(f"kafka={broker.bootstrap} group={topic_prefix}") == 1
    said = [line for line in worker.said.splitlines() if "a setting of" not in line]  # other tests' bad ones
    assert not any(level in line for line in said for level in ("WARNING", "ERROR")), worker.said


def check_metrics(value: Scrape, log: KafkaLog) -> None:
    """What a worker that has caught up with all of `log` says of it."""
    for view, topic in {"memories": MEMORIES, "usage": FEEDBACK, "usefulness": FEEDBACK}.items():
        ends = log.end_offsets(topic)
        assert value("mnemolog_worker_records_total", view=view) == sum(ends.values())
        assert [value("mnemolog_worker_lag_events", view=view, partition=str(n)) for n in ends] == [0] * 4
        commits = value("mnemolog_worker_commit_seconds_count", view=view)
        assert commits == value("mnemolog_worker_batch_seconds_count", view=view) != 0
    assert value("mnemolog_worker_partitions") == 4
    assert value("mnemolog_worker_rebalances_total") == 1
    assert value("mnemolog_worker_restarts_total") == 0
    assert (value("mnemolog_worker_rows_total", view="memories") or 0) > 300
    assert (value("mnemolog_embedding_texts_total") or 0) > 300
    assert value("mnemolog_embedding_errors_total") == value("mnemolog_scrape_errors_total") == 0
    assert value("process_cpu_seconds_total")


def test_bad_records_are_dead_lettered_and_the_rest_is_applied(
    broker: LocalBroker, log: KafkaLog, views: Path, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    """F12, F13."""
    user = Commands((topic_prefix, "one"))
    key = encode_namespace(user.namespace).encode()
    good = [encode(user.remember(f"good {number}", id=f"good-{number}"))[0] for number in range(4)]
    assert good[0].value is not None
    unknown = Record(MEMORIES, key, good[0].value.replace(b"MemoryRemembered", b"MemoryDreamt"))
    bad = [Record(MEMORIES, key, b"\xff\x00 no event"), unknown, Record(MEMORIES, key, None)]
    port, before = free_port(), len(dead_letters(log))
    with WorkerThread(broker.bootstrap, views, topic_prefix, metrics_port=port):
        mixture = [record for pair in zip(good, [*bad, good[3]], strict=True) for record in pair]
        positions = log.append(mixture)
        wait_until_caught_up(log, views)
        value = scrape(f"http://127.0.0.1:{port}/metrics")
        assert value("mnemolog_worker_dead_letters_total") == before + 3
        assert value("mnemolog_dead_letters") == before + 3
        code = run_worker(kafka=broker.bootstrap, views=views, group=topic_prefix, metrics_port=port)
        assert code == 1
    assert f"port {port} of 127.0.0.1 is taken; choose another with --metrics-port" in caplog.text
    assert not is_taken(port)
    assert live(views) == folded(log)
    rejected = {positions[number]: reason for number, reason in ((1, "JSON"), (3, "MemoryDreamt"), (5, "no"))}
    letters = dead_letters(log)
    for position, reason in rejected.items():
        assert reason in letters[position]
    assert not letters.keys() & (set(positions) - rejected.keys())
    rows = live(views)["memories", positions[0].partition].values()
    assert {row["id"] for row in rows if row["namespace"] == key.decode()} == {f"good-{n}" for n in range(4)}


def dead_letters(log: KafkaLog) -> dict[Position, str]:
    """Position → reason."""
    found = {}
    for number, end in log.end_offsets(DEADLETTERS).items():
        for record in log.read(DEADLETTERS, number, 0, end):
            event = decode(record)
            assert isinstance(event, RecordDeadLettered)
            found[Position(event.topic, event.partition, event.offset)] = event.reason
    return found


def test_the_group_offsets_do_not_matter_the_views_do(
    broker: LocalBroker, log: KafkaLog, views: Path, topic_prefix: str
) -> None:
    """E1: the group is set back to the beginning, then ahead of what was applied."""
    who = users(topic_prefix)
    events = mixed(who, 100, "first")
    with WorkerThread(broker.bootstrap, views, topic_prefix):
        append(log, [*events, *events])
        wait_until_caught_up(log, views)
    before = live(views)
    set_group(broker, topic_prefix, dict.fromkeys([(MEMORIES, n) for n in range(4)], 0))
    with WorkerThread(broker.bootstrap, views, topic_prefix):
        wait_until_caught_up(log, views)
    assert live(views) == before == folded(log)
    append(log, mixed(who, 100, "second"))
    ends = {(topic, n): end for topic in (MEMORIES, FEEDBACK) for n, end in log.end_offsets(topic).items()}
    set_group(broker, topic_prefix, ends)
    with WorkerThread(broker.bootstrap, views, topic_prefix):
        wait_until_caught_up(log, views)
    assert live(views) == folded(log)


def set_group(broker: LocalBroker, group: str, offsets: dict[tuple[str, int], int]) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    admin.alter_group_offsets(
        group, {TopicPartition(*source): OffsetAndMetadata(at, "", -1) for source, at in offsets.items()}
    )
    admin.close()


def test_killed_joined_and_taken_over_while_events_stream(
    broker: LocalBroker, log: KafkaLog, views: Path, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    """F16, F19: one worker, two more join, the first dies by kill -9, one of the others leaves."""
    caplog.set_level(logging.INFO, "mnemolog")
    ending = threading.Event()
    writer = threading.Thread(target=keep_appending, args=(log, users(topic_prefix), ending))
    with WorkerProcess(broker.bootstrap, views, topic_prefix) as first:
        first.wait_for("owns mnemolog")
        writer.start()
        with WorkerThread(broker.bootstrap, views, topic_prefix):
            first.wait_for("owns mnemolog", times=2)
            with WorkerThread(broker.bootstrap, views, topic_prefix):
                first.wait_for("owns mnemolog", times=3)
                first.kill()
                before = caplog.text.count("owns mnemolog")
                wait_until(
                    lambda: caplog.text.count("owns mnemolog") == before + 2, "the others to take over"
                )
            wait_until(lambda: caplog.text.count("owns mnemolog") == before + 3, "the last one to own all")
            ending.set()
            writer.join()
            wait_until_caught_up(log, views)
    assert live(views) == folded(log)


def keep_appending(log: KafkaLog, who: Sequence[Commands], ending: threading.Event) -> None:
    number = 0
    while not ending.wait(0.1):
        append(log, mixed(who, 10, f"round{number}"))
        number += 1


def test_a_spare_worker_waits_and_brokers_may_come_and_go(
    own_broker: LocalBroker, views: Path, topic_prefix: str
) -> None:
    """F15, K2: one partition, two workers; the broker is killed, comes back, and is gone at the end."""
    create_topics(own_broker.bootstrap, partitions=1)
    kafka, who = own_broker.bootstrap, users(topic_prefix, 2)
    more = ("none", "--metrics-port", "0")
    with KafkaLog(kafka) as log, WorkerProcess(kafka, views, "g", *more) as first:
        first.wait_for("owns mnemolog")
        address = address_in(first.said)
        with WorkerProcess(kafka, views, "g") as second:
            second.wait_for("owns ")
            append(log, remembered(who, 50, "shared"))
            wait_until_caught_up(log, views)
            idle = [worker for worker in (first, second) if "stands by" in worker.said]
            assert len(idle) == 1 and "ERROR" not in first.said + second.said
            own_broker.kill()
            first.wait_for("no Kafka broker answers")
            value = scrape(address)  # within its timeout
            assert value("mnemolog_worker_partitions") is not None
            assert value("mnemolog_worker_lag_events", view="memories", partition="0") is None
            assert (value("mnemolog_scrape_errors_total") or 0) >= 1
            own_broker.start()
            append(log, remembered(who, 50, "afterwards"))
            wait_until_caught_up(log, views)
            assert len((first.said + second.said).splitlines()) < 60, first.said + second.said
            assert live(views) == folded(log)
            assert second.stop() == 0
            lag = partial(scrape, address)
            owned = {"view": "memories", "partition": "0"}
            wait_until(lambda: lag()("mnemolog_worker_lag_events", **owned) == 0, "the lag of the one left")
        own_broker.kill()
        assert first.stop() == 0


class MoodyModel:
    """Hashing that hates one word, and that can be down altogether."""

    def __init__(self) -> None:
        self.down = False
        self._model = HashingEmbedder(32)

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        if self.down or any("poison" in text for text in texts):
            raise RuntimeError("no")
        return self._model.embed(texts)


def test_an_embedder_that_fails_delays_vectors_and_nothing_else(
    broker: LocalBroker, log: KafkaLog, views: Path, topic_prefix: str
) -> None:
    model, user = MoodyModel(), Commands((topic_prefix, "one"))
    with WorkerThread(broker.bootstrap, views, topic_prefix, CallableEmbedder(model, "moody", 32)):
        append(log, [user.remember("a poison text", id="poison"), *remembered([user], 20, "early")])
        wait_until_caught_up(log, views)
        assert without_vector(views, user) == {"poison"}
        model.down = True
        append(log, remembered([user], 20, "late"))
        wait_until_caught_up(log, views)
        assert len(without_vector(views, user)) == 21
        model.down = False
        wait_until(lambda: without_vector(views, user) == {"poison"}, "the late vectors")
        append(log, remembered([user], 20, "later"))
        wait_until_caught_up(log, views)
        assert without_vector(views, user) == {"poison"}


def without_vector(views: Path, user: Commands) -> set[str]:
    namespace = encode_namespace(user.namespace)
    rows = [row for shard in live(views).values() for row in shard.values()]
    return {
        row["id"] for row in rows if row["namespace"] == namespace and "text" in row and "vector" not in row
    }


def test_the_worker_follows_a_flip(
    broker: LocalBroker, log: KafkaLog, views: Path, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "mnemolog")
    who = users(topic_prefix)
    with WorkerThread(broker.bootstrap, views, topic_prefix):
        append(log, mixed(who, 50, "old"))
        wait_until_caught_up(log, views)
        report = replay(log, Views(views), None)
        append(log, mixed(who, 50, "new"))
        wait_until_caught_up(log, views)
    assert Views(views).current().generation == report.manifest.generation
    assert "the live generation is now " + report.manifest.generation in caplog.text
    assert live(views) == folded(log)


def test_what_a_person_must_put_right_ends_the_worker_with_a_hint(
    broker: LocalBroker, own_broker: LocalBroker, log: KafkaLog, views: Path, caplog: Any
) -> None:
    assert run_worker(kafka=own_broker.bootstrap, views=views, group="g") == 1
    assert "mnemolog init" in caplog.text
    replay(log, Views(views), None)
    assert run_worker(kafka=broker.bootstrap, views=views, group="g", embedder=HashingEmbedder()) == 1
    assert "mnemolog replay" in caplog.text
    caplog.clear()
    create_topics(own_broker.bootstrap)
    assert run_worker(kafka=own_broker.bootstrap, views=views, group="g") == 1
    assert "the log ends at 0" in caplog.text
