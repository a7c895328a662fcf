"""Upkeep: what is forgotten leaves the files, what a killed writer left goes, and no event waits for it."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from lance.file import LanceFileReader
from support.tables import lance_handle, row

from mnemolog.storage import upkeep
from mnemolog.storage.leftovers import IN_PROGRESS_SECONDS, leftovers
from mnemolog.storage.table import LanceTable
from mnemolog.storage.upkeep import COMMITS_BETWEEN, TEND_SECONDS, pinned, tidy

SECRET = "the word that was forgotten"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No read is so long that an older version has to stay."""
    monkeypatch.setattr(upkeep, "KEEP_VERSIONS", timedelta(0))


def data_files(folder: Path) -> list[Path]:
    return sorted((folder / "t.lance" / "data").iterdir())


def texts_in_files(folder: Path) -> Iterator[str]:
    """Every text in every data file, decoded, whatever version names it."""
    for path in data_files(folder):
        yield from LanceFileReader(str(path)).read_all().to_table().column("text").to_pylist()


def tend_until_done(table: LanceTable, now: float, *, alone: bool = True) -> int:
    steps = 0
    while table.tend(now + steps, alone):
        steps += 1
    return steps


@pytest.mark.usefixtures("quick")
def test_what_is_forgotten_leaves_the_files_once_time_has_passed(tmp_path: Path) -> None:
    table = lance_handle(tmp_path)
    table.commit([row("a", 0, text=SECRET), *(row(f"m{at}", 0) for at in range(500))], 0)
    table.commit([row("a", 1, text=None, deleted=True)], 1)
    assert SECRET in texts_in_files(tmp_path)
    for round_number in range(4):
        tend_until_done(table, round_number * TEND_SECONDS)
    assert SECRET not in set(texts_in_files(tmp_path))
    assert sum(1 for _ in table.scan()) == 501
    assert table.applied() == 2


@pytest.mark.usefixtures("quick")
def test_what_is_forgotten_leaves_the_files_after_many_commits_of_short_lived_programs(
    tmp_path: Path,
) -> None:
    lance_handle(tmp_path).commit([row("a", 0, text=SECRET), *(row(f"m{at}", 0) for at in range(500))], 0)
    lance_handle(tmp_path).commit([row("a", 1, text=None, deleted=True)], 1)
    writer, offset = lance_handle(tmp_path), 1
    while SECRET in set(texts_in_files(tmp_path)):
        offset += 1
        writer.commit([row(f"n{offset}", offset)], offset)
        assert offset < 42 * COMMITS_BETWEEN


@pytest.mark.usefixtures("quick")
def test_programs_that_commit_once_each_leave_few_files(tmp_path: Path) -> None:
    for offset in range(3 * COMMITS_BETWEEN):
        lance_handle(tmp_path).commit([row(f"m{offset}", offset)], offset)
        assert len(data_files(tmp_path)) <= COMMITS_BETWEEN + 3


def room(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def left_by_a_killed_writer(folder: Path) -> list[Path]:
    table = folder / "t.lance"
    orphan = table / "data" / f"{'0' * 48}.lance"
    shutil.copy(data_files(folder)[0], orphan)
    left = [orphan, table / "data" / ".tmpAb12cd", table / "_versions" / "3.manifest#1"]
    for path in left[1:]:
        path.write_bytes(b"half")
    return left


def test_what_a_killed_writer_left_goes_only_while_nobody_else_can_write(tmp_path: Path) -> None:
    table = lance_handle(tmp_path)
    table.commit([row("a", 0)], 0)
    left = left_by_a_killed_writer(tmp_path)
    table.tend(0.0, alone=False)
    tend_until_done(table, TEND_SECONDS, alone=False)
    assert all(path.exists() for path in left)
    tend_until_done(table, 2 * TEND_SECONDS, alone=True)
    assert not any(path.exists() for path in left)
    assert [one["pk"] for one in table.scan()] == ["a"]


def test_leftovers_are_files_that_are_old_and_of_no_version(tmp_path: Path) -> None:
    table = lance_handle(tmp_path)
    for offset in range(3):
        table.commit([row("a", offset)], offset)
    left = left_by_a_killed_writer(tmp_path)
    assert leftovers(table.lance) == []
    for path in (tmp_path / "t.lance").rglob("*"):
        os.utime(path, (time.time() - 7_200,) * 2)
    assert leftovers(table.lance) == sorted(left)


@pytest.mark.usefixtures("quick")
def test_upkeep_takes_short_steps_between_which_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_FRAGMENT_ROWS", 100)
    table = lance_handle(tmp_path)
    for part in range(5):
        table.commit([row(f"m{part}-{at}", part) for at in range(100)], part)
    table.commit([row(f"m{part}-0", 5, deleted=True) for part in range(5)], 5)
    table.tend(0.0, alone=True)
    steps, offset = 0, 6
    while table.tend(TEND_SECONDS + offset, alone=True):
        lance_handle(tmp_path).commit([row(f"new{offset}", offset)], offset)
        steps, offset = steps + 1, offset + 1
    assert steps >= 5
    assert table.applied() == offset
    assert sum(1 for _ in table.scan()) == 500 + offset - 6
    assert not tend_until_done(table, TEND_SECONDS + offset)


def test_a_long_read_goes_on_while_what_it_reads_is_replaced(tmp_path: Path) -> None:
    table = lance_handle(tmp_path)
    for part in range(4):
        table.commit([row(f"m{part}-{at}", part) for at in range(600)], part)
    reading = table.scan()
    seen = [next(reading)["pk"]]
    other = lance_handle(tmp_path)
    other.commit([row(f"m{part}-{at}", 4) for part in range(4) for at in range(600)], 4)
    for _ in range(2):
        list(tidy(other.lance, timedelta(0), threshold=0.0))
    seen += [one["pk"] for one in reading]
    assert len(seen) == len(set(seen)) == 2_400
    assert table.lance.to_lance().tags.list() == {}


def test_a_namespace_is_read_in_parts_while_all_of_it_is_replaced(tmp_path: Path) -> None:
    """So many fragments that no reading ahead has them all."""
    parts, each = 40, 300
    table, other = lance_handle(tmp_path), lance_handle(tmp_path)
    for part in range(parts):
        table.commit([row(f"m{part}-{at}", part) for at in range(each)], part)
    reading = table.batches("namespace = 'acme'", ["pk"], 256, parts * each)
    seen = next(reading).column("pk").to_pylist()
    other.commit([row(f"m{part}-0", parts) for part in range(parts)], parts)
    for _ in range(2):
        list(tidy(other.lance, timedelta(0), threshold=0.0))
    seen += [pk for part in reading for pk in part.column("pk").to_pylist()]
    assert len(seen) == len(set(seen)) == parts * each
    assert table.lance.to_lance().tags.list() == {}


def test_leftovers_are_looked_for_while_versions_come_and_go(tmp_path: Path) -> None:
    writer, reader, done = lance_handle(tmp_path), lance_handle(tmp_path), threading.Event()
    writer.commit([row("m", 0)], 0)
    (old := tmp_path / "t.lance" / "data" / "old.lance").write_bytes(b"x")
    hours_ago = time.time() - 2 * IN_PROGRESS_SECONDS
    os.utime(old, (hours_ago, hours_ago))

    def churn() -> None:
        for offset in range(1, 60):
            writer.commit([row("m", offset)], offset)
            list(tidy(writer.lance, timedelta(seconds=0.2)))
        done.set()

    churning = threading.Thread(target=churn)
    churning.start()
    while not done.is_set():
        assert [path.name for path in leftovers(reader.lance)] == ["old.lance"]
    churning.join()


def test_a_pin_that_is_being_written_is_nothing_that_was_left(tmp_path: Path) -> None:
    table = lance_handle(tmp_path)
    table.commit([row("m", 0)], 0)
    with pinned(lance_handle(tmp_path).lance):
        tags = tmp_path / "t.lance" / "_refs" / "tags"
        (under_way := tags / "pin.json#1").write_bytes(b"{}")
        (left := tmp_path / "t.lance" / "data" / "some.lance#1").write_bytes(b"x")
        tend_until_done(table, 0)
        tend_until_done(table, 2 * TEND_SECONDS)
        assert under_way.exists() and not left.exists()


def test_a_reader_that_may_not_write_reads_without_a_pin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lance_handle(tmp_path)
    table.commit([row(f"m{at}", 0) for at in range(10)], 0)
    monkeypatch.setattr(upkeep, "_PIN", "no/such name/")  # refused as a tag's name, as a write would be
    assert sum(1 for _ in table.scan()) == 10


def test_no_read_fails_because_upkeep_drops_what_it_reads(tmp_path: Path) -> None:
    writer, reader, done = lance_handle(tmp_path), lance_handle(tmp_path), threading.Event()
    for part in range(10):
        writer.commit([row(f"m{part}-{at}", part) for at in range(500)], part)

    def churn() -> None:
        for offset in range(10, 20):
            writer.commit([row(f"m{part}-{offset}", offset) for part in range(10)], offset)
            list(tidy(writer.lance, timedelta(0), threshold=0.0))
        done.set()

    churning = threading.Thread(target=churn)
    churning.start()
    while not done.is_set():
        assert reader.where("namespace = 'acme'").num_rows == reader.count("namespace = 'acme'") == 5_000
    churning.join()


def test_the_pin_of_a_killed_reader_goes_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lance_handle(tmp_path)
    table.commit([row("a", 0)], 0)
    pin = pinned(lance_handle(tmp_path).lance)
    pin.__enter__()
    list(tidy(table.lance, timedelta(0)))
    assert len(table.lance.to_lance().tags.list()) == 1
    later = time.time() + 90_000
    with monkeypatch.context() as tomorrow:
        tomorrow.setattr(time, "time", lambda: later)
        list(tidy(table.lance, timedelta(0)))
    assert table.lance.to_lance().tags.list() == {}


@pytest.mark.usefixtures("quick")
def test_many_small_commits_take_little_more_room_than_the_live_data(tmp_path: Path) -> None:
    """What the commits take since the last upkeep comes on top; `benchmarks/soak.py` is the long form, in
    which that hardly counts."""
    table, sizes = lance_handle(tmp_path), []
    for offset in range(5 * COMMITS_BETWEEN):
        rows = [row(f"m{offset}-{at}", offset, text=f"{offset} {at} " + "word " * 20) for at in range(40)]
        changed = row(f"m{offset // 2}-1", offset, text="changed")
        table.commit([*rows, changed], offset)
        sizes.append(room(tmp_path))
    for _ in range(2):
        list(tidy(table.lance, timedelta(0), threshold=0.0, alone=True))
    assert max(sizes) <= 3 * room(tmp_path) + COMMITS_BETWEEN * sizes[0]
