"""The command line over a real Kafka, with a worker that it starts itself."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from support.command_line import CommandLine, start
from support.workers import WorkerProcess, folded, live, wait_until, wait_until_caught_up
from typer.testing import Result

from mnemolog.broker import LocalBroker
from mnemolog.producers import MemoryProducer
from mnemolog.producers.kafka import KafkaLog
from mnemolog.schemas.records import Record
from mnemolog.schemas.topics import MEMORIES
from mnemolog.telemetry import trace_headers

TRACED_WORKER = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
spans = open(sys.argv.pop(1), "w", buffering=1)
exporter = ConsoleSpanExporter(out=spans, formatter=lambda span: span.to_json(indent=None) + chr(10))
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from mnemolog.worker import main
sys.exit(main())
"""
"""A worker in a program that has set up OpenTelemetry; its first argument names a file for the spans."""


class KafkaCommandLine(CommandLine):
    """The commands on brokers instead of a folder."""

    def __init__(self, kafka: str, views: Path) -> None:
        super().__init__(views)
        self.variables = {"MNEMOLOG_PATH": None, "MNEMOLOG_KAFKA": kafka, "MNEMOLOG_VIEWS": str(views)}

    def run(
        self, *args: object, stdin: str | bytes | None = None, env: Mapping[str, str | None] | None = None
    ) -> Result:
        """Run a command in this process."""
        return super().run(*args, stdin=stdin, env={**self.variables, **(env or {})})


@pytest.fixture
def cli(own_broker: LocalBroker, tmp_path: Path) -> KafkaCommandLine:
    return KafkaCommandLine(own_broker.bootstrap or "", tmp_path / "views")


@pytest.fixture
def worker(cli: KafkaCommandLine, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    cli.ok("init", "--partitions", "2")
    kafka = cli.variables["MNEMOLOG_KAFKA"]
    log = (tmp_path / "worker.log").open("w")
    process = start(
        cli.home, "worker", "--kafka", kafka, "--views", cli.home, stdout=log, stderr=log, cwd=tmp_path
    )
    yield process
    process.kill()
    process.wait()
    log.close()


def test_from_init_to_replay(cli: KafkaCommandLine, worker: subprocess.Popen[bytes]) -> None:
    old = cli.json("remember", "Alice eats no meat", "--key", "diet", "--id", "old")
    new = cli.json("remember", "Alice eats fish", "--key", "diet", "--id", "new", "--wait", "--timeout", "60")
    assert old["position"] < new["position"]
    found = cli.json("recall", "what does Alice eat?", "--after", new["position"])
    assert [hit["memory"]["id"] for hit in found["hits"]] == ["new"]
    cli.ok("feedback", "--recall", found["recall_id"], "--used", "new")
    wait_until(lambda: cli.json("get", "new")["use_count"] == 1, "the feedback in the views")
    assert cli.ok("forget", "new") == "forgot 1 memory\n"
    wait_until(lambda: [item["id"] for item in cli.lines("list")] == ["old"], "the forgetting in the views")
    report = cli.json("replay", "--check")
    assert (report["equal"], report["live"]) == (True, True)
    after = cli.json("remember", "Alice likes figs", "--wait", "--timeout", "60")
    assert len(cli.lines("list", "--after", after["position"])) == 2
    loaded = cli.json(
        "ingest", "-", "--wait", stdin='{"text": "one"}\n{"text": "two", "namespace": "acme/bob"}\n'
    )
    assert loaded["written"] == 2
    assert len(cli.lines("list")) == 3
    assert len(cli.lines("list", "--namespace", "acme/bob")) == 1
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert "Is a worker running?" in cli.fails(4, "remember", "too late", "--wait", "--timeout", "1")


def test_dead_letters_of_a_worker(cli: KafkaCommandLine, worker: subprocess.Popen[bytes]) -> None:
    with KafkaLog(cli.variables["MNEMOLOG_KAFKA"] or "") as log:
        at = log.append([Record(MEMORIES, b"default", b"{bad", (("trace", b"1"),))])[0]
    wait_until(lambda: len(cli.lines("deadletters", "list")) == 1, "the dead letter")
    (done,) = cli.lines("deadletters", "retry", str(at))
    wait_until(
        lambda: [letter["position"] for letter in cli.lines("deadletters", "list")] == [done["result"]],
        "the second dead letter alone",
    )
    assert cli.ok("deadletters", "drop", "--all") == f"dropped {done['result']}\n"
    assert cli.lines("deadletters", "list") == []


def test_a_worker_links_its_batches_to_the_spans_that_wrote(cli: KafkaCommandLine, tmp_path: Path) -> None:
    cli.ok("init", "--partitions", "1")
    kafka, spans = cli.variables["MNEMOLOG_KAFKA"] or "", tmp_path / "spans.jsonl"
    tracer = TracerProvider().get_tracer("a program")
    with MemoryProducer.connect(kafka, trace=trace_headers) as producer, KafkaLog(kafka) as log:
        with tracer.start_as_current_span("work") as span:
            producer.remember("a-text-that-no-span-may-hold", id="m1")
            producer.forget("m1")
        producer.remember("outside of all spans")
        (record,) = log.append([Record(MEMORIES, b"default", b"{bad", (("traceparent", b"bad"),))])
        with WorkerProcess(kafka, cli.home, "traced", program=("-c", TRACED_WORKER, str(spans))) as worker:
            wait_until_caught_up(log, cli.home)
            assert worker.stop() == 0, worker.said
        assert live(cli.home) == folded(log)
    said = [json.loads(line) for line in spans.read_text().splitlines()]
    of_memories = [one for one in said if one["name"] == "process mnemolog.memories"]
    counts = [one["attributes"]["messaging.batch.message_count"] for one in of_memories]
    assert sum(counts) == record.offset + 1 == 4
    links = [link["context"] for one in of_memories for link in one["links"]]
    expected = f"0x{span.get_span_context().trace_id:032x}", f"0x{span.get_span_context().span_id:016x}"
    assert {(link["trace_id"], link["span_id"]) for link in links} == {expected}
    assert {one["kind"] for one in of_memories} == {"SpanKind.CONSUMER"}
    assert "a-text-that-no-span-may-hold" not in spans.read_text()
