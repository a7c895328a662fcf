"""Lines of JSON into events: what a line may be, and what is said of one that is not good."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemolog.producers.commands import Commands
from mnemolog.producers.jsonl import MAX_LINE_BYTES, LineParser, opened, read_lines
from mnemolog.producers.reports import LineError
from mnemolog.schemas.events import MemoryRemembered


def parse(*lines: bytes | dict[str, Any]) -> list[Any]:
    raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    parser = LineParser(Commands(("acme", "alice")))
    return [parser.parse(line) for line in read_lines(io.BytesIO(raw))]


def memory(line: bytes | dict[str, Any]) -> MemoryRemembered:
    (event,) = parse(line)
    assert isinstance(event, MemoryRemembered), event
    return event


def test_every_field_of_a_line_arrives() -> None:
    event = memory(
        {
            "text": "Ça va?",
            "kind": "quote",
            "importance": 0.5,
            "tags": ["a", "b"],
            "key": "mood",
            "id": "m1",
            "author": "Alice",
            "thread_id": "t",
            "agent_id": "g",
            "source": "chat",
            "metadata": {"deep": [1, {"a": None}]},
            "occurred_at": "2024-05-01T02:00:00+02:00",
            "expires_at": 1_900_000_000,
            "pinned": True,
            "namespace": ["b", "c/d"],
            "event_id": "e1",
        }
    )
    assert (event.namespace, event.memory_id, event.event_id, event.key) == (("b", "c/d"), "m1", "e1", "mood")
    assert event.occurred_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert event.expires_at == datetime.fromtimestamp(1_900_000_000, UTC)
    assert event.metadata == {"deep": [1, {"a": None}]}
    assert (event.tags, event.importance, event.pinned, event.touch) == (("a", "b"), 0.5, True, False)


def test_a_namespace_may_be_written_as_on_the_command_line() -> None:
    assert memory({"text": "x", "namespace": "b/c%2Fd"}).namespace == ("b", "c/d")
    assert memory({"text": "x", "namespace": None}).namespace == ("acme", "alice")


def test_null_is_the_same_as_nothing() -> None:
    event = memory({"text": "x", "kind": None, "tags": None, "metadata": None, "id": None})
    assert (event.kind, event.tags, event.metadata) == ("note", (), {})


def test_ids_follow_from_the_content_and_the_events_are_fresh() -> None:
    lines = [{"text": "x"}, {"text": "y"}, {"text": "x"}, {"text": "x", "kind": "fact"}]
    first, again = parse(*lines), parse(*lines)
    assert [event.memory_id for event in first] == [event.memory_id for event in again]
    assert len({event.memory_id for event in first}) == 4
    assert len({event.event_id for event in first + again}) == 8
    spaced, reordered = parse(b'{ "kind":"fact",  "text":"x" }', {"text": "x", "kind": "fact"})
    assert spaced.memory_id == first[3].memory_id
    assert reordered.memory_id not in (spaced.memory_id, first[3].memory_id)


def test_a_line_elsewhere_in_the_file_keeps_its_id() -> None:
    assert memory({"text": "x"}).memory_id == parse({"text": "new"}, {"text": "x"})[1].memory_id


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        (b'{"text": "cut', None, "not JSON"),
        (b'{"text": "\xff"}', None, "not JSON"),
        (b'{"text": "\\ud800"}', None, "not JSON"),
        (b'{"text": "x", "metadata": {"a": NaN}}', None, "not JSON"),
        (b"[" * 10_000, None, "not JSON"),
        (b'"text"', None, "not a JSON object"),
        ({"text": "x", "metadata": {"a": 1}, "mood": 1}, "mood", "unknown field 'mood'"),
        ({"text": "x", "ttl_seconds": 5}, "ttl_seconds", "unknown field"),
        ({"kind": "note"}, "text", "missing"),
        ({"text": 5}, "text", "valid string"),
        ({"text": "x", "tags": "ui"}, "tags", "list"),
        ({"text": "x", "metadata": []}, "metadata", "dict"),
        (b'{"text": "x", "importance": 1e999}', "importance", "finite|less than"),
        ({"text": "x", "occurred_at": "yesterday"}, "occurred_at", "datetime"),
        ({"text": "x", "occurred_at": 1e300}, "occurred_at", "occurred_at"),
        ({"text": "x", "namespace": [["a"]]}, "namespace", "list of strings"),
        ({"text": "x", "namespace": {"a": 1}}, "namespace", "list of strings"),
        ({"text": "x", "namespace": "%ff"}, "namespace", "UTF-8"),
        ({"text": "x", "namespace": "a//b"}, "namespace", "blank"),
        ({"type": "MemoryRemembered"}, "namespace", "list of strings"),
        ({"type": "MemoryDreamt", "namespace": ["a"]}, None, "unknown event type"),
        ({"type": "MemoryRemembered", "namespace": ["a"], "schema_version": 9}, None, "not valid|version 9"),
        (b'{"text": "' + b"x" * MAX_LINE_BYTES + b'"}', None, "over 1048576 bytes"),
    ],
)
def test_a_line_that_is_not_good_says_why(line: Any, field: str | None, reason: str) -> None:
    good, bad, after = parse({"text": "before"}, line, {"text": "after"})
    assert isinstance(bad, LineError)
    assert (bad.line, bad.field) == (2, field)
    assert re.search(reason, bad.reason)
    assert (good.text, after.text) == ("before", "after")


def test_a_file_may_have_a_mark_blank_lines_and_windows_line_ends() -> None:
    raw = b'\xef\xbb\xbf{"text": "a"}\r\n\r\n  \n{"text": "b"}\r\n{"text": "c"}'
    assert [event.text for event in parse(raw)] == ["a", "b", "c"]
    assert [number for number, _ in read_lines(io.BytesIO(raw))] == [1, 4, 5]


def test_files_may_be_paths_bytes_or_text(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"text": "ü"}\n', encoding="utf-8")
    expected = [(1, '{"text": "ü"}\n'.encode())]
    for source in (path, str(path), io.StringIO('{"text": "ü"}\n'), io.BytesIO(expected[0][1])):
        with opened(source) as file:
            assert list(read_lines(file)) == expected
    with path.open(encoding="utf-8") as text, opened(text) as file:
        assert list(read_lines(file)) == expected
