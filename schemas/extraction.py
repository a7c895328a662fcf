"""The port of extractors: from memories to facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mnemolog.schemas.facts import Fact


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found, and what it took.

    `rejected` says of each item that could not be used why. Tokens are 0 where no model was asked. `version`
    names the prompt or the rules.
    """

    facts: Sequence[Fact]
    model: str | None = None
    version: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    rejected: Sequence[str] = ()


Extractor: TypeAlias = Callable[[list[Any]], Iterable[Fact] | Extraction]
"""Finds facts in memories (`MemoryItem`s, oldest first, at most 1,000). The log calls it by its attribute
`name`, if it has one, else by its function's name."""

Summarizer: TypeAlias = Callable[[list[Any]], str]
"""Sums up memories (`MemoryItem`s, oldest first, at most 1,000) in one text."""


def name_of(extractor: Callable[..., Any]) -> str:
    """What the log calls an extractor."""
    named = getattr(extractor, "name", None)
    if isinstance(named, str) and named.strip() and named.isprintable():
        return named[:256]
    function = extractor if hasattr(extractor, "__qualname__") else type(extractor)
    return f"{function.__module__}.{function.__qualname__}"[:256]
