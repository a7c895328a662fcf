"""What is written in a span carries its trace context, on every log; and nothing else does."""

from __future__ import annotations

from collections import defaultdict

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState, use_span
from support.stores import Store
from support.telemetry import Telemetry

from mnemolog import Memory
from mnemolog.schemas.codec import decode
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.records import StoredRecord
from mnemolog.schemas.topics import TOPICS

SECRET = "a-text-that-is-forgotten"
OWN = {"type", "event_id", "version"}


@pytest.fixture
def told() -> Telemetry:
    return Telemetry()


def written(memory: Memory) -> list[StoredRecord]:
    """All records of the handle's namespace."""
    log, key = memory._session.log, encode_namespace(memory.namespace).encode()
    found: list[StoredRecord] = []
    for spec in TOPICS:
        for partition, end in log.end_offsets(spec.name).items():
            offset = 0
            while offset < end and (some := log.read(spec.name, partition, offset, 1_000)):
                found += [record for record in some if (record.key or b"").partition(b"|")[0] == key]
                offset = some[-1].position.offset + 1
    return found


def parent_of(span: ReadableSpan) -> str:
    """The header of a span."""
    context = span.get_span_context()
    assert context is not None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def parents(memory: Memory) -> dict[str, set[str]]:
    """Event type → the trace parents of its records; of one that has none, the empty text."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for record in written(memory):
        found[decode(record).type].add(dict(record.headers).get("traceparent", b"").decode())
    return found


def test_each_record_carries_the_span_that_wrote_it(store: Store, told: Telemetry) -> None:
    memory = told.observe(store.open())
    one = memory.remember(SECRET, id=SECRET, tags=[SECRET], source=SECRET).id
    memory.remember_many([SECRET, "other"])
    memory.update(one, text=f"{SECRET} anew")
    hits = memory.recall(SECRET, k=1)
    memory.feedback(hits.recall_id, used=hits.ids)
    memory.set_context("state", SECRET, thread_id="t")
    memory.cache.llm.store({"model": SECRET}, SECRET)
    memory.cache.stats()
    memory.set_config(threshold=0.9)
    memory.forget_scope(tags=[SECRET])
    memory.forget(one)
    verbs = {
        "MemoryRemembered": ("remember", "remember_many"),
        "MemoryUpdated": ("update",),
        "RecallServed": ("recall",),
        "FeedbackGiven": ("feedback",),
        "ContextSet": ("set_context", "cache.llm.store"),
        "CacheCounted": ("cache.stats",),
        "ConfigChanged": ("set_config",),
        "ScopeForgotten": ("forget_scope",),
        "MemoryForgotten": ("forget", "forget_scope"),
    }
    headers = {verb: parent_of(told.spans(verb)[-1]) for names in verbs.values() for verb in names}
    assert parents(memory) == {kind: {headers[verb] for verb in names} for kind, names in verbs.items()}
    for record in written(memory):
        assert {name for name, _ in record.headers} == OWN | {"traceparent"}
        assert SECRET.encode() not in dict(record.headers)["traceparent"]


def test_the_trace_that_a_program_was_called_in_goes_on_with_its_state(store: Store, told: Telemetry) -> None:
    memory = told.observe(store.open())
    caller = SpanContext(7 << 64, 9, True, TraceFlags(1), TraceState([("vendor", "a:b")]))
    with use_span(NonRecordingSpan(caller)):
        memory.at((*memory.namespace, "deeper")).remember("x")
    (record,) = written(memory.at((*memory.namespace, "deeper")))
    headers = dict(record.headers)
    assert headers["tracestate"] == b"vendor=a:b"
    assert headers["traceparent"].startswith(b"00-%032x-" % (7 << 64))


def test_without_telemetry_records_are_as_they_were(store: Store, told: Telemetry) -> None:
    memory = store.open()
    with told.provider.get_tracer("a program").start_as_current_span("its own"):
        memory.remember("x")
        hits = memory.recall("x")
        memory.feedback(hits.recall_id, used=hits.ids)
    assert {name for record in written(memory) for name, _ in record.headers} == OWN
