"""Embedders that tell how long each call took, of how many texts, and what failed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mnemolog.schemas.ports import Embedder


class Listener(Protocol):
    """Is told of each call of an embedder, in the thread that made it. It must not raise."""

    def __call__(self, embedder: Embedder, texts: int, seconds: float, error: BaseException | None) -> None:
        """`texts` were embedded in `seconds`, or failed with `error`."""


def embed_heard(
    embedder: Embedder, texts: Sequence[str], listeners: Iterable[Listener]
) -> NDArray[np.float32]:
    """What `embedder` gives for `texts`; every listener hears of it once, also where several are equal."""
    begun = time.perf_counter()
    failed: BaseException | None = None
    try:
        return embedder.embed(texts)
    except BaseException as error:
        failed = error
        raise
    finally:
        seconds = time.perf_counter() - begun
        for listener in dict.fromkeys(listeners):
            listener(embedder, len(texts), seconds, failed)


class HeardEmbedder:
    """`inner`, whose every call `listener` hears of."""

    def __init__(self, inner: Embedder, listener: Listener) -> None:
        self._inner = inner
        self._listener = listener

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self._inner.name

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self._inner.dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`."""
        return embed_heard(self._inner, texts, (self._listener,))
