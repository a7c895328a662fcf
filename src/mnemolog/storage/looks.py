"""Looking once: one read asks a few times what is live and which version a table has; it needs one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_seen: ContextVar[dict[str, Any] | None] = ContextVar("seen", default=None)


@contextmanager
def looking_once() -> Iterator[None]:
    """Within it, what is looked up through `looked` stays as it was when it was first looked up."""
    token = _seen.set({})
    try:
        yield
    finally:
        _seen.reset(token)


def looked(name: str, look: Callable[[], T]) -> T:
    """What `look` gives, or gave before under that name."""
    seen = _seen.get()
    if seen is None:
        return look()
    if name not in seen:
        seen[name] = look()
    found: T = seen[name]
    return found
