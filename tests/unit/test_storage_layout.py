"""Generations behind a pointer: a flip is one step for every reader; what is damaged or differs is told."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.stores import at_once

from mnemolog.embedders import HashingEmbedder
from mnemolog.processors.shards import (
    VIEWS,
    check_manifest,
    ensure_live,
    make_tables,
    new_manifest,
    open_tables,
)
from mnemolog.schemas.errors import EmbedderMismatchError, InvalidInputError, ViewError, ViewMissingError
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.stores import BucketStore, FolderStore, Store

EMBEDDER = HashingEmbedder(8)


def manifest(generation: str) -> Manifest:
    return new_manifest(2, EMBEDDER, generation)


def with_generations(root: Path, count: int) -> Views:
    views = Views(root)
    for _ in range(count):
        views.add(manifest(""))
    views.make_live("g000001")
    return views


def test_there_is_nothing_before_the_first_generation(tmp_path: Path) -> None:
    views = Views(tmp_path / "views")
    assert not views.exist
    assert views.generations() == []
    with pytest.raises(ViewMissingError, match="mnemolog replay"):
        views.current()
    assert not (tmp_path / "views").exists(), "looking makes no folder"


def test_a_generation_counts_once_it_is_live(tmp_path: Path) -> None:
    views = Views(tmp_path)
    assert views.add(manifest("")) == manifest("g000001")
    assert not views.exist
    views.make_live("g000001")
    assert views.exist
    assert views.current() == Views(tmp_path).current() == manifest("g000001")


def test_generations_are_numbered_on(tmp_path: Path) -> None:
    views = with_generations(tmp_path, 3)
    (tmp_path / "g000003").rename(tmp_path / "g000009")
    (tmp_path / "g000002").rename(tmp_path / "gold")
    assert views.add(manifest("")).generation == "g000010"
    assert views.generations() == ["g000001", "g000009", "g000010", "gold"]


def test_generations_made_at_once_have_names_of_their_own(tmp_path: Path) -> None:
    made = at_once([lambda: Views(tmp_path).add(manifest("")).generation] * 8)
    assert sorted(made) == [f"g{number:06d}" for number in range(1, 9)]


def test_who_opens_a_new_place_at_once_gets_the_same_live_generation(tmp_path: Path) -> None:
    opened = at_once([lambda: ensure_live(Views(tmp_path), 2, EMBEDDER).generation] * 8)
    assert set(opened) == {Views(tmp_path).current().generation}


def test_a_generation_that_is_not_there_cannot_be_made_live(tmp_path: Path) -> None:
    views = with_generations(tmp_path, 1)
    with pytest.raises(ViewMissingError):
        views.make_live("g000002")
    assert views.current().generation == "g000001"


def test_a_flip_is_seen_by_every_handle_at_once(tmp_path: Path) -> None:
    names = [f"g{number:06d}" for number in range(1, 51)]
    writer, readers = with_generations(tmp_path, len(names)), [Views(tmp_path), Views(tmp_path)]
    for name in names:
        writer.make_live(name)
        assert [views.current().generation for views in (writer, *readers)] == [name] * 3


def test_readers_under_flips_see_whole_generations_in_their_order(tmp_path: Path) -> None:
    names = [f"g{number:06d}" for number in range(1, 100)]
    writer = with_generations(tmp_path, len(names))
    done, seen, errors = threading.Event(), [list[str]() for _ in range(3)], list[Exception]()

    def read(views: Views, mine: list[str]) -> None:
        while not done.is_set():
            try:
                current = views.current()
                assert current == manifest(current.generation)
                mine.append(current.generation)
            except Exception as error:
                errors.append(error)

    shared = Views(tmp_path)
    readers = [threading.Thread(target=read, args=(views, mine)) for views, mine in zip(
        (shared, shared, Views(tmp_path)), seen, strict=True
    )]  # fmt: skip
    for thread in readers:
        thread.start()
    for name in names:
        writer.make_live(name)
    done.set()
    for thread in readers:
        thread.join()
    assert errors == []
    for mine in seen:
        assert mine == sorted(mine), "no reader steps back"
        assert mine


FLIP_FOR_EVER = """
import itertools, sys
from mnemolog.storage.layout import Views
from mnemolog.storage.stores import BucketStore, FolderStore, Store
views = Views(sys.argv[1])
for number in itertools.count():
    views.make_live(f"g{number % 5 + 1:06d}")
    print(number, flush=True)
"""


def test_a_kill_in_mid_flip_leaves_a_whole_pointer(tmp_path: Path) -> None:
    views = with_generations(tmp_path, 5)
    command = [sys.executable, "-c", FLIP_FOR_EVER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as flipper:
        assert flipper.stdout is not None
        for _ in range(50):
            flipper.stdout.readline()
            assert views.current().generation in views.generations()
        flipper.kill()
    assert views.current() == Views(tmp_path).current()
    views.make_live("g000003")
    assert views.current().generation == "g000003"


def test_a_leftover_of_an_interrupted_write_is_no_generation(tmp_path: Path) -> None:
    views = with_generations(tmp_path, 1)
    (tmp_path / "g000002").mkdir()
    (tmp_path / "g000002" / "manifest.json.7.tmp").write_text("{")
    (tmp_path / "current.json.7.tmp").write_text("{")
    assert views.generations() == ["g000001"]
    assert views.current().generation == "g000001"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"generation": 5}', '{"generation": "g000404"}']
)
def test_a_damaged_pointer_is_an_error_of_ours(tmp_path: Path, text: str) -> None:
    with_generations(tmp_path, 1)
    (tmp_path / "current.json").write_text(text)
    with pytest.raises(ViewError, match=r"\.json"):
        Views(tmp_path).current()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"generation": "g", "unknown": 1}'])
def test_a_damaged_manifest_is_an_error_of_ours(tmp_path: Path, text: str) -> None:
    with_generations(tmp_path, 1)
    (tmp_path / "g000001" / "manifest.json").write_text(text)
    with pytest.raises(ViewError, match=r"manifest\.json"):
        Views(tmp_path).current()


def test_the_first_to_come_makes_the_views(tmp_path: Path) -> None:
    made = ensure_live(Views(tmp_path), 2, EMBEDDER)
    assert made == manifest("g000001")
    assert ensure_live(Views(tmp_path), 2, EMBEDDER) == made


@pytest.mark.parametrize("attempt", range(10))
def test_many_may_come_first_at_once(tmp_path: Path, attempt: int) -> None:
    made = at_once([lambda: ensure_live(Views(tmp_path), 2, EMBEDDER) for _ in range(8)], threads=8)
    live = Views(tmp_path).current()
    assert made == [live] * 8
    assert Views(tmp_path).generations() == [live.generation]
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_live_generation_has_all_its_tables_so_that_writers_need_not_make_any(tmp_path: Path) -> None:
    """Of two that make a table at the same time, the later replaces the earlier one's with all its rows."""
    made = ensure_live(Views(tmp_path), 2, EMBEDDER)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    for partition in range(2):
        assert [view for view, _ in open_tables(Views(tmp_path), made, partition)] == list(VIEWS)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before


def test_who_writes_makes_no_table_that_is_not_there(tmp_path: Path) -> None:
    views = Views(tmp_path)
    made = views.add(manifest(""))
    with pytest.raises(ViewMissingError, match="no table"):
        open_tables(views, made, 0)
    make_tables(views, made)
    assert len(open_tables(views, made, 0)) == len(VIEWS)


MISMATCHES: dict[str, Callable[[Manifest], Manifest]] = {
    "partitions": lambda one: replace(one, partitions=3),
    "folds": lambda one: replace(one, folds={**one.folds, "memories": 99}),
    "a fold is new": lambda one: replace(one, folds={"memories": 1}),
    "analyzer": lambda one: replace(one, analyzer="another"),
    "dimension": lambda one: replace(one, dim=9),
}


@pytest.mark.parametrize("name", list(MISMATCHES))
def test_views_that_were_built_with_something_else_are_refused(tmp_path: Path, name: str) -> None:
    views = Views(tmp_path)
    views.add(MISMATCHES[name](manifest("g000001")))
    views.make_live("g000001")
    with pytest.raises(ViewError, match="mnemolog replay"):
        ensure_live(views, 2, EMBEDDER)
    assert views.generations() == ["g000001"], "nothing is dropped"


@pytest.mark.parametrize(
    ("built", "given"), [(EMBEDDER, HashingEmbedder(16)), (EMBEDDER, None), (None, EMBEDDER)]
)
def test_another_embedder_is_refused_by_name(
    built: HashingEmbedder | None, given: HashingEmbedder | None
) -> None:
    """M14."""
    made = new_manifest(2, built, "g000001")
    with pytest.raises(EmbedderMismatchError, match="mnemolog replay --embedder") as caught:
        check_manifest(made, 2, given)
    assert (given.name if given else "none") in str(caught.value)
    check_manifest(made, 2, built)


def test_a_place_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Views("nonsense://place/views")
    assert caught.value.field == "views"


def test_documents_are_plain_json(tmp_path: Path) -> None:
    with_generations(tmp_path, 1)
    assert json.loads((tmp_path / "current.json").read_text()) == {"generation": "g000001"}
    assert json.loads((tmp_path / "g000001" / "manifest.json").read_text())["embedder"] == EMBEDDER.name


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_a_folder_of_a_store_is_removed_with_all_below_it_and_nothing_else(tmp_path: Path, kind: str) -> None:
    if kind == "bucket":
        pytest.importorskip("obstore")
    store: Store = FolderStore(tmp_path) if kind == "folder" else BucketStore("memory:///")
    names = ("g1/a.json", "g1/p00/x", "g1/p00/y/z", "g1/p01/y", "g10/a.json")
    for name in names:
        store.write(name, b"1")

    def left() -> list[str]:
        return [name for name in names if store.read(name) is not None]

    store.remove("g1/p00")
    assert left() == ["g1/a.json", "g1/p01/y", "g10/a.json"]
    store.remove("g1/a.json")
    store.remove("g2")
    assert left() == ["g1/p01/y", "g10/a.json"]
    store.remove("g1")
    assert left() == ["g10/a.json"]
    assert store.stamp("g1/a.json") is None
