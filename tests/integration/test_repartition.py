"""Another number of partitions: the same memories, moments and vectors, in other shards."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from support.command_line import CommandLine
from support.workers import WorkerThread, folded, live, wait_until_caught_up

import mnemolog
from mnemolog.broker import LocalBroker
from mnemolog.embedders import resolve
from mnemolog.processors.deadletters import keep_in
from mnemolog.processors.materialize import Rejected
from mnemolog.producers.clock import utc_now
from mnemolog.producers.kafka import KafkaLog, create_topics
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.topics import CONTEXT, MEMORIES
from mnemolog.storage.layout import Views

pytestmark = pytest.mark.kafka

MODEL = "hashing:16"
NAMES = [f"n{number}" for number in range(7)]


@pytest.fixture
def cli(own_broker: LocalBroker, tmp_path: Path) -> Iterator[CommandLine]:
    create_topics(own_broker.bootstrap, partitions=3)
    yield CommandLine(tmp_path / "unused")


def connect(kafka: str, views: Path) -> mnemolog.Memory:
    return mnemolog.connect(kafka, views, ("n0",), embedder=MODEL, track="off")


def set_largest(kafka: str, size: str) -> None:
    """Give a topic a setting that is not ours."""
    with closing(KafkaAdminClient(bootstrap_servers=kafka)) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, MEMORIES, {"max.message.bytes": size})])


def largest(kafka: str) -> str:
    with closing(KafkaAdminClient(bootstrap_servers=kafka)) as admin:
        described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, MEMORIES)])
        return str(described["topic"][MEMORIES]["max.message.bytes"]["value"])


def fill(root: mnemolog.Memory) -> datetime:
    """Memories, use and context in several namespaces; a moment between them."""
    for name in NAMES:
        mem = root.at(name)
        mem.remember(f"{name} lives in Paris", id="home", key="home")
        mem.mark_used("home")
        mem.set_context("step", 1, agent_id="a")
    time.sleep(0.01)
    moment = datetime.now(UTC)
    time.sleep(0.01)
    for name in NAMES:
        root.at(name).remember(f"{name} lives in Rome", id="new", key="home")
    return moment


def answers(root: mnemolog.Memory, moment: datetime) -> list[object]:
    """All there is to be known, without positions."""
    found: list[object] = []
    for name in NAMES:
        mem = root.at(name)
        hits = mem.recall("where does one live?", include_superseded=True)
        found.append([(hit.memory, hit.score) for hit in hits])
        found.append([item.text for item in mem.list(as_of=moment).items])
        found.append(mem.get_context("step", agent_id="a"))
    return found


def test_nothing_but_the_shards_changes(cli: CommandLine, own_broker: LocalBroker, tmp_path: Path) -> None:
    kafka, views = own_broker.bootstrap, tmp_path / "views"
    target = ("--kafka", kafka, "--views", views, "--embedder", MODEL)
    with connect(kafka, views) as root:
        with WorkerThread(kafka, views, "before", resolve(MODEL)), KafkaLog(kafka) as log:
            moment = fill(root)
            wait_until_caught_up(log, views)
        before = answers(root, moment)
    set_largest(kafka, "2000000")
    for turn, partitions in enumerate((5, 2)):
        report = cli.json(
            "repartition", partitions, "--file", tmp_path / f"log{turn}.jsonl", "--yes", *target
        )
        assert report == {"partitions": partitions, "records": 28, "generation": f"g{turn + 2:06d}"}
        assert Views(views).current().partitions == partitions
        with (
            KafkaLog(kafka) as log,
            mnemolog.connect(kafka, views, ("n0",), embedder=MODEL, track="off") as root,
        ):
            assert {log.partitions(topic) for topic in (MEMORIES, CONTEXT)} == {partitions}
            assert live(views) == folded(log, resolve(MODEL))
            assert answers(root, moment) == before
    assert largest(kafka) == "2000000"
    with KafkaLog(kafka) as log, connect(kafka, views) as root:
        with WorkerThread(kafka, views, "after", resolve(MODEL)):
            for name in NAMES:
                root.at(name).remember(f"{name} has a cat", id="cat")
                assert root.at(name).recall("has a cat", k=1).ids == ["cat"]
            wait_until_caught_up(log, views)
        assert live(views) == folded(log, resolve(MODEL))


def test_what_still_writes_stops_it_before_anything_is_changed(
    cli: CommandLine, own_broker: LocalBroker, tmp_path: Path
) -> None:
    kafka, views, file = own_broker.bootstrap, tmp_path / "views", tmp_path / "log.jsonl"
    target, stop = ("--kafka", kafka, "--views", views), threading.Event()
    with connect(kafka, views) as root:

        def write() -> None:
            while not stop.is_set():
                root.remember("again")
                time.sleep(0.05)

        writer = threading.Thread(target=write)
        writer.start()
        result = cli.run("repartition", 2, "--file", file, "--yes", *target)
        stop.set()
        writer.join()
    assert "mnemolog import" not in result.output
    assert result.exit_code != 0
    assert "still writing" in result.output
    assert not file.exists()
    with KafkaLog(kafka) as log:
        assert log.partitions(MEMORIES) == 3
        assert sum(log.end_offsets(MEMORIES).values()) > 0


def test_what_makes_no_sense_changes_nothing(
    cli: CommandLine, own_broker: LocalBroker, tmp_path: Path
) -> None:
    new, taken = tmp_path / "new", tmp_path / "taken"
    taken.write_text("mine")
    target = ("--kafka", own_broker.bootstrap, "--views", tmp_path / "views")
    for arguments, told in (
        ((2, "--file", new, *target), "--yes"),
        ((3, "--file", new, "--yes", *target), "3 partitions already"),
        ((2, "--file", taken, "--yes", *target), "there already"),
        ((0, "--file", new, "--yes", *target), "greater than or equal to 1"),
        ((2, "--file", new, "--yes", "--path", tmp_path), "an embedded memory is exported"),
        ((2, "--file", tmp_path / "no" / "folder", "--yes", *target), "can't be written"),
    ):
        result = cli.run("repartition", *arguments)
        assert result.exit_code == 2
        assert told in result.output
    with KafkaLog(own_broker.bootstrap) as log:
        record = StoredRecord(Position(MEMORIES, 0, 0), 0, b"n", b"bad", ())
        keep_in(log, utc_now)([Rejected(record, "it is bad")])
        result = cli.run("repartition", 2, "--file", new, "--yes", *target)
        assert result.exit_code == 2
        assert "1 dead letters wait" in result.output
    assert not new.exists()
    assert taken.read_text() == "mine"
    with KafkaLog(own_broker.bootstrap) as log:
        assert log.partitions(MEMORIES) == 3
