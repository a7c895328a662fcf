"""Small documents beside the tables: in a folder, or in a bucket of an object store."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mnemolog.schemas.errors import InvalidInputError, ViewError

BUCKET_STAMP_SECONDS = 1.0
"""How old a bucket's pointer may be: a reader follows a flip within this time."""


class Stamped(NamedTuple):
    """A document, and a stamp that no other content of it has."""

    data: bytes
    stamp: object


class Store(Protocol):
    """Reads and writes small documents by name; a write is whole or not at all."""

    def read(self, name: str) -> bytes | None:
        """The document, or None if there is none."""

    def write(self, name: str, data: bytes) -> None:
        """Put a document, durable on return."""

    def create(self, name: str, data: bytes) -> bool:
        """Put a document where there is none, durable on return; False if there is one, which stays."""

    def stamped(self, name: str) -> Stamped | None:
        """The document as it is now, with its stamp for `replace`; None if there is none."""

    def replace(self, name: str, data: bytes, stamp: object) -> bool:
        """Put a document in place of the one with this stamp; False if that is another one by now.

        Of several that replace the same one at the same time, one succeeds.
        """

    def stamp(self, name: str) -> object:
        """Changes when the document does; None if there is none. Cheap."""

    def folders(self) -> list[str]:
        """The names of the folders at the root, sorted."""

    def remove(self, name: str) -> None:
        """Remove the document `name`, or all below the folder `name`; nothing there is no error."""

    def uri(self, name: str) -> str:
        """Where LanceDB finds the folder `name`."""


def open_store(root: str | Path) -> Store:
    """The store at `root`: a folder, or `s3://bucket/prefix` (also gs://, az://; needs `mnemolog[s3]`).

    Credentials, region and endpoint come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
    AWS_REGION, AWS_ENDPOINT, AWS_ALLOW_HTTP, as every client of the store's kind reads them. The store must
    have conditional puts (If-Match, If-None-Match): the pointer and LanceDB's commits rest on them.
    """
    if "://" not in str(root):
        return FolderStore(Path(root))
    return BucketStore(str(root))


class FolderStore:
    """A folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, name: str) -> bytes | None:
        """See `Store.read`."""
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """See `Store.write`: a temporary file is synced, then takes the name in one step."""
        path, temporary = self._root / name, self._temporary(name, data)
        temporary.replace(path)
        make_durable(path.parent)

    def create(self, name: str, data: bytes) -> bool:
        """See `Store.create`: a link is made only where no file has the name."""
        path, temporary = self._root / name, self._temporary(name, data)
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        make_durable(path.parent)
        return True

    def _temporary(self, name: str, data: bytes) -> Path:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return temporary

    def stamped(self, name: str) -> Stamped | None:
        """See `Store.stamped`."""
        stamp = self.stamp(name)
        data = self.read(name)
        return None if stamp is None or data is None else Stamped(data, stamp)

    def replace(self, name: str, data: bytes, stamp: object) -> bool:
        """See `Store.replace`: who replaces something holds the lock of the folder."""
        with _locked(self._root):
            if self.stamp(name) != stamp:
                return False
            self.write(name, data)
            return True

    def stamp(self, name: str) -> object:
        """See `Store.stamp`."""
        try:
            stat = os.stat(f"{self._root}/{name}")  # noqa: PTH116 every recall asks, and a Path costs ten times this
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_mtime_ns

    def folders(self) -> list[str]:
        """See `Store.folders`."""
        return sorted(path.name for path in self._root.glob("*/"))

    def remove(self, name: str) -> None:
        """See `Store.remove`."""
        path = self._root / name
        try:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        except OSError as error:
            raise ViewError(f"{path} can't be removed: {error}") from error

    def uri(self, name: str) -> str:
        """See `Store.uri`."""
        path = self._root / name
        path.mkdir(parents=True, exist_ok=True)
        return str(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def make_durable(path: Path) -> None:
    """Let a file, or what a folder has, outlast a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class BucketStore:
    """A bucket, or a prefix in one."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._obstore, self._store = _connect(self._root)
        self._stamps: dict[str, tuple[float, object]] = {}

    def read(self, name: str) -> bytes | None:
        """See `Store.read`."""
        try:
            return bytes(self._obstore.get(self._store, name).bytes())
        except FileNotFoundError:
            return None
        except self._obstore.exceptions.BaseError as error:
            raise ViewError(f"{self._root}/{name} can't be read: {_first_line(error)}") from error

    def stamped(self, name: str) -> Stamped | None:
        """See `Store.stamped`: a tag older than the document makes `replace` fail, one younger would not."""
        stamp = self._etag(name)
        data = self.read(name)
        return None if stamp is None or data is None else Stamped(data, stamp)

    def write(self, name: str, data: bytes) -> None:
        """See `Store.write`."""
        self._put(name, data, "overwrite")

    def create(self, name: str, data: bytes) -> bool:
        """See `Store.create`: a put on condition that there is none."""
        return self._put(name, data, "create")

    def replace(self, name: str, data: bytes, stamp: object) -> bool:
        """See `Store.replace`: a put on condition that the document's tag is still the same."""
        return self._put(name, data, {"e_tag": stamp})

    def _put(self, name: str, data: bytes, mode: object) -> bool:
        errors = self._obstore.exceptions
        try:
            self._obstore.put(self._store, name, data, mode=mode, use_multipart=False)
        except (errors.AlreadyExistsError, errors.PreconditionError):
            return False
        except FileNotFoundError as error:
            if mode not in ("create", "overwrite"):
                return False  # the document that was to be replaced is gone
            raise ViewError(f"{self._root}/{name} can't be written: {_first_line(error)}") from error
        except errors.BaseError as error:
            raise ViewError(f"{self._root}/{name} can't be written: {_first_line(error)}") from error
        finally:
            self._stamps.pop(name, None)
        return True

    def stamp(self, name: str) -> object:
        """See `Store.stamp`; asks the bucket at most once a second."""
        now = time.monotonic()
        asked, stamp = self._stamps.get(name, (-BUCKET_STAMP_SECONDS, None))
        if stamp is None or now - asked >= BUCKET_STAMP_SECONDS:
            stamp = self._etag(name)
            self._stamps[name] = (now, stamp)
        return stamp

    def _etag(self, name: str) -> object:
        try:
            return self._obstore.head(self._store, name)["e_tag"]
        except FileNotFoundError:
            return None
        except self._obstore.exceptions.BaseError as error:
            raise ViewError(f"{self._root} can't be reached: {_first_line(error)}") from error

    def folders(self) -> list[str]:
        """See `Store.folders`."""
        try:
            return sorted(self._obstore.list_with_delimiter(self._store)["common_prefixes"])
        except self._obstore.exceptions.BaseError as error:
            raise ViewError(f"{self._root} can't be listed: {_first_line(error)}") from error

    def remove(self, name: str) -> None:
        """See `Store.remove`."""
        try:
            below = [entry["path"] for batch in self._obstore.list(self._store, name) for entry in batch]
            self._obstore.delete(self._store, below or [name])
        except FileNotFoundError:
            pass
        except self._obstore.exceptions.BaseError as error:
            raise ViewError(f"{self._root}/{name} can't be removed: {_first_line(error)}") from error
        self._stamps.pop(name, None)

    def uri(self, name: str) -> str:
        """See `Store.uri`."""
        return f"{self._root}/{name}"


def _connect(root: str) -> tuple[Any, Any]:
    try:
        import obstore
        from obstore.store import from_url
    except ImportError:
        raise InvalidInputError('views in a bucket need: pip install "mnemolog[s3]"', field="views") from None
    try:
        return obstore, from_url(root)
    except obstore.exceptions.BaseError as error:
        raise InvalidInputError(
            f"{root} is no store that can be used: {_first_line(error)}", field="views"
        ) from error


def _first_line(error: Exception) -> str:
    """What went wrong; the lines after it are the client's own state."""
    return str(error).partition("\n")[0]
