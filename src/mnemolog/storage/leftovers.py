"""What is in a table's folder and belongs to no version of it: left by a writer that was killed."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnemolog.storage.reads import read

_REFERENCES = "_refs"
"""Where readers write too: their pins."""

IN_PROGRESS_SECONDS = 3600.0
"""A file that is younger may be of a commit that is under way."""


def temporary_files(uri: str) -> list[Path]:
    """The files that were to be renamed once they were whole; none in a bucket."""
    if "://" in uri:
        return []
    files = _files(Path(uri))
    return [path for path in files if _is_temporary(path.name) and _REFERENCES not in path.parts]


def _is_temporary(name: str) -> bool:
    """Lance writes to `.tmp…`, the object store below it to `<name>#<number>`, before they rename."""
    return name.startswith(".tmp") or (name.rpartition("#")[2].isdigit() and "#" in name)


def remove_temporary_files(uri: str) -> None:
    """Remove `temporary_files`. Only to be called while nobody writes."""
    for path in temporary_files(uri):
        path.unlink(missing_ok=True)


def leftovers(table: Any) -> list[Path]:
    """The temporary files, and the data files that no version names, that are older than an hour.

    Reads the manifest of every version; none are found in a bucket, where Lance drops them after a week.
    """
    if "://" in table.uri:
        return []
    before = time.time() - IN_PROGRESS_SECONDS
    old = [path for path in _files(Path(table.uri) / "data") if _written(path) < before]
    named = set(_named(table.to_lance())) if old else set()
    found = [path for path in temporary_files(table.uri) if _written(path) < before]
    return sorted({*found, *(path for path in old if path.name not in named and path.exists())})


def _written(path: Path) -> float:
    """When a file was written, in seconds since 1970; ∞ where it is gone."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf


def _named(dataset: Any) -> Iterator[str]:
    for version in read(dataset.versions):
        try:
            fragments = dataset.checkout_version(version["version"]).get_fragments()
        except (
            OSError,
            RuntimeError,
            ValueError,
        ):  # dropped by upkeep meanwhile
            continue
        for fragment in fragments:
            yield from (Path(file.path).name for file in fragment.data_files())


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
