"""Trace contexts in headers: who gives them, what is refused, and the links that come of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    TraceState,
    use_span,
)
from support.folding import snapshot
from support.telemetry import Telemetry

import mnemolog
from mnemolog.processors.digest import digest_rows
from mnemolog.processors.materialize import Rejected, ShardWriter
from mnemolog.processors.shards import VIEWS
from mnemolog.producers import MemoryProducer
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.header_bytes import dump_headers, load_headers
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import EmbeddingError, InvalidInputError, ViewError
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Headers, StoredRecord
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.memory_table import MemoryTable
from mnemolog.telemetry import observe, trace_headers
from mnemolog.telemetry.batches import TracedWriter
from mnemolog.telemetry.trace_context import MOST_LINKS, links_of
from mnemolog.transfer.records import export_log, import_log, read_log

SOUND = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SECRET = "a-text-that-no-span-may-hold"


@pytest.fixture
def told() -> Telemetry:
    return Telemetry()


def headers_in(home: Path) -> list[Headers]:
    """What trace headers the memories of a log have."""
    with EmbeddedLog(home / "log.sqlite") as log:
        records = log.read(MEMORIES, 0, 0, 1_000)
    return [tuple(header for header in one.headers if header[0].startswith("trace")) for one in records]


def records_with(*traces: Headers) -> list[StoredRecord]:
    """A memory for each of `traces`, which are its headers beside its own."""
    commands = Commands(("acme", "alice"))
    encoded = [encode(commands.remember(f"{SECRET} {n}", id=f"m{n}"))[0] for n in range(len(traces))]
    return [
        StoredRecord(Position(MEMORIES, 0, offset), 1_000, one.key, one.value, one.headers + trace)
        for offset, (one, trace) in enumerate(zip(encoded, traces, strict=True))
    ]


def trace_of(number: int) -> Headers:
    return (("traceparent", b"00-%032x-%016x-01" % (number + 1, number + 1)),)


def test_a_program_that_only_writes_gives_its_trace(tmp_path: Path, told: Telemetry) -> None:
    commands = Commands(("default",))
    with MemoryProducer.open(tmp_path, trace=trace_headers) as producer:
        producer.remember("before")
        with told.provider.get_tracer("a program").start_as_current_span("work") as span:
            producer.remember("one")
            producer.write_batch([commands.remember("two"), commands.remember("three")])
            producer.write_jsonl(io.BytesIO(b'{"text": "four"}'))
        producer.remember("after")
    at = span.get_span_context()
    parent = b"00-%032x-%016x-%02x" % (at.trace_id, at.span_id, at.trace_flags)
    expected: Headers = (("traceparent", parent),)
    assert headers_in(tmp_path) == [(), *[expected] * 4, ()]


def fails() -> Headers:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    "trace",
    [
        SOUND,
        fails,
        lambda: None,
        lambda: (("traceparent", SOUND.decode()),),
        lambda: (("baggage", b"user=alice"),),
        lambda: (("event_id", b"another"),),
        lambda: (("traceparent", SOUND), ("traceparent", SOUND)),
        lambda: (("tracestate", b"a=" + b"x" * 511),),
        lambda: (("tracestate", "ä".encode()),),
        lambda: ("traceparent", SOUND),
    ],
)
def test_what_is_no_trace_is_refused_before_anything_is_appended(trace: Any, tmp_path: Path) -> None:
    writes: list[Callable[[MemoryProducer], object]] = [
        lambda producer: producer.remember("x"),
        lambda producer: producer.write_batch([Commands(("default",)).remember("x")]),
        lambda producer: producer.write_jsonl(io.BytesIO(b'{"text": "x"}')),
    ]
    for write in writes:
        with pytest.raises(InvalidInputError) as caught, MemoryProducer.open(tmp_path, trace=trace) as opened:
            write(opened)
        assert caught.value.field == "trace"
    assert headers_in(tmp_path) == []


def test_a_span_that_is_not_recorded_is_in_no_header(tmp_path: Path) -> None:
    with mnemolog.open(tmp_path, embedder="none") as plain:
        observe(plain, tracer_provider=TracerProvider(sampler=ALWAYS_OFF)).remember("x")
    assert headers_in(tmp_path) == [()]


@pytest.mark.parametrize(("entries", "given"), [(1, True), (2, True), (3, False)])
def test_a_state_that_is_too_long_stays_out_and_the_parent_goes_on(
    told: Telemetry, entries: int, given: bool
) -> None:
    state = TraceState([(f"vendor{number}", "x" * 200) for number in range(entries)])
    with (
        use_span(NonRecordingSpan(SpanContext(7, 9, True, TraceFlags(1), state))),
        told.provider.get_tracer("a program").start_as_current_span("work"),
    ):
        headers = dict(trace_headers())
    assert headers["traceparent"].startswith(b"00-%032x-" % 7)
    assert headers.get("tracestate") == (state.to_header().encode() if given else None)


def test_links_are_to_each_span_once_and_no_more_than_the_bound() -> None:
    few = [trace_of(1), trace_of(0), (), trace_of(1)]
    assert [link.context.span_id for link in links_of(records_with(*few))] == [2, 1]
    assert all(link.context.is_remote for link in links_of(records_with(*few)))
    many = links_of(records_with(*map(trace_of, range(3 * MOST_LINKS))))
    assert [link.context.span_id for link in many] == list(range(1, MOST_LINKS + 1))


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"garbage",
        b"\xff\x00\xfe",
        b"x" * 100_000,
        SOUND[:-1],
        SOUND + b"-more",
        SOUND.upper(),
        b"ff" + SOUND[2:],
        b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01",
        b"00-0af7651916cd43dd8448eb211c80319c-" + b"0" * 16 + b"-01",
        None,
    ],
)
def test_a_malformed_parent_is_ignored_beside_sound_ones(value: Any) -> None:
    found = links_of(records_with((("traceparent", value),), (("tracestate", SOUND),), trace_of(4)))
    assert [link.context.span_id for link in found] == [5]


def test_a_malformed_state_leaves_the_link() -> None:
    (link,) = links_of(records_with((("traceparent", SOUND), ("tracestate", b"\xff=,,=;"))))
    assert link.context.span_id == 0xB7AD6B7169203331


def writer(rejected: list[Rejected]) -> tuple[ShardWriter, MemoryTable]:
    tables = [(view, MemoryTable()) for view in VIEWS]
    memories = next(table for view, table in tables if view.name == "memories")
    return ShardWriter(tables, None, rejected.extend), memories


def test_a_batch_is_a_span_with_links_and_its_rows_are_those_without(told: Telemetry) -> None:
    rejected: list[Rejected] = []
    (plain, alone), (inner, told_of) = writer(rejected), writer(rejected)
    traced = TracedWriter(inner, (MEMORIES, 0), "workers", told.provider.get_tracer("mnemolog"))
    bare = records_with((), (), ())
    state: Headers = (("traceparent", SOUND), ("tracestate", b"vendor=1"))
    more: Sequence[Headers] = (trace_of(0), state, (("traceparent", b"garbage"),))
    plain.apply(MEMORIES, bare)
    traced.apply(MEMORIES, [one._replace(headers=one.headers + h) for one, h in zip(bare, more, strict=True)])
    assert snapshot(told_of.scan()) == snapshot(alone.scan())
    assert digest_rows(told_of.scan()) == digest_rows(alone.scan())
    assert not rejected
    (span,) = told.ended.get_finished_spans()
    assert (span.name, span.kind, span.parent) == ("process mnemolog.memories", SpanKind.CONSUMER, None)
    assert dict(span.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": MEMORIES,
        "messaging.destination.partition.id": "0",
        "messaging.consumer.group.name": "workers",
        "messaging.batch.message_count": 3,
    }
    assert [link.context.span_id for link in span.links] == [1, 0xB7AD6B7169203331]
    assert span.links[1].context.trace_state == {"vendor": "1"}
    assert SECRET not in span.to_json()


@pytest.mark.parametrize(("error", "quoted"), [(EmbeddingError(SECRET), False), (ViewError("full"), True)])
def test_a_batch_that_fails_says_so_and_quotes_nobody(
    told: Telemetry, error: Exception, quoted: bool
) -> None:
    class Full(MemoryTable):
        def commit(self, rows: Any, through: int) -> None:
            raise error

    rejected: list[Rejected] = []
    failing = ShardWriter([(view, Full()) for view in VIEWS], None, rejected.extend)
    traced = TracedWriter(failing, (MEMORIES, 0), "workers", told.provider.get_tracer("mnemolog"))
    with pytest.raises(type(error)):
        traced.apply(MEMORIES, records_with(trace_of(0)))
    (span,) = told.ended.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert ("full" in (span.status.description or "")) is quoted
    assert SECRET not in span.to_json()


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_export_keeps_them_byte_for_byte(tmp_path: Path, ending: str) -> None:
    odd: Headers = (("traceparent", SOUND), ("tracestate", b"a=1,b=2"), ("traceparent", b"\xff\x00"))
    assert load_headers(dump_headers(odd)) == odd
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    file = tmp_path / f"export.{ending}"
    with (
        EmbeddedLog(tmp_path / "old" / "log.sqlite") as old,
        EmbeddedLog(tmp_path / "new" / "log.sqlite") as new,
    ):
        (record,) = encode(Commands(("default",)).remember("x"))
        old.append([record._replace(headers=record.headers + odd)])
        export_log(old, file)
        import_log(new, file)
        assert list(read_log(new)) == list(read_log(old))
        assert new.read(MEMORIES, 0, 0, 1)[0].headers == record.headers + odd
