"""Embedders: what turns texts into vectors. Importing this loads no model and no runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, cast

from numpy.typing import NDArray

from mnemolog.embedders.cache import CachedEmbedder
from mnemolog.embedders.function import CallableEmbedder
from mnemolog.embedders.hashing import HashingEmbedder
from mnemolog.embedders.minilm import MiniLMEmbedder
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.ports import Embedder

__all__ = [
    "CachedEmbedder",
    "CallableEmbedder",
    "EmbedderSpec",
    "HashingEmbedder",
    "MiniLMEmbedder",
    "resolve",
]

EmbedderSpec: TypeAlias = Embedder | Callable[[list[str]], Sequence[Any] | NDArray[Any]] | str | None
"""What `resolve` understands."""

_PORT = ("name", "dim", "embed")


def resolve(spec: EmbedderSpec = None) -> Embedder | None:
    """The embedder that `spec` means; None stands for recall by keywords only.

    `spec` is None or "minilm" (the default model), "hashing" or "hashing:DIM", "none" (keywords only), an
    `Embedder`, or a function from a list of texts to one vector each.

    Raises:
        InvalidInputError: `spec` is none of these.
    """
    if spec is None:
        return default_embedder()
    if isinstance(spec, str):
        return _by_name(spec)
    if _has_port(spec):
        return cast(Embedder, spec)
    if callable(spec) and not isinstance(spec, type):
        return CallableEmbedder(spec, name=_function_name(spec))
    raise InvalidInputError(
        f"{type(spec).__name__} is no embedder; pass None, a name such as 'minilm', a function from texts to "
        "vectors, or an object with name, dim and embed(texts)",
        field="embedder",
    )


def _by_name(spec: str) -> Embedder | None:
    kind, _, option = spec.strip().lower().partition(":")
    if kind == "hashing" and (not option or option.isdecimal()):
        return HashingEmbedder(int(option)) if option else HashingEmbedder()
    if option or kind not in ("minilm", "none"):
        raise InvalidInputError(
            f"unknown embedder {spec!r}; known are 'minilm', 'hashing', 'hashing:DIM' and 'none'. "
            "For any other model pass a function from a list of texts to vectors",
            field="embedder",
        )
    return default_embedder() if kind == "minilm" else None


@lru_cache(maxsize=1)
def default_embedder() -> Embedder:
    """The default model, one for the whole process: it takes some 100 MiB and is safe to share by threads."""
    return MiniLMEmbedder()


def _has_port(spec: object) -> bool:
    """Whether `spec` has an embedder's parts; reads no property, as isinstance does: it may call a model."""
    held = getattr(spec, "__dict__", ())
    return not isinstance(spec, type) and all(hasattr(type(spec), part) or part in held for part in _PORT)


def _function_name(function: Callable[..., Any]) -> str:
    """A name that stays the same between runs; a view is bound to it."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"
