"""The doctor finds what was broken, says what to run, and that helps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.command_line import CommandLine

from mnemolog.processors.shards import new_manifest
from mnemolog.producers.commands import Commands
from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.schemas.codec import encode
from mnemolog.schemas.topics import MEMORIES
from mnemolog.storage.layout import Views
from mnemolog.storage.table import LanceTable


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    cli = CommandLine(tmp_path / "memory")
    cli.ok("remember", "one", "--id", "m1", "--wait")
    cli.ok("know", "Alice", "owns", "bike")
    cli.ok("list")
    return cli


def findings(cli: CommandLine, code: int) -> list[str]:
    result = cli.run("doctor")
    assert result.exit_code == code, result.output
    return [line.split("\t")[2] for line in result.stdout.splitlines()]


def table(cli: CommandLine, name: str) -> LanceTable:
    views = Views(cli.home / "views")
    return LanceTable.open(views.shard(views.current().generation, 0), name, MEMORIES, 0)


def test_nothing_is_found_where_all_is_well(cli: CommandLine) -> None:
    assert findings(cli, 0) == []
    assert cli.run("doctor").stderr == "nothing found: log and views fit\n"


def test_views_that_lag_are_a_notice(cli: CommandLine) -> None:
    with EmbeddedLog(cli.home / "log.sqlite") as log:
        log.append(encode(Commands(("default",)).remember("not applied yet")))
    assert set(findings(cli, 0)) == {"has yet to apply 1 of 3 offsets"}
    cli.ok("list")
    assert findings(cli, 0) == []


def test_a_log_that_lost_its_end_is_a_problem_that_a_replay_repairs(cli: CommandLine) -> None:
    import sqlite3

    with sqlite3.connect(cli.home / "log.sqlite") as connection:
        connection.execute('DELETE FROM records WHERE topic = ? AND "offset" = 1', (MEMORIES,))
    connection.close()
    assert all("has applied 2 offsets, and the log has 1" in one for one in findings(cli, 1))
    cli.ok("replay")
    assert findings(cli, 0) == []


@pytest.mark.parametrize("name", ["memories", "edges", "context"])
def test_a_table_that_is_missing_is_a_problem_that_a_repair_mends(cli: CommandLine, name: str) -> None:
    live = Views(cli.home / "views").current().generation
    shutil.rmtree(cli.home / "views" / live / "p00" / f"{name}.lance")
    assert "the table is missing" in findings(cli, 1)
    cli.ok("doctor", "--repair")
    assert findings(cli, 0) == []


def test_rows_that_are_there_twice_or_of_no_memory_are_problems(cli: CommandLine) -> None:
    memories = table(cli, "memories").lance
    memories.add(memories.search().where("id = 'm1'").to_arrow())
    assert findings(cli, 1) == ["1 rows are there twice"]
    edges = table(cli, "edges").lance
    memories.delete("kind = 'fact'")
    assert edges.count_rows() > 1
    assert findings(cli, 1) == ["1 rows are there twice", "1 rows are of no memory"]
    cli.ok("replay")
    assert findings(cli, 0) == []


def test_edges_that_are_missing_are_a_problem(cli: CommandLine) -> None:
    table(cli, "edges").lance.delete("kind = 'fact'")
    assert findings(cli, 1) == ["the edges of 1 memories are missing"]
    cli.ok("replay")
    assert findings(cli, 0) == []


def test_what_lacks_its_vector_and_what_a_replay_left_are_notices(cli: CommandLine) -> None:
    views = Views(cli.home / "views")
    table(cli, "memories").lance.update(where="id = 'm1'", values_sql={"vector": "NULL"})
    left = views.add(new_manifest(1, None)).generation
    found = cli.lines("doctor")
    assert {one["level"] for one in found} == {"notice"}
    assert [one["place"] for one in found] == [left, "g000001/p00/memories"]
    cli.ok("generations", "drop", "--interrupted")
    assert len(findings(cli, 0)) == 1


def repairs(cli: CommandLine) -> list[str]:
    result = cli.run("doctor", "--repair")
    assert result.exit_code == 0, result.output
    return [line.split("\t")[2] for line in result.stdout.splitlines()]


def test_repair_does_nothing_where_all_is_well(cli: CommandLine) -> None:
    assert repairs(cli) == []


@pytest.mark.parametrize("broken", ["twice", "missing", "strange", "ahead"])
def test_repair_builds_anew_what_gives_wrong_answers(cli: CommandLine, broken: str) -> None:
    before = cli.ok("list")
    memories, edges = table(cli, "memories").lance, table(cli, "edges").lance
    match broken:
        case "twice":
            memories.add(memories.search().where("id = 'm1'").to_arrow())
        case "missing":
            edges.delete("kind = 'fact'")
        case "strange":
            memories.delete("kind = 'fact'")
        case "ahead":
            memories.update(where="pk LIKE '@applied%'", values_sql={"_off": "_off + 5"})
    assert findings(cli, 1)
    (done,) = repairs(cli)
    assert done == "built anew from the log, 2 events, and live now"
    assert findings(cli, 0) == []
    assert cli.ok("list") == before


def test_repair_removes_what_a_killed_writer_left_and_says_so(cli: CommandLine) -> None:
    import os
    import shutil

    folder = cli.home / "views" / "g000001" / "p00" / "memories.lance" / "data"
    orphan, half = folder / f"{'0' * 48}.lance", folder / ".tmpAb12cd"
    shutil.copy(next(folder.glob("*.lance")), orphan)
    half.write_bytes(b"half")
    for path in (orphan, half):
        os.utime(path, (0, 0))
    (found,) = findings(cli, 0)
    assert found.startswith("2 files, 0.")
    assert repairs(cli) == ["2 files that a killed writer had left are removed"]
    assert not orphan.exists()
    assert not half.exists()
    assert findings(cli, 0) == []
