"""What mnemolog costs on top of a bare kafka-python producer. Run: python -m benchmarks.producer_rates

The bare producer sends the same bytes (value, key, headers) to the same topic, partitioned by key, with the
same settings: idempotent, acks=all, lz4, linger, batches, no metrics. What it sends was encoded beforehand;
ours encodes as it goes. The ways take turns in small rounds, and a ratio is taken within its round: so a
machine that is busy for a while slows them alike.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from kafka import KafkaProducer

from benchmarks.measure import p50, p99, report, texts, timed
from mnemolog.broker import LocalBroker
from mnemolog.producers import MemoryProducer
from mnemolog.producers.commands import Commands
from mnemolog.producers.kafka import create_topics
from mnemolog.schemas.codec import encode
from mnemolog.schemas.events import MemoryRemembered
from mnemolog.schemas.records import Record

NAMESPACES = 50
EVENT_BYTES = 600
Rate = Callable[[], float]


def made_events(count: int) -> list[MemoryRemembered]:
    """Memories of 50 namespaces, padded so that an event takes about 600 bytes of JSON."""
    makers = [Commands(("acme", f"user {number}")) for number in range(NAMESPACES)]
    padding = EVENT_BYTES - len(
        encode(makers[0].remember("x", tags=["a"], metadata={"n": 1}))[0].value or b""
    )
    return [
        makers[number % NAMESPACES].remember(
            text[:padding].ljust(padding, "."), tags=["a"], metadata={"n": number}
        )
        for number, text in enumerate(texts(count))
    ]


def bare_rate(bootstrap: str, records: Sequence[Record]) -> float:
    """Events a second of kafka-python alone, until all are acknowledged."""
    ready = [(record, list(record.headers)) for record in records]
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=True,
        acks="all",
        linger_ms=20,
        batch_size=128 * 1024,
        compression_type="lz4",
        metrics_enabled=False,
    )
    producer.partitions_for(records[0].topic)
    start = time.perf_counter()
    futures = [
        producer.send(record.topic, value=record.value, key=record.key, headers=headers)
        for record, headers in ready
    ]
    producer.flush()
    spent = time.perf_counter() - start
    assert all(future.succeeded() for future in futures)
    producer.close()
    return len(records) / spent


def batch_rate(producer: MemoryProducer, events: Sequence[MemoryRemembered]) -> float:
    """Events a second of `write_batch`: encoded, routed, acknowledged and reported one by one."""
    start = time.perf_counter()
    reports = producer.write_batch(events)
    spent = time.perf_counter() - start
    assert all(one.error is None for one in reports)
    return len(events) / spent


def build_rate(producer: MemoryProducer, events: Sequence[MemoryRemembered]) -> float:
    """The same, with each event made and validated from a call's arguments on the way."""
    commands = Commands(("acme", "alice"))
    start = time.perf_counter()
    reports = producer.write_batch(
        commands.remember(event.text, tags=event.tags, metadata=event.metadata) for event in events
    )
    spent = time.perf_counter() - start
    assert all(one.error is None for one in reports)
    return len(events) / spent


def jsonl_rate(producer: MemoryProducer, events: Sequence[MemoryRemembered]) -> float:
    """The same, from lines of JSON without ids."""
    lines = "\n".join(
        json.dumps({"text": one.text, "tags": one.tags, "metadata": one.metadata}) for one in events
    )
    source = io.BytesIO(lines.encode())
    start = time.perf_counter()
    loaded = producer.write_jsonl(source)
    spent = time.perf_counter() - start
    assert loaded.written == len(events)
    return len(events) / spent


def compare(bootstrap: str, count: int, rounds: int) -> dict[str, float]:
    """The median rate of each way, and of the ratio to the bare producer within a round."""
    events = made_events(count)
    records = [encode(event)[0] for event in events]
    with MemoryProducer.connect(bootstrap) as producer:
        ways: dict[str, Rate] = {
            "bare kafka-python": lambda: bare_rate(bootstrap, records),
            "write_batch": lambda: batch_rate(producer, events),
            "remember, then write_batch": lambda: build_rate(producer, events),
            "write_jsonl": lambda: jsonl_rate(producer, events),
        }
        batch_rate(producer, events[:1_000])
        found = [{name: measure() for name, measure in ways.items()} for _ in range(rounds)]
    rates = {name: median(one[name] for one in found) for name in ways}
    bare = "bare kafka-python"
    ratios = {
        f"{name} / bare": median(one[name] / one[bare] for one in found) for name in ways if name != bare
    }
    return rates | ratios


def acknowledged(bootstrap: str, count: int) -> list[float]:
    """Milliseconds until `remember` returns, one at a time."""
    with MemoryProducer.connect(bootstrap) as producer:
        producer.remember("warm up")
        return timed([lambda text=text: producer.remember(text) for text in texts(count)])  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--results", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = LocalBroker(folder).start()
        try:
            create_topics(broker.bootstrap)
            found = compare(broker.bootstrap, asked.count, asked.rounds)
            single = acknowledged(broker.bootstrap, 500)
        finally:
            broker.stop()
    rows = [(name, value, "≥ 0.8" if name == "write_batch / bare" else "") for name, value in found.items()]
    rows += [("one remember, p50 ms", p50(single), "≤ 3"), ("one remember, p99 ms", p99(single), "")]
    report("Producing to Kafka, events a second", rows, asked.results)


if __name__ == "__main__":
    main()
