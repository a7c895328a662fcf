"""The commands that look after a memory: init, replay, deadletters."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine

from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.positions import Position
from mnemolog.schemas.records import Record
from mnemolog.schemas.topics import MEMORIES


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "memory")


def append_bad(cli: CommandLine, value: bytes | None = b"{bad") -> Position:
    """Put a record into the log that is no event, and let the views meet it."""
    with EmbeddedLog(cli.home / "log.sqlite") as log:
        at = log.append([Record(MEMORIES, b"default", value)])[0]
    cli.ok("stats")
    return at


def test_init_makes_a_memory_once(cli: CommandLine) -> None:
    first, second = cli.json("init"), cli.json("init")
    assert (first["created"], second["created"]) == (True, False)
    assert first["path"] == str(cli.home)
    assert first["embedder"].startswith("hashing")
    assert cli.lines("list") == []


def test_init_fixes_the_partitions(cli: CommandLine) -> None:
    cli.ok("init", "--partitions", "3")
    with EmbeddedLog(cli.home / "log.sqlite") as log:
        assert log.partitions(MEMORIES) == 3
    for name in ("alice", "bob", "carol"):
        cli.ok("remember", f"I am {name}", "--namespace", name)
        assert [item["text"] for item in cli.lines("list", "--namespace", name)] == [f"I am {name}"]
    assert "3" in cli.fails(2, "init", "--partitions", "4")


def test_replay_builds_equal_views_and_flips(cli: CommandLine) -> None:
    cli.ok("remember", "one", "--key", "k")
    cli.ok("remember", "two", "--key", "k")
    cli.ok("remember", "three", "--id", "m3")
    cli.ok("forget", "m3")
    report = cli.json("replay", "--check")
    assert (report["applied"], report["rejected"], report["live"]) == (5, 0, True)
    assert (report["equal"], report["differing"], report["lags"]) == (True, [], False)
    assert cli.json("stats")["generation"] == report["generation"]
    assert cli.ok("replay", "--check").splitlines()[1] == "equal to the views that were live"


def test_replay_needs_no_views(cli: CommandLine) -> None:
    cli.ok("remember", "text")
    assert cli.json("replay")["applied"] == 1
    assert len(cli.lines("list")) == 1


def test_replay_can_leave_the_old_views_live(cli: CommandLine) -> None:
    cli.ok("remember", "text", "--wait")
    before = cli.json("stats")["generation"]
    report = cli.json("replay", "--no-flip")
    assert not report["live"]
    assert report["generation"] != before
    assert cli.json("stats")["generation"] == before


def test_replay_changes_the_embedder(cli: CommandLine) -> None:
    cli.ok("remember", "text", "--wait")
    report = cli.json("replay", "--embedder", "none", "--check")
    assert (report["embedder"], report["equal"]) == (None, True)
    unnamed = {"MNEMOLOG_EMBEDDER": None}
    assert cli.json("stats", env=unnamed)["embedder"] is None
    assert cli.json("recall", "text", env=unnamed)["hits"][0]["origins"] == ["keyword"]


def test_a_check_finds_what_was_tampered_with(cli: CommandLine) -> None:
    cli.ok("remember", "text", "--wait")
    append_bad(cli)
    with EmbeddedLog(cli.home / "log.sqlite") as log:
        stored = log.read(MEMORIES, 0, 0, 1)[0]
    assert stored.value is not None
    spoil_first_record(cli.home / "log.sqlite", stored.value.replace(b'"text":"text"', b'"text":"other"'))
    result = cli.run("replay", "--check")
    assert result.exit_code == 1
    assert "differs in memories" in result.stdout
    assert "1 records could not be applied" in result.stderr


def spoil_first_record(file: Path, value: bytes) -> None:
    import sqlite3

    with sqlite3.connect(file) as connection:
        connection.execute('UPDATE records SET value = ? WHERE topic = ? AND "offset" = 0', (value, MEMORIES))
    connection.close()


def test_deadletters_are_listed_once_with_their_reason(cli: CommandLine) -> None:
    cli.ok("init")
    at = append_bad(cli)
    (letter,) = cli.lines("deadletters", "list")
    assert (letter["position"], letter["key"], letter["value"]) == (str(at), "default", "{bad")
    assert (letter["deliveries"], letter["resolved"]) == (1, None)
    assert "not JSON" in letter["reason"]
    (line,) = cli.ok("deadletters", "list").splitlines()
    assert line.split("\t")[0] == str(at)


def test_a_retry_that_fails_again_is_a_new_letter(cli: CommandLine) -> None:
    cli.ok("init")
    at = append_bad(cli)
    (done,) = cli.lines("deadletters", "retry", at)
    assert (done["position"], done["action"]) == (str(at), "retried")
    assert done["result"] == f"{at.topic}/{at.partition}/{at.offset + 1}"
    cli.ok("stats")
    states = {letter["position"]: letter["resolved"] for letter in cli.lines("deadletters", "list", "--all")}
    assert states == {str(at): "retried", done["result"]: None}


def test_dropped_letters_are_hidden(cli: CommandLine) -> None:
    cli.ok("init")
    first, second = append_bad(cli), append_bad(cli)
    assert cli.ok("deadletters", "drop", first) == f"dropped {first}\n"
    assert [letter["position"] for letter in cli.lines("deadletters", "list")] == [str(second)]
    assert cli.ok("deadletters", "drop", "--all") == f"dropped {second}\n"
    result = cli.run("deadletters", "list")
    assert (result.stdout, result.stderr) == ("", "no dead letters\n")
    assert len(cli.lines("deadletters", "list", "--all")) == 2


def test_what_can_t_be_decided_does_not_stop_the_rest(cli: CommandLine) -> None:
    cli.ok("init")
    empty, bad = append_bad(cli, None), append_bad(cli)
    result = cli.run("deadletters", "retry", "mnemolog.memories/0/77", empty, bad)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"retried {bad}, now at ")
    unknown, blank = result.stderr.splitlines()
    assert "there is no dead letter mnemolog.memories/0/77" in unknown
    assert "only drop it" in blank
