"""Any function from texts to vectors as an embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemolog.schemas.errors import EmbeddingError, InvalidInputError


class CallableEmbedder:
    """Wraps a function `list[str] -> one vector each`, and checks and normalizes what it gives.

    The function is called as often as the embedder, from as many threads at once; it must give the same
    vector for the same text.
    """

    def __init__(
        self, fn: Callable[[list[str]], Sequence[Any] | NDArray[Any]], name: str, dim: int | None = None
    ) -> None:
        """Wrap `fn`; nothing is called yet.

        Args:
            fn: returns vectors as lists, or an array of shape [n, dim].
            name: of the model; a view is bound to it, so change it when the model changes.
            dim: the length of a vector; None asks `fn` with a word when it is first needed.
        """
        if not name.strip():
            raise InvalidInputError("the embedder needs a name; views are bound to it", field="name")
        if dim is not None and dim < 1:
            raise InvalidInputError("dim must be at least 1, or None", field="dim")
        self.name = name
        self._fn = fn
        self._dim = dim

    @property
    def dim(self) -> int:
        """The length of a vector.

        Raises:
            EmbeddingError: it was not given, and the function fails on a word.
        """
        if self._dim is None:
            self._dim = self._call(["dimension"]).shape[1]
        return self._dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text: float32 of shape [len(texts), dim], each scaled to length 1.

        Raises:
            EmbeddingError: the function raised, or its result is not one finite vector of `dim` numbers, not
                all zero, for each text.
        """
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        vectors = self._call(list(texts))
        if vectors.shape[1] != self.dim:
            raise EmbeddingError(f"{self.name} gave vectors of {vectors.shape[1]} numbers, not of {self.dim}")
        return vectors

    def _call(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            vectors = np.asarray(self._fn(texts), dtype=np.float64)
        except Exception as error:
            raise EmbeddingError(f"{self.name} failed on {len(texts)} texts: {error}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise EmbeddingError(
                f"{self.name} must give one vector for each of {len(texts)} texts, "
                f"shape [{len(texts)}, dim]; it gave shape {list(vectors.shape)}"
            )
        return self._normalized(vectors)

    def _normalized(self, vectors: NDArray[np.float64]) -> NDArray[np.float32]:
        lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
        bad = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
        if len(bad):
            raise EmbeddingError(
                f"{self.name} gave a vector that is all zeros, infinite or not a number for text {bad[0]} of "
                f"{len(vectors)}; such a vector can't be searched"
            )
        unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return unit
