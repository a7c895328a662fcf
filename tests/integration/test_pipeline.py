"""Ten conversations through the whole pipeline while a worker dies: all there once, and as in a replay.

The conversations are made up. Where MNEMOLOG_LOCOMO names a folder of LoCoMo's conversations (Maharana et
al., ACL 2024, one JSON each; no part of this project), the same is shown on them.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.workers import Shards, WorkerProcess, live, wait_until

import mnemolog
from mnemolog.broker import LocalBroker
from mnemolog.embedders import resolve
from mnemolog.processors.generations import read_contents
from mnemolog.processors.replay import ReplayReport, replay
from mnemolog.processors.shards import FED_TOPICS
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.kafka import KafkaLog, create_topics
from mnemolog.query.reader import ViewReader
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.ports import Log
from mnemolog.schemas.records import Record
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Views

LOCOMO = "MNEMOLOG_LOCOMO"
PARTITIONS = 4
EMBEDDER = "hashing:32"
START = datetime(2024, 1, 1, tzinfo=UTC)
NOW = START + timedelta(days=100)
SIZES = (419, 369, 663, 629, 680, 675, 689, 681, 509, 568)
WORDS = [
    "".join(parts)
    for parts in product(("ba", "ke", "li", "mo", "nu", "ra", "si", "to", "ve", "zu"), repeat=3)
]
PATIENCE = 180.0
NOT_COMPARED = frozenset({"_fill", "embed_error", "vector"})
"""How a vector came, and its bits; the digests compare those that are alike on all machines."""

PRODUCE = """
import io, sys, time
from mnemolog.producers import MemoryProducer
kafka, lines = sys.argv[1], open(sys.argv[2], "rb").readlines()
with MemoryProducer.connect(kafka) as producer:
    half = len(lines) // 200 * 100
    for start in range(0, len(lines), 100):
        if start == half:
            sys.stdin.readline()
        for _ in range(2 if start % 1000 == 0 else 1):
            producer.write_jsonl(io.BytesIO(b"".join(lines[start : start + 100])), strict=True)
        time.sleep(0.05)
"""
"""Appends a file of events, one chunk of ten twice, as after an acknowledgement that was lost. Half way
through it waits for a line, so that what must happen in mid stream does."""


@dataclass(frozen=True)
class Turn:
    """Something said in a conversation."""

    id: str
    text: str
    author: str


Conversations = dict[str, list[Turn]]


def made_up() -> Conversations:
    """As many conversations and turns as LoCoMo has, some of them short and said twice."""
    chance = random.Random(7)
    return {f"talk{number}": list(_made_up_turns(chance, size)) for number, size in enumerate(SIZES)}


def _made_up_turns(chance: random.Random, size: int) -> Iterator[Turn]:
    for number in range(size):
        words = chance.choices(WORDS, k=chance.randint(4, 25))
        text = "Take care, bye!" if number % 200 == 199 else " ".join(words)
        yield Turn(f"D{number // 20 + 1}:{number % 20 + 1}", text, ("Lena", "Omar")[number % 2])


def of_locomo(folder: Path) -> Conversations:
    """The turns of every conversation in `folder`."""
    return {path.stem: list(_turns_of(json.loads(path.read_text()))) for path in folder.glob("*.json")}


def _turns_of(document: dict[str, Any]) -> Iterator[Turn]:
    for name, session in document.items():
        if re.fullmatch(r"session_\d+", name):
            for turn in session:
                caption = turn.get("blip_caption")
                text = f"{turn['text']} [shared {caption}]" if caption else turn["text"]
                yield Turn(turn["dia_id"], text.strip(), turn["speaker"])


def said(talk: str, place: int, turn: Turn) -> Iterator[Envelope]:
    """A turn as events, and every now and then a note beside it that is changed, replaced or forgotten."""
    at = START + place * timedelta(seconds=30)
    write = Commands(("dialog", talk), clock=lambda: at)
    yield write.remember(turn.text, id=turn.id, kind="turn", author=turn.author, tags=["said"])
    note, before = f"note-{place}", f"note-{place - 5}"
    if place % 5 == 0:
        yield write.remember(f"remark {place}", id=note, key=f"slot {place % 3}", tags=["draft"])
    if place % 10 == 5:
        yield write.update(before, text=f"a better remark {place}", reason="second thoughts")
    if place % 11 == 0:
        yield write.update(turn.id, importance=0.9, tags=["said", "dear"])
    if place % 35 == 5:
        yield write.forget([note, before], reason="no more")
    if place % 45 == 10:
        yield write.supersede(before, turn.id)
    if place % 4 == 0:
        yield write.feedback(f"recall {place}", used=[turn.id], ignored=[before])
    if place % 300 == 299:
        yield write.forget_scope({"tags": {"contains": "draft"}})


def share(conversations: Conversations, producer: int) -> list[Envelope]:
    """What one of the two producers appends: every other turn of every conversation, in turns."""
    longest = max(map(len, conversations.values()))
    return [
        event
        for place in range(producer, longest, 2)
        for talk, turns in conversations.items()
        if place < len(turns)
        for event in said(talk, place, turns[place])
    ]


def start_producer(kafka: str, file: Path, events: Sequence[Envelope]) -> subprocess.Popen[bytes]:
    """A process that appends `events`; see `PRODUCE`."""
    file.write_text("".join(f"{event.model_dump_json()}\n" for event in events))
    return subprocess.Popen([sys.executable, "-c", PRODUCE, kafka, str(file)], stdin=subprocess.PIPE)


def applied(views: ViewReader, topic: str) -> dict[int, int]:
    """Partition → how many records of a topic are in the views."""
    return {number: views.applied(topic, number) for number in range(PARTITIONS)}


def stream_through(kafka: str, log: Log, home: Path, conversations: Conversations) -> Path:
    """Two producers, two workers; one is killed at a third, another joins. The views, caught up."""
    views, shares = home / "views", [share(conversations, number) for number in range(2)]
    third, reader = sum(map(len, shares)) // 3, ViewReader(Views(views))
    with ExitStack() as running:
        first, second = (running.enter_context(WorkerProcess(kafka, views, "g", EMBEDDER)) for _ in "12")
        for worker in (first, second):
            worker.wait_for("owns mnemolog")
        wait_until(lambda: owned_now(first) and owned_now(second), "both to share the partitions")
        producers = [
            running.enter_context(start_producer(kafka, home / f"{number}.jsonl", events))
            for number, events in enumerate(shares)
        ]
        wait_until(lambda: sum(applied(reader, MEMORIES).values()) >= third, "a third", PATIENCE)
        first.kill()
        joined = running.enter_context(WorkerProcess(kafka, views, "g", EMBEDDER))
        for producer in producers:
            assert producer.stdin is not None
            producer.stdin.close()
        assert [producer.wait(PATIENCE) for producer in producers] == [0, 0]
        joined.wait_for("owns mnemolog")
        for topic in FED_TOPICS:
            end = log.end_offsets(topic)
            wait_until(lambda: applied(reader, topic) == end, f"all of {topic}", PATIENCE)  # noqa: B023 called here
        assert (second.stop(), joined.stop()) == (0, 0), second.said + joined.said
    return views


def owned_now(worker: WorkerProcess) -> bool:
    """Whether what it owned last is a part of the partitions, not all and not none."""
    lines = [line for line in worker.said.splitlines() if "owns" in line or "stands by" in line]
    return 0 < len(re.findall(rf"{re.escape(MEMORIES)}\S*", lines[-1])) < PARTITIONS if lines else False


def replayed(log: KafkaLog, home: Path) -> tuple[Views, ReplayReport]:
    """The same log, record by record and offset by offset, as an embedded one in `home`, and replayed."""
    home.mkdir()
    with EmbeddedLog(home / "log.sqlite", partitions=PARTITIONS) as copy:
        for topic in FED_TOPICS:
            for number, end in log.end_offsets(topic).items():
                copy.append(list(records_of(log, topic, number, end)))
            assert copy.end_offsets(topic) == log.end_offsets(topic)
        views = Views(home / "views")
        return views, replay(copy, views, resolve(EMBEDDER))


def records_of(log: Log, topic: str, number: int, end: int) -> Iterator[Record]:
    """A partition's records, to be appended elsewhere."""
    offset = 0
    while offset < end:
        for stored in log.read(topic, number, offset, 1_000):
            assert stored.position.offset == offset and stored.key is not None
            yield Record(topic, stored.key, stored.value, stored.headers, stored.timestamp)
            offset += 1


def differing(found: Shards, wanted: Shards) -> list[tuple[str, int, str]]:
    """Which rows are not the same: table, partition, key."""
    return [
        (*shard, key)
        for shard in found.keys() | wanted.keys()
        for key in found[shard].keys() | wanted[shard].keys()
        if compared(found[shard].get(key)) != compared(wanted[shard].get(key))
    ]


def compared(row: dict[str, Any] | None) -> dict[str, Any] | None:
    """What must be the same."""
    return row and {name: value for name, value in row.items() if name not in NOT_COMPARED}


def check_every_turn_is_there_once(kafka: str, views: Path, talk: str, turns: Sequence[Turn]) -> None:
    """By listing, by its id, and by a recall of its own words."""
    with mnemolog.connect(kafka, views, ("dialog", talk), embedder=EMBEDDER) as memory:
        page = memory.list(limit=10_000, kinds=["turn"], include_superseded=True)
        assert page.total == len(page.items) == len(turns)
        assert {item.id: item.text for item in page.items} == {turn.id: turn.text for turn in turns}
        for turn in turns:
            assert times_recalled(memory, turn) == 1, f"{talk} {turn}"


def times_recalled(memory: mnemolog.Memory, turn: Turn) -> int:
    """How often the turn is among the hits for its own words: the first ones, or a thousand."""
    for k in (5, 1_000):
        ids = Counter(hit.memory.id for hit in memory.recall(turn.text, k=k))
        assert not ids or max(ids.values()) == 1
        if turn.id in ids:
            break
    return ids[turn.id]


def check_order(kafka: str, views: Path, folder: Path, talk: str, turns: Sequence[Turn]) -> None:
    """A question has the same answer from the views of Kafka and from the embedded ones, to the last bit."""
    namespace = ("dialog", talk)
    with (
        mnemolog.connect(kafka, views, namespace, embedder=EMBEDDER) as streamed,
        mnemolog.open(folder, namespace, embedder=EMBEDDER) as embedded,
    ):
        for turn in turns[::40]:
            question = f"What did {turn.author} say of {' '.join(turn.text.split()[-3:])}?"
            found = [
                [(hit.memory.id, hit.score, hit.factors) for hit in memory.recall(question, k=50, now=NOW)]
                for memory in (streamed, embedded)
            ]
            assert found[0] == found[1] and found[0], question


def check_rows_are_not_trivial(found: Shards) -> None:
    """All four partitions hold rows; some are forgotten, some replaced, some were used."""
    memories = [row for (table, _), rows in found.items() if table == "memories" for row in rows.values()]
    assert all(found["memories", number] for number in range(PARTITIONS))
    assert sum(row["deleted"] for row in memories) > 100
    assert sum("superseded_by" in row for row in memories) > 100
    assert sum(len(rows) for (table, _), rows in found.items() if table == "usage") > 1_000


@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", ["made up", *(["LoCoMo"] if LOCOMO in os.environ else [])])
def test_a_worker_dies_in_mid_stream_and_every_turn_is_there_once(
    source: str, own_broker: LocalBroker, tmp_path: Path
) -> None:
    kafka = own_broker.bootstrap
    conversations = made_up() if source == "made up" else of_locomo(Path(os.environ[LOCOMO]))
    assert (len(conversations), sum(map(len, conversations.values()))) == (10, 5_882)
    create_topics(kafka, partitions=PARTITIONS)
    with KafkaLog(kafka) as log:
        views = stream_through(kafka, log, tmp_path, conversations)
        embedded, report = replayed(log, tmp_path / "embedded")
    found = live(views)
    check_rows_are_not_trivial(found)
    assert report.rejected == 0
    assert differing(found, live(tmp_path / "embedded" / "views")) == []
    streamed = Views(views)
    contents = read_contents(streamed, streamed.current().generation)
    assert contents.differing(read_contents(embedded, report.manifest.generation)) == []
    for talk, turns in conversations.items():
        check_every_turn_is_there_once(kafka, views, talk, turns)
        check_order(kafka, views, tmp_path / "embedded", talk, turns)
