"""Compaction by a real broker: the log's readers, a worker and a replay get over the gaps."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from support.contexts import put
from support.workers import WorkerProcess, wait_until

import mnemolog
from mnemolog.broker import LocalBroker
from mnemolog.processors.generations import read_contents
from mnemolog.processors.replay import replay
from mnemolog.producers.kafka import KafkaLog, create_topics
from mnemolog.schemas.codec import encode
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.topics import CONTEXT
from mnemolog.storage.layout import Views

KEYS, ROUNDS = 60, 20
AT_ONCE = {"segment.ms": "200", "min.cleanable.dirty.ratio": "0.001"}


@pytest.fixture
def log(own_broker: LocalBroker) -> Iterator[KafkaLog]:
    """The log of a broker that compacts within a second, by one partition."""
    create_topics(own_broker.bootstrap, partitions=1)
    admin: Any = KafkaAdminClient(bootstrap_servers=own_broker.bootstrap)
    topic = ConfigResource(ConfigResourceType.TOPIC, CONTEXT, configs=AT_ONCE)
    node = ConfigResource(ConfigResourceType.BROKER, "1", configs={"log.cleaner.backoff.ms": "200"})
    admin.alter_configs([topic, node])
    admin.close()
    opened = KafkaLog(own_broker.bootstrap)
    yield opened
    opened.close()


def write_until_compacted(log: KafkaLog) -> dict[str, int]:
    """Rewrite a few keys, singly and in batches, until the broker has thrown most of it away; key → value."""
    dice, last = random.Random(3), dict[str, int]()
    for number in range(ROUNDS):
        keys = dice.sample(range(KEYS), dice.choice([1, 5, 40]))
        log.append([record for key in keys for record in encode(put(f"k{key}", number))])
        last |= {f"k{key}": number for key in keys}
    written = log.end_offsets(CONTEXT)[0]

    def is_compacted() -> bool:
        log.append(encode(put("tick", 0)))  # only what is older than the segment at hand is compacted
        return len([one for one in whole(log) if one.position.offset < written]) <= len(last)

    wait_until(is_compacted, "the broker to compact")
    wait_until(lambda: _rests(log), "the broker to have done")
    return {**last, "tick": 0}


def _rests(log: KafkaLog) -> bool:
    before = whole(log)
    time.sleep(1)
    return whole(log) == before


def whole(log: KafkaLog) -> list[StoredRecord]:
    found: list[StoredRecord] = []
    while records := log.read(CONTEXT, 0, found[-1].position.offset + 1 if found else 0, 50):
        found += records
    return found


def test_every_reader_gets_over_the_gaps(own_broker: LocalBroker, log: KafkaLog, tmp_path: Path) -> None:
    last = write_until_compacted(log)
    left, end = whole(log), log.end_offsets(CONTEXT)[0]
    assert {json.loads(one.value or b"")["key"] for one in left} == last.keys()
    for start in range(end):
        offsets = [one.position.offset for one in log.read(CONTEXT, 0, start, 3)]
        assert offsets == [one.position.offset for one in left if one.position.offset >= start][:3]

    views = Views(tmp_path / "views")
    with (
        WorkerProcess(own_broker.bootstrap, tmp_path / "views", "compaction") as worker,
        mnemolog.connect(own_broker.bootstrap, tmp_path / "views", ("acme", "alice"), embedder="none") as mem,
    ):
        mem.wait(left[-1].position, 60)
        assert {entry.key: entry.value for entry in mem.list_context(limit=1_000).items} == last
        mem.set_context("k1", "after")
        assert mem.get_context("k1") == "after"
        assert worker.stop() == 0
    report = replay(log, views, None, flip=False)
    live = read_contents(views, views.current().generation)
    assert not live.differing(read_contents(views, report.manifest.generation))
