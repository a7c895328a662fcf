"""MemoryProducer on the embedded log: single writes, batches, files; nothing half done."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemolog
from mnemolog.producers import MemoryProducer
from mnemolog.producers.commands import Commands
from mnemolog.schemas.codec import encode
from mnemolog.schemas.errors import ClosedError, InvalidInputError


@pytest.fixture
def producer(tmp_path: Path) -> Iterator[MemoryProducer]:
    with MemoryProducer.open(tmp_path, ("acme", "alice")) as opened:
        yield opened


def lines(*documents: Any) -> io.BytesIO:
    return io.BytesIO(b"\n".join(json.dumps(document).encode() for document in documents))


def state(home: Path, namespace: tuple[str, ...] = ("acme", "alice")) -> list[tuple[Any, ...]]:
    with mnemolog.open(home, namespace, embedder="none") as memory:
        page = memory.list(limit=1_000, include_superseded=True)
        return sorted((item.id, item.text, item.key, item.active, item.occurred_at) for item in page.items)


def texts(home: Path, namespace: tuple[str, ...] = ("acme", "alice")) -> list[str]:
    return sorted(text for _, text, _, _, _ in state(home, namespace))


def test_what_is_written_is_recalled_by_others(producer: MemoryProducer, tmp_path: Path) -> None:
    first = producer.remember("Alice likes tea", id="m1")
    producer.update("m1", text="Alice likes green tea")
    producer.remember("Alice likes rain", id="m2")
    last = producer.forget("m2", reason="wrong")
    assert first.id == "m1"
    assert first.position < last.position
    assert texts(tmp_path) == ["Alice likes green tea"]


def test_a_batch_has_a_report_for_each_event_in_order(producer: MemoryProducer, tmp_path: Path) -> None:
    commands = Commands(("acme", "alice"))
    events = [commands.remember(f"text {number}", id=f"m{number}") for number in range(2_500)]
    reports = producer.write_batch([*events, commands.forget(["m0"])])
    assert [report.event_id for report in reports[:-1]] == [event.event_id for event in events]
    offsets = [report.position.offset for report in reports if report.position is not None]
    assert offsets == list(range(2_501))
    with mnemolog.open(tmp_path, ("acme", "alice"), embedder="none") as memory:
        assert memory.list().total == 2_499


def test_a_file_loaded_twice_gives_the_same_state(producer: MemoryProducer, tmp_path: Path) -> None:
    day = "2024-05-01T02:00:00"
    documents = [
        {"text": "same line", "occurred_at": day},
        {"text": "same line", "occurred_at": day},
        {"text": "old diet", "key": "diet", "occurred_at": day},
        {"text": "new diet", "key": "diet", "occurred_at": day},
        {"text": "own id", "id": "mine", "occurred_at": day},
    ]
    assert producer.write_jsonl(lines(*documents)).written == 5
    before = state(tmp_path)
    assert producer.write_jsonl(lines(*documents)).written == 5
    assert state(tmp_path) == before
    assert [text for _, text, _, _, _ in before].count("same line") == 2


def test_after_forgetting_the_same_file_loads_again(producer: MemoryProducer, tmp_path: Path) -> None:
    documents = [{"text": f"line {number}"} for number in range(5)]
    producer.write_jsonl(lines(*documents))
    with mnemolog.open(tmp_path, ("acme", "alice"), embedder="none") as memory:
        assert memory.forget_scope(everything=True) == 5
        assert memory.list().total == 0
    producer.write_jsonl(lines(*documents))
    assert len(texts(tmp_path)) == 5


def test_bad_lines_are_reported_and_the_others_loaded(producer: MemoryProducer, tmp_path: Path) -> None:
    raw = b"\n".join(
        [
            b'\xef\xbb\xbf{"text": "first"}',
            b"",
            b"{broken",
            b'{"text": "  "}',
            b'{"text": "second", "importance": 7}',
            b'{"nothing": 1}',
            b"[1, 2]\r",
            b'{"text": "' + b"x" * 2_000_000 + b'"}',
            b'{"text": "last"}\r',
        ]
    )
    report = producer.write_jsonl(io.BytesIO(raw))
    assert (report.written, report.failed) == (2, 6)
    assert [error.line for error in report.errors] == [3, 4, 5, 6, 7, 8]
    assert report.errors[2].field == "importance"
    assert texts(tmp_path) == ["first", "last"]


def test_strict_stops_at_the_first_bad_line(producer: MemoryProducer) -> None:
    with pytest.raises(InvalidInputError, match="line 2"):
        producer.write_jsonl(lines({"text": "good"}, {"text": ""}, {"text": "never"}), strict=True)


def test_whole_events_and_other_namespaces_pass(producer: MemoryProducer, tmp_path: Path) -> None:
    event = Commands(("other", "b/c")).remember("an event", id="e1")
    other = json.dumps({"text": "a line", "namespace": ["x"]}).encode()
    raw = (encode(event)[0].value or b"") + b"\n" + other
    assert producer.write_jsonl(io.BytesIO(raw)).written == 2
    assert texts(tmp_path, ("other", "b/c")) == ["an event"]
    assert texts(tmp_path, ("x",)) == ["a line"]
    assert texts(tmp_path) == []


def test_positions_of_a_file_are_what_to_wait_for(producer: MemoryProducer, tmp_path: Path) -> None:
    seen: list[int] = []
    documents = ({"text": f"t{number}"} for number in range(2_500))
    report = producer.write_jsonl(lines(*documents), lambda written, failed: seen.append(written + failed))
    assert seen == [1_000, 2_000, 2_500]
    with mnemolog.open(tmp_path, ("acme", "alice"), embedder="none") as memory:
        for position in report.positions:
            memory.wait(position)
        assert memory.list().total == 2_500


def test_a_missing_file_and_a_closed_producer_say_so(producer: MemoryProducer, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="can't open"):
        producer.write_jsonl(tmp_path / "nowhere.jsonl")
    producer.close()
    producer.close()
    with pytest.raises(ClosedError):
        producer.remember("too late")


def test_bad_input_appends_nothing(producer: MemoryProducer, tmp_path: Path) -> None:
    for bad in ({"text": " "}, {"text": "x", "importance": 2.0}, {"text": "x", "ttl_seconds": 0}):
        with pytest.raises(InvalidInputError):
            producer.remember(**bad)
    assert producer.remember("good").position.offset == 0
