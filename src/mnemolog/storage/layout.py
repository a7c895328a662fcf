"""Generations of views and the pointer that says which one is live.

<root>/current.json                      {"generation": "g000001"}
<root>/<generation>/manifest.json        what the views were built with
<root>/<generation>/p00/<table>.lance    one shard a partition
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mnemolog.schemas.errors import EmbedderMismatchError, InvalidInputError, ViewError, ViewMissingError
from mnemolog.storage.table import connect_shard

POINTER = "current.json"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation was built with. `embedder` and `dim` are None for keyword search alone."""

    generation: str
    partitions: int
    embedder: str | None
    dim: int | None
    folds: dict[str, int] = field(default_factory=dict)
    analyzer: str = ""

    def require_embedder(self, name: str | None) -> None:
        """Refuse an embedder that is not the one of these views.

        Raises:
            EmbedderMismatchError: another model; the message says what to run.
        """
        if name != self.embedder:
            raise EmbedderMismatchError(
                f"these views hold vectors of {self.embedder!r}, not of {name!r}. Open them with "
                f"the old one, or rebuild them from the log: mnemolog replay --embedder {name or 'none'}"
            )


class Views:
    """The views below one root folder."""

    def __init__(self, root: str | Path) -> None:
        if "://" in str(root):
            raise InvalidInputError(f"views are kept in a folder, not at {root}", field="views")
        self.root = Path(root)
        self._current: tuple[tuple[int, int], Manifest] | None = None

    def current(self) -> Manifest:
        """The manifest of the live generation. Costs one `stat` while nothing flips.

        Raises:
            ViewMissingError: no generation is live yet.
        """
        pointer = self.root / POINTER
        try:
            stat = pointer.stat()
        except FileNotFoundError:
            raise ViewMissingError(
                f"there are no views at {self.root} yet; a worker, or mnemolog replay, makes them"
            ) from None
        stamp = (stat.st_ino, stat.st_mtime_ns)
        if self._current is None or self._current[0] != stamp:
            self._current = (stamp, self.manifest(_read(pointer)["generation"]))
        return self._current[1]

    def manifest(self, generation: str) -> Manifest:
        """The manifest of a generation, live or not."""
        try:
            return Manifest(**_read(self.root / generation / MANIFEST))
        except FileNotFoundError:
            raise ViewMissingError(f"there is no generation {generation!r} at {self.root}") from None

    def generations(self) -> list[str]:
        """The names of all generations, oldest first."""
        return sorted(path.parent.name for path in self.root.glob(f"*/{MANIFEST}"))

    def next_generation(self) -> str:
        """A name that sorts after all there are."""
        taken = [int(name[1:]) for name in self.generations() if name[1:].isdecimal()]
        return f"g{max(taken, default=0) + 1:06d}"

    def add(self, manifest: Manifest) -> None:
        """Make the folder of a generation; it is not live yet."""
        folder = self.root / manifest.generation
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / MANIFEST, asdict(manifest))

    def make_live(self, generation: str) -> None:
        """Flip the pointer, in one step that survives a crash; readers follow at their next call."""
        self.manifest(generation)
        _write(self.root / POINTER, {"generation": generation})

    def shard_path(self, generation: str, partition: int) -> Path:
        """The folder of one shard."""
        return self.root / generation / f"p{partition:02d}"

    def shard(self, generation: str, partition: int) -> Any:
        """The database of one shard, made if it is not there."""
        path = self.shard_path(generation, partition)
        path.mkdir(parents=True, exist_ok=True)
        return connect_shard(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except ValueError as error:
        raise ViewError(f"{path.name} can't be read: {error}") from error
    return document


def _write(path: Path, document: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
