"""Generations of views and the pointer that says which one is live.

<root>/current.json                      {"generation": "g000001"}
<root>/<generation>/manifest.json        what the views were built with
<root>/<generation>/complete.json        {} once they hold all that the log had
<root>/<generation>/p00/<table>.lance    one shard a partition
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mnemolog.schemas.errors import (
    EmbedderMismatchError,
    GenerationReplacedError,
    InvalidInputError,
    ViewError,
    ViewMissingError,
)
from mnemolog.storage.looks import looked
from mnemolog.storage.stores import FolderStore, open_store
from mnemolog.storage.table import connect_shard, new_session

POINTER = "current.json"
MANIFEST = "manifest.json"
COMPLETE = "complete.json"


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
    """The views below one root: a folder, or a bucket of an object store such as `s3://bucket/views`."""

    def __init__(self, root: str | Path) -> None:
        self.root = str(root)
        self._store = open_store(root)
        self._session = new_session()
        self._current: tuple[object, Manifest] | None = None

    @property
    def exist(self) -> bool:
        """Whether a generation is live."""
        return self._store.stamp(POINTER) is not None

    def current(self) -> Manifest:
        """The manifest of the live generation. Cheap while nothing flips.

        Raises:
            ViewMissingError: no generation is live yet.
        """
        stamp = looked(self.root, lambda: self._store.stamp(POINTER))
        if stamp is None:
            raise ViewMissingError(
                f"there are no views at {self.root} yet; a worker, or mnemolog replay, makes them"
            )
        if self._current is None or self._current[0] != stamp:
            self._current = (stamp, self.manifest(str(self._read(POINTER).get("generation"))))
        return self._current[1]

    def manifest(self, generation: str) -> Manifest:
        """The manifest of a generation, live or not.

        Raises:
            ViewMissingError: there is no such generation.
        """
        name = f"{generation}/{MANIFEST}"
        try:
            return Manifest(**self._read(name))
        except TypeError as error:
            raise ViewError(f"{self.root}/{name} is no manifest of this release: {error}") from error

    def generations(self) -> list[str]:
        """The names of all generations, oldest first."""
        return [name for name in self._store.folders() if self._store.read(f"{name}/{MANIFEST}") is not None]

    def add(self, manifest: Manifest) -> Manifest:
        """Make a generation, not live yet, under a name of its own that sorts after all there are."""
        taken = [int(name[1:]) for name in self.generations() if name[1:].isdecimal()]
        number = max(taken, default=0) + 1
        while True:
            named = replace(manifest, generation=f"g{number:06d}")
            if self._store.create(f"{named.generation}/{MANIFEST}", _json(asdict(named))):
                return named
            number += 1

    def make_first_live(self, generation: str) -> bool:
        """Flip to a generation unless one is live already; whether it did."""
        return self._store.create(POINTER, _json({"generation": generation}))

    def make_live(self, generation: str, instead_of: str | None = None) -> None:
        """Flip the pointer, in one step that survives a crash; readers follow.

        Of several that flip at the same time one succeeds.

        Raises:
            ViewMissingError: there is no such generation.
            GenerationReplacedError: another flip came first, or `instead_of` is given and not live.
        """
        self.manifest(generation)
        pointer = _json({"generation": generation})
        found = self._store.stamped(POINTER)
        live = None if found is None else self._pointed(found.data)
        if instead_of not in (None, live):
            raise GenerationReplacedError(f"{live} is live by now, not {instead_of}")
        for complete in (generation, *([live] if live else ())):
            self.mark_complete(complete)
        if found is None:
            flipped = self._store.create(POINTER, pointer)
        else:
            flipped = self._store.replace(POINTER, pointer, found.stamp)
        if not (flipped or self._live_now() == generation):
            raise GenerationReplacedError(f"another generation than {generation} was made live just now")

    def mark_complete(self, generation: str) -> None:
        """Say that a generation holds all that the log had at some time; it may be rolled back to."""
        self._store.create(f"{generation}/{COMPLETE}", _json({}))

    def is_complete(self, generation: str) -> bool:
        """Whether a generation was built to its end, or is live; otherwise its replay was interrupted."""
        live = self.current().generation if self.exist else None
        return generation == live or self._store.read(f"{generation}/{COMPLETE}") is not None

    def drop(self, generation: str) -> None:
        """Remove a generation that is not live. Interrupted, it may be repeated.

        Raises:
            ViewMissingError: there is no such generation.
            InvalidInputError: it is live.
        """
        shards = self.manifest(generation).partitions
        if self._live_now() == generation:
            raise InvalidInputError(f"{generation} is live", field="generation")
        self._store.remove(f"{generation}/{COMPLETE}")
        for partition in range(shards):
            self._store.remove(f"{generation}/p{partition:02d}")
        self._store.remove(f"{generation}/{MANIFEST}")
        self._store.remove(generation)

    @property
    def local(self) -> bool:
        """Whether they are in a folder of this machine."""
        return isinstance(self._store, FolderStore)

    def shard_uri(self, generation: str, partition: int) -> str:
        """Where the tables of one shard are; a folder is made if it is not there."""
        return self._store.uri(f"{generation}/p{partition:02d}")

    def shard(self, generation: str, partition: int) -> Any:
        """The database of one shard."""
        return connect_shard(self.shard_uri(generation, partition), self._session)

    def _read(self, name: str) -> dict[str, Any]:
        data = self._store.read(name)
        if data is None:
            raise ViewMissingError(f"there is no {name} at {self.root}")
        return self._parsed(name, data)

    def _live_now(self) -> str | None:
        """The live generation, asked of the store itself: `current` may be a second behind a bucket."""
        found = self._store.read(POINTER)
        return None if found is None else self._pointed(found)

    def _pointed(self, pointer: bytes) -> str:
        return str(self._parsed(POINTER, pointer).get("generation"))

    def _parsed(self, name: str, data: bytes) -> dict[str, Any]:
        try:
            document = json.loads(data)
        except ValueError as error:
            raise ViewError(f"{self.root}/{name} can't be read: {error}") from error
        if not isinstance(document, dict):
            raise ViewError(f"{self.root}/{name} can't be read: it is no JSON object")
        return document


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()
