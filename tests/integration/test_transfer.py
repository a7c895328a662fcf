"""Logs through files: nothing lost, nothing doubled, and what other libraries exported."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import CommandLine
from support.properties import examples

import mnemolog
from mnemolog.broker import LocalBroker
from mnemolog.processors.generations import read_contents
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.producers.kafka import KafkaLog
from mnemolog.producers.kafka_topics import create_topics
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.records import Record
from mnemolog.schemas.topics import CONTEXT, MEMORIES, TOPICS
from mnemolog.storage.layout import Views
from mnemolog.transfer.records import export_log, import_log, read_file, read_log

ENDINGS = pytest.mark.parametrize("ending", ["jsonl", "parquet"])


def fill(home: Path) -> None:
    """Every kind of event, in two namespaces."""
    with mnemolog.open(home, namespace=("acme", "alice"), embedder="hashing:8") as alice:
        one = alice.remember("Alice eats no meat 🥕", key="diet", metadata={"ä": [1, None]})
        alice.remember("Alice eats fish", key="diet")
        other = alice.know_fact("Alice", "owns", "bike")
        alice.link(other.id, one.id, "rests_on")
        hits = alice.recall("what does Alice eat?")
        alice.feedback(hits.recall_id, used=hits.ids[:1])
        alice.set_context("state", {"step": 1}, agent_id="a")
        alice.set_config(threshold=0.9)
        bob = alice.at("bob")
        bob.forget(bob.remember("Bob's secret").id)
        bob.remember("Bob's bike")
        bob.list()
        alice.list()


def records(home: Path) -> list[Record]:
    with EmbeddedLog(home / "log.sqlite") as log:
        return list(read_log(log))


@ENDINGS
def test_a_round_trip_loses_nothing_and_is_byte_equal(tmp_path: Path, ending: str) -> None:
    fill(tmp_path / "old")
    first, second = tmp_path / f"first.{ending}", tmp_path / f"second.{ending}"
    (tmp_path / "new").mkdir()
    with (
        EmbeddedLog(tmp_path / "old" / "log.sqlite") as old,
        EmbeddedLog(tmp_path / "new" / "log.sqlite") as new,
    ):
        count = export_log(old, first)
        assert count == sum(sum(old.end_offsets(spec.name).values()) for spec in TOPICS) > 10
        assert import_log(new, first) == count
        export_log(new, second)
    assert records(tmp_path / "new") == records(tmp_path / "old")
    assert first.read_bytes() == second.read_bytes()
    assert not list(tmp_path.glob("*.partial"))


@ENDINGS
def test_imported_views_are_equal_and_a_second_import_changes_nothing(tmp_path: Path, ending: str) -> None:
    fill(tmp_path / "old")
    file = tmp_path / f"all.{ending}"
    (tmp_path / "new").mkdir()
    with EmbeddedLog(tmp_path / "old" / "log.sqlite") as old:
        export_log(old, file)
    found = []
    for _ in range(2):
        with EmbeddedLog(tmp_path / "new" / "log.sqlite") as new:
            import_log(new, file)
        with mnemolog.open(tmp_path / "new", namespace=("acme", "alice"), embedder="hashing:8") as alice:
            found.append((alice.list(include_superseded=True).items, alice.current_config()))
            assert alice.at("bob").list().total == 1
    assert found[0] == found[1]
    with mnemolog.open(tmp_path / "old", namespace=("acme", "alice"), embedder="hashing:8") as alice:
        assert alice.list(include_superseded=True).items == found[0][0]


def test_views_of_one_import_have_the_digest_of_the_first_log(tmp_path: Path) -> None:
    fill(tmp_path / "old")
    (tmp_path / "new").mkdir()
    with (
        EmbeddedLog(tmp_path / "old" / "log.sqlite") as old,
        EmbeddedLog(tmp_path / "new" / "log.sqlite") as new,
    ):
        export_log(old, tmp_path / "all.jsonl")
        import_log(new, tmp_path / "all.jsonl")
    mnemolog.open(tmp_path / "old", embedder="hashing:8").close()
    with mnemolog.open(tmp_path / "new", namespace=("acme", "alice"), embedder="hashing:8") as alice:
        alice.list()
    contents = [read_contents(Views(tmp_path / name / "views"), "g000001") for name in ("old", "new")]
    assert contents[0].differing(contents[1]) == []


@pytest.mark.parametrize(("before", "after"), [(3, 1), (3, 2), (1, 3)])
def test_a_moment_means_the_same_in_a_log_of_another_number_of_partitions(
    tmp_path: Path, before: int, after: int
) -> None:
    names, said = [f"n{number}" for number in range(6)], "round {} of {}".format
    for home, partitions in (("old", before), ("new", after)):
        (tmp_path / home).mkdir()
        EmbeddedLog(tmp_path / home / "log.sqlite", partitions=partitions).close()
    moments = []
    with mnemolog.open(tmp_path / "old", embedder=None) as root:
        for turn in range(3):
            for name in names:
                root.at(name).remember(said(turn, name))
            time.sleep(0.005)
            moments.append(datetime.now(UTC))
            time.sleep(0.005)
    with (
        EmbeddedLog(tmp_path / "old" / "log.sqlite") as old,
        EmbeddedLog(tmp_path / "new" / "log.sqlite") as new,
    ):
        export_log(old, tmp_path / "all.jsonl")
        import_log(new, tmp_path / "all.jsonl")
    with mnemolog.open(tmp_path / "new", embedder=None) as root:
        for turn, moment in enumerate(moments):
            for name in names:
                known = [item.text for item in root.at(name).list(as_of=moment).items]
                assert sorted(known) == [said(past, name) for past in range(turn + 1)]


def test_one_namespace_is_exported_alone(tmp_path: Path) -> None:
    fill(tmp_path)
    with EmbeddedLog(tmp_path / "log.sqlite") as log:
        export_log(log, tmp_path / "bob.jsonl", [("bob",)])
    assert {record.key for record in read_file(tmp_path / "bob.jsonl")} == {b"bob"}
    with EmbeddedLog(tmp_path / "log.sqlite") as log:
        export_log(log, tmp_path / "alice.jsonl", [("acme", "alice")])
    topics = {record.topic for record in read_file(tmp_path / "alice.jsonl")}
    assert {MEMORIES, CONTEXT} <= topics
    assert b"Bob" not in (tmp_path / "alice.jsonl").read_bytes()


@pytest.mark.kafka
def test_to_kafka_and_back_keeps_every_record(tmp_path: Path, broker: LocalBroker) -> None:
    fill(tmp_path / "old")
    create_topics(broker.bootstrap)
    mine = [("acme", "alice"), ("bob",)]
    (tmp_path / "new").mkdir()
    with (
        EmbeddedLog(tmp_path / "old" / "log.sqlite") as old,
        EmbeddedLog(tmp_path / "new" / "log.sqlite") as new,
        KafkaLog(broker.bootstrap) as kafka,
    ):
        export_log(old, tmp_path / "out.jsonl", mine)
        import_log(kafka, tmp_path / "out.jsonl")
        export_log(kafka, tmp_path / "back.parquet", mine)
        import_log(new, tmp_path / "back.parquet")
        for namespace in mine:
            assert list(read_log(new, [namespace])) == list(read_log(old, [namespace]))


@given(
    st.lists(
        st.builds(
            Record,
            st.sampled_from(sorted(spec.name for spec in TOPICS)),
            st.binary(max_size=20),
            st.none() | st.binary(max_size=50),
            st.lists(st.tuples(st.text("abc", min_size=1), st.binary(max_size=9)), max_size=3).map(tuple),
            st.integers(0, 2**42),
        ),
        max_size=20,
    )
)
@examples(40)
def test_any_bytes_come_back_as_they_were(given_records: list[Record]) -> None:
    import tempfile

    from mnemolog.transfer.parquet import read_parquet, write_parquet
    from mnemolog.transfer.records import write_lines

    with tempfile.TemporaryDirectory() as folder:
        lines, table = Path(folder) / "a.jsonl", Path(folder) / "a.parquet"
        with lines.open("wb") as file:
            write_lines(given_records, file)
        write_parquet(given_records, table)
        assert list(read_file(lines)) == given_records
        assert list(read_parquet(table)) == given_records


GOOD = {"topic": MEMORIES, "timestamp": 1, "key": "a", "value": "{}", "headers": []}


@pytest.mark.parametrize(
    "bad",
    [
        "no json",
        "[]",
        json.dumps({**GOOD, "topic": "other"}),
        json.dumps({**GOOD, "key": None}),
        json.dumps({**GOOD, "timestamp": None}),
        json.dumps({**GOOD, "timestamp": True}),
        json.dumps({**GOOD, "value": {"base64": "?"}}),
        json.dumps({**GOOD, "value": 5}),
        json.dumps({"topic": MEMORIES}),
    ],
)
def test_a_bad_file_appends_nothing(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(f"{json.dumps(GOOD)}\n{bad}\n")
    with EmbeddedLog(tmp_path / "log.sqlite") as log:
        with pytest.raises(InvalidInputError, match="line 2"):
            import_log(log, file)
        assert log.end_offsets(MEMORIES) == {0: 0}


def test_a_file_that_is_not_there_or_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("no parquet")
    with EmbeddedLog(tmp_path / "log.sqlite") as log:
        for name in ("missing.jsonl", "missing.parquet", "bad.parquet"):
            with pytest.raises(InvalidInputError):
                import_log(log, tmp_path / name)
        with pytest.raises(InvalidInputError):
            export_log(log, tmp_path / "no folder" / "out.jsonl")


def test_the_commands_carry_a_memory_to_another_folder(tmp_path: Path) -> None:
    old, new = CommandLine(tmp_path / "old"), CommandLine(tmp_path / "new")
    old.ok("remember", "one", "--id", "m1")
    old.ok("remember", "two", "--namespace", "acme/bob")
    file = tmp_path / "out.jsonl"
    assert old.json("export", file)["records"] == 2
    new.ok("init", "--partitions", "3")
    assert new.json("import", file) == {"written": 2, "failed": 0}
    assert [one["id"] for one in new.lines("list")] == ["m1"]
    assert len(new.lines("list", "--namespace", "acme/bob")) == 1
    assert old.json("export", file, "--only", "acme/bob")["records"] == 1
    assert new.run("import", tmp_path / "missing").exit_code == 2


MEM0 = {
    "results": [
        {
            "id": "8f0e2a5e-0000-4000-8000-000000000001",
            "memory": "Likes tea",
            "hash": "x",
            "metadata": {"mood": "calm"},
            "categories": ["food"],
            "created_at": "2025-07-01T10:00:00-07:00",
            "updated_at": None,
            "user_id": "alice",
            "run_id": "t1",
        },
        {"id": "m2", "memory": "Likes coffee", "user_id": "bob"},
    ]
}
LANGGRAPH = [
    {
        "namespace": ["memories", "alice"],
        "key": "k1",
        "value": {"text": "Likes tea", "mood": "calm"},
        "created_at": "2025-07-01T10:00:00+00:00",
        "updated_at": "2025-07-02T10:00:00+00:00",
    },
    {"namespace": ["memories", "alice"], "key": "k2", "value": {"rating": 5}},
]
MCP = [
    {"type": "entity", "name": "Alice", "entityType": "person", "observations": ["likes tea", "sings"]},
    {"type": "entity", "name": "Bike Shop", "entityType": "company", "observations": []},
    {"type": "relation", "from": "Alice", "to": "Bike Shop", "relationType": "works_at"},
]


def lines(entries: list[Any]) -> str:
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


@pytest.mark.parametrize("text", [json.dumps(MEM0), json.dumps(MEM0["results"]), lines(MEM0["results"])])
def test_memories_of_mem0(tmp_path: Path, text: str) -> None:
    cli, file = CommandLine(tmp_path / "memory"), tmp_path / "mem0.json"
    file.write_text(text)
    for _ in range(2):
        assert cli.json("import", file, "--from", "mem0", "--namespace", "app")["written"] == 2
    (item,) = cli.lines("list", "--namespace", "app/alice")
    assert (item["text"], item["thread_id"], item["tags"]) == ("Likes tea", "t1", ["food"])
    assert item["metadata"] == {"mood": "calm"}
    assert item["occurred_at"] == "2025-07-01T17:00:00+00:00"
    assert [one["text"] for one in cli.lines("list", "--namespace", "app/bob")] == ["Likes coffee"]


@pytest.mark.parametrize("text", [json.dumps(LANGGRAPH), lines(LANGGRAPH)])
def test_items_of_langgraph(tmp_path: Path, text: str) -> None:
    cli, file = CommandLine(tmp_path / "memory"), tmp_path / "items.json"
    file.write_text(text)
    for _ in range(2):
        assert cli.json("import", file, "--from", "langgraph", "--namespace", "app")["written"] == 2
    found = {one["id"]: one for one in cli.lines("list", "--namespace", "app/memories/alice")}
    assert found["k1"]["text"] == "Likes tea"
    assert found["k1"]["metadata"] == {"mood": "calm"}
    assert found["k2"]["text"] == '{"rating": 5}'
    assert found["k2"]["metadata"] == {"rating": 5}


def test_the_graph_of_the_mcp_memory_server(tmp_path: Path) -> None:
    cli, file = CommandLine(tmp_path / "memory"), tmp_path / "memory.jsonl"
    file.write_text(lines(MCP))
    for _ in range(2):
        assert cli.json("import", file, "--from", "mcp")["written"] == 4
    texts = {one["text"]: one for one in cli.lines("list")}
    assert set(texts) == {
        "Alice: likes tea", "Alice: sings", "Bike Shop (company)", "Alice works_at Bike Shop",
    }  # fmt: skip
    assert texts["Alice: sings"]["tags"] == ["person"]
    found = cli.json("graph", "neighbours", "alice")
    assert "Bike Shop" in json.dumps(found)


@pytest.mark.parametrize("source", ["mem0", "langgraph", "mcp", "other"])
@pytest.mark.parametrize("text", ['{"a": 1}', "[5]", "not json", '{"type": "x"}'])
def test_what_is_not_of_that_library_is_refused(tmp_path: Path, source: str, text: str) -> None:
    cli, file = CommandLine(tmp_path / "memory"), tmp_path / "in.json"
    file.write_text(text)
    assert cli.run("import", file, "--from", source).exit_code == 2
    assert not (tmp_path / "memory" / "log.sqlite").exists()
