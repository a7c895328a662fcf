"""Views on an S3-compatible store, a real server: processes share nothing but Kafka and the bucket."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.object_store import BUCKET, ObjectStore
from support.programs import Program
from support.stores import at_once
from support.streams import append, mixed, remembered, users
from support.workers import WorkerProcess, folded, live, wait_until_caught_up

import mnemolog
from mnemolog.embedders import HashingEmbedder, resolve
from mnemolog.processors.replay import replay, roll_back
from mnemolog.processors.shards import ensure_live, new_manifest
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.kafka import KafkaLog
from mnemolog.schemas.errors import GenerationReplacedError, InvalidInputError, ViewError
from mnemolog.storage.layout import Views
from mnemolog.storage.stores import Store, open_store

MODEL = "hashing:16"

pytestmark = [pytest.mark.timeout(900), pytest.mark.kafka]
"""The first run on a machine builds the server: three minutes of a processor's time."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    running = ObjectStore(tmp_path_factory.mktemp("store"))
    try:
        yield running.start()
    finally:
        running.kill()


@pytest.fixture
def bucket(store: ObjectStore, monkeypatch: pytest.MonkeyPatch, topic_prefix: str) -> str:
    """A place in the bucket that no other test has."""
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{topic_prefix}"


@pytest.fixture(params=["folder", "bucket"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for views, of either kind."""
    return str(tmp_path) if request.param == "folder" else str(request.getfixturevalue("bucket"))


def succeeded(flip: Callable[[], None]) -> bool:
    try:
        flip()
    except GenerationReplacedError:
        return False
    return True


def test_of_many_that_put_or_replace_a_document_at_once_one_wins(root: str) -> None:
    def put(number: int) -> bool:
        return open_store(root).create("one.json", b"%d" % number)

    def replace(number: int, stamp: object) -> bool:
        return open_store(root).replace("one.json", b"again %d" % number, stamp)

    store: Store = open_store(root)
    assert store.stamped("one.json") is None
    assert sum(at_once([lambda at=at: put(at) for at in range(8)])) == 1  # type: ignore[misc]
    found = store.stamped("one.json")
    assert found is not None
    assert sum(at_once([lambda at=at: replace(at, found.stamp) for at in range(8)])) == 1  # type: ignore[misc]
    assert not store.replace("one.json", b"late", found.stamp)
    assert not store.replace("none.json", b"there is none", found.stamp)
    assert str(store.read("one.json")).startswith("b'again")


def test_of_many_that_flip_at_once_one_wins_and_who_comes_late_does_not(root: str) -> None:
    views = Views(root)
    names = [views.add(new_manifest(2, None)).generation for _ in range(8)]
    views.make_first_live(names[0])
    flips = [lambda name=name: Views(root).make_live(name, names[0]) for name in names[1:]]
    won = at_once([lambda flip=flip: succeeded(flip) for flip in flips])  # type: ignore[misc]
    assert sum(won) == 1
    assert Views(root).current().generation in names[1:]
    with pytest.raises(GenerationReplacedError, match="live by now"):
        views.make_live(names[0], names[0])


def test_generations_made_at_once_have_names_of_their_own_and_one_is_the_first(bucket: str) -> None:
    made = at_once([lambda: Views(bucket).add(new_manifest(2, None)).generation] * 6)
    assert sorted(made) == [f"g{number:06d}" for number in range(1, 7)] == Views(bucket).generations()
    opened = at_once([lambda: ensure_live(Views(f"{bucket}-new"), 2, None).generation] * 6)
    assert set(opened) == {Views(f"{bucket}-new").current().generation}


def test_what_was_made_live_just_now_is_not_dropped_by_who_has_not_seen_it(bucket: str) -> None:
    views, other = Views(bucket), Views(bucket)
    first, second = (views.add(new_manifest(1, None)).generation for _ in "12")
    views.make_live(first)
    assert other.current().generation == first
    views.make_live(second)
    with pytest.raises(InvalidInputError, match="live"):
        other.drop(second)
    views.drop(first)
    assert views.generations() == [second]


def test_a_store_that_cannot_be_used_is_told_in_one_line(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    for use in (lambda views: views.exist, Views.generations, lambda views: views.add(new_manifest(1, None))):
        with pytest.raises(ViewError, match=BUCKET) as caught:
            use(Views(bucket))
        assert "\n" not in str(caught.value)


def test_a_bucket_that_is_not_there_is_an_error_and_not_a_document_that_is(bucket: str) -> None:
    with pytest.raises(ViewError, match="no-such-bucket"):
        open_store("s3://no-such-bucket/views").create("pointer.json", b"{}")


FOLD = """
import random, sys
from mnemolog.embedders import resolve
from mnemolog.processors.shards import FED_TOPICS, open_shard
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.storage.layout import Views
home, root, seed, model = *sys.argv[1:3], int(sys.argv[3]), resolve(sys.argv[4])
chance, views = random.Random(seed), Views(root)
writer = open_shard(views, views.current(), 0, model, lambda rejected: sys.exit("rejected"))
with EmbeddedLog(f"{home}/log.sqlite") as log:
    print("ready", flush=True)
    sys.stdin.readline()
    for topic in FED_TOPICS:
        end = log.end_offsets(topic)[0]
        while (at := writer.next_offset(topic)) < end:
            writer.apply(topic, log.read(topic, 0, at, chance.randint(1, 40)), since=at)
print("done", flush=True)
"""
"""Folds a partition as its owner does, in batches of its own sizes."""


def test_writers_that_all_believe_they_own_a_partition_give_one_clean_fold(
    bucket: str, tmp_path: Path, topic_prefix: str
) -> None:
    """No lock reaches from machine to machine: offsets alone fence the writers."""
    ensure_live(Views(bucket), 1, resolve(MODEL))
    with EmbeddedLog(tmp_path / "log.sqlite", partitions=1) as log:
        append(log, mixed(users(topic_prefix, 3), 150, "shared"))
        writers = [Program(FOLD, tmp_path, bucket, seed, MODEL) for seed in range(3)]
        assert [writer.line() for writer in writers] == ["ready"] * 3
        for writer in writers:
            writer.tell()
        assert [writer.line() for writer in writers] == ["done"] * 3
        assert live(bucket) == folded(log, resolve(MODEL))


READ = """
import sys, mnemolog
kafka, views, first, second, model = sys.argv[1:6]
with mnemolog.connect(kafka, views, (first, second), embedder=model, wait_seconds=120) as mem:
    for line in sys.stdin:
        token, query = line.strip().split(" ", 1)
        print(*mem.recall(query, k=3, after=token).ids, flush=True)
"""


def test_a_worker_is_killed_and_the_store_goes_away_and_nothing_is_lost(
    store: ObjectStore, bucket: str, kafka: str, tmp_path: Path, topic_prefix: str
) -> None:
    who = users(topic_prefix)
    ending = threading.Event()

    def work() -> WorkerProcess:
        return WorkerProcess(kafka, bucket, topic_prefix, MODEL, home=tmp_path)

    with KafkaLog(kafka) as log, work() as first, work() as second:
        for worker in (first, second):
            worker.wait_for("owns mnemolog")
        producer = threading.Thread(target=keep_appending, args=(log, who, ending))
        producer.start()
        with Program(READ, kafka, bucket, *who[0].namespace, MODEL) as reader:
            before = second.said.count("owns ")
            check_read_your_writes(log, reader, who[0], "before")
            first.kill()
            check_read_your_writes(log, reader, who[0], "meanwhile")
            second.wait_for("owns ", before + 1)
            store.kill()
            append(log, remembered(who, 30, "unseen"))
            store.start()
            check_read_your_writes(log, reader, who[0], "afterwards")
            ending.set()
            producer.join()
        wait_until_caught_up(log, bucket)
        assert live(bucket) == folded(log, resolve(MODEL))
        assert second.stop() == 0


def keep_appending(log: KafkaLog, who: list[Commands], ending: threading.Event) -> None:
    number = 0
    while not ending.wait(0.3):
        append(log, mixed(who, 12, f"round{number}"))
        number += 1


def check_read_your_writes(log: KafkaLog, reader: Program, who: Commands, word: str) -> None:
    """What one process writes, another that was given its token recalls."""
    for number in range(3):
        name = f"{word}-{number}"
        (position,) = append(log, [who.remember(f"{word} number {number}", id=name)])
        reader.tell(f"{position} {word} number {number}")
        assert name in reader.line().split()


def test_a_generation_is_built_beside_the_live_one_flipped_to_and_rolled_back(
    bucket: str, kafka: str, tmp_path: Path, topic_prefix: str
) -> None:
    who, views = users(topic_prefix), Views(bucket)
    with KafkaLog(kafka) as log, WorkerProcess(kafka, bucket, topic_prefix, MODEL, home=tmp_path) as worker:
        append(log, mixed(who, 60, "old"))
        wait_until_caught_up(log, bucket)
        with mnemolog.connect(kafka, bucket, who[0].namespace, embedder=MODEL) as mem:
            asked = mem.recall("old 12", k=5).ids
            first = views.current().generation
            report = replay(log, views, HashingEmbedder(16), verify=True)
            assert report.compared is not None and report.compared.equal is not False
            second = report.manifest.generation
            assert mem.recall("old 12", k=5).ids == asked
            worker.wait_for(f"the live generation is now {second}")
            mem.wait(mem.remember("after the flip", id="new").position)
            assert "new" in mem.recall("after the flip").ids
            assert roll_back(log, views, first, HashingEmbedder(16)).applied > 0
            worker.wait_for(f"the live generation is now {first}")
            assert "new" in mem.recall("after the flip").ids
            mem.wait(mem.remember("after the rollback", id="newer").position)
            assert "newer" in mem.recall("after the rollback").ids
        wait_until_caught_up(log, bucket)
        assert views.current().generation == first
        assert live(bucket) == folded(log, resolve(MODEL))
        assert worker.stop() == 0
