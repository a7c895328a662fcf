"""Keyword arguments that a verb hands on: one it does not have is told by the verb's own name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_USUAL_ELSEWHERE = {"filter": "filters", "where": "filters", "ttl": "ttl_seconds", "top_k": "k", "limit": "k"}


def takes(fields: type) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a verb refuse keywords that are neither its own nor among `fields`, the TypedDict of the others.

    Raises:
        TypeError: there is no such argument; the message names one that was perhaps meant.
    """

    def wrap(verb: Callable[P, R]) -> Callable[P, R]:
        own = [one.name for one in inspect.signature(verb).parameters.values() if one.kind != one.VAR_KEYWORD]
        known = [*own[1:], *fields.__annotations__]
        taken = frozenset(known)

        @wraps(verb)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in taken:
                    raise TypeError(_message(verb.__name__, name, known))
            return verb(*args, **kwargs)

        return checked

    return wrap


def _message(verb: str, name: str, known: list[str]) -> str:
    usual = _USUAL_ELSEWHERE.get(name)
    near = [usual] if usual in known else get_close_matches(name, known, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f"{verb}() has no argument {name!r}.{meant} It takes {', '.join(known)}"
