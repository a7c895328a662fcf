"""Remembers vectors, so that a text is embedded once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from mnemolog.embedders.listening import Listener, embed_heard
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.ports import Embedder

ENTRY_OVERHEAD = 350
"""Bytes that an entry takes beside its numbers: key, array header, place in the order."""


class CachedEmbedder:
    """An embedder that asks another one only for texts it has not seen lately, in one call a batch.

    Holds the most recently used vectors, by (model, SHA-256 of the text). Threads may share it; two that
    miss the same text at once may both embed it.
    """

    def __init__(self, inner: Embedder, max_bytes: int = 32 * 2**20) -> None:
        """Wrap `inner`; at most `max_bytes` of memory hold vectors (32 MiB: about 17,000 of 384 numbers)."""
        if max_bytes < 0:
            raise InvalidInputError("max_bytes can't be negative", field="max_bytes")
        self._inner = inner
        self._max_bytes = max_bytes
        self._bytes = 0
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()
        self._listeners: tuple[Listener, ...] = ()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of each call of the inner embedder, until what is returned is called."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def stop() -> None:
            with self._lock:
                left = list(self._listeners)
                if listener in left:
                    left.remove(listener)
                self._listeners = tuple(left)

        return stop

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._inner.name

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self._inner.dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text: float32 of shape [len(texts), dim].

        Raises:
            EmbeddingError: the inner embedder failed; nothing is kept of the batch.
        """
        keys = [_key(self.name, text) for text in texts]
        found = self._lookup(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            fresh = dict(zip(missing, self._ask(list(missing.values())), strict=True))
            self._keep(fresh)
            found.update(fresh)
        return np.array([found[key] for key in keys], dtype=np.float32).reshape(len(texts), self.dim)

    def _ask(self, texts: Sequence[str]) -> NDArray[np.float32]:
        listeners = self._listeners
        return embed_heard(self._inner, texts, listeners) if listeners else self._inner.embed(texts)

    def _lookup(self, keys: Iterable[bytes]) -> dict[bytes, NDArray[np.float32]]:
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
            for key in found:
                self._vectors.move_to_end(key)
            return found

    def _keep(self, fresh: Mapping[bytes, NDArray[np.float32]]) -> None:
        with self._lock:
            for key, vector in fresh.items():
                self._drop(key)
                self._vectors[key] = vector.copy()  # a view would hold its whole batch
                self._bytes += vector.nbytes + ENTRY_OVERHEAD
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._vectors)))

    def _drop(self, key: bytes) -> None:
        old = self._vectors.pop(key, None)
        if old is not None:
            self._bytes -= old.nbytes + ENTRY_OVERHEAD


def _key(name: str, text: str) -> bytes:
    return sha256(f"{name}\0{text}".encode("utf-8", "surrogatepass")).digest()
