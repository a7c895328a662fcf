"""The cache of models' answers as adapters use it: a cache that fails costs a call, never an answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from mnemolog.adapters.large_values import check_ttl
from mnemolog.memory import Memory
from mnemolog.producers.commands import UNSET, Unset
from mnemolog.schemas.errors import MnemologError

if TYPE_CHECKING:
    from mnemolog.async_memory import AsyncMemory
    from mnemolog.caches.lifetimes import Lifetime

T = TypeVar("T")

MAX_LABEL = 240

_logger = logging.getLogger(__name__)


def blocking(memory: Memory | AsyncMemory) -> Memory:
    """The handle whose calls wait, of either kind."""
    return memory if isinstance(memory, Memory) else memory.blocking


class Answers:
    """Finds and keeps answers in `memory.cache.llm`. Threads may share it.

    What the cache refuses or can't do now is logged as a warning: the model is asked, and its answer given.

    Raises:
        InvalidInputError: `ttl_seconds` is no time to live.
    """

    def __init__(self, memory: Memory | AsyncMemory, ttl_seconds: Lifetime = UNSET) -> None:
        if ttl_seconds is not None and not isinstance(ttl_seconds, Unset):
            check_ttl(ttl_seconds)
        self._ttl_seconds = ttl_seconds
        self._cache = blocking(memory).cache.llm

    def find(self, params: Mapping[str, Any], read: Callable[[Any], T]) -> T | None:
        """The answer to a request as `read` makes it of what was kept; None where there is none."""
        try:
            found: T | None = self._cache.check(params, read=read).response
        except MnemologError as error:
            _logger.warning("the cache of answers was not asked: %s", error)
            return None
        return found

    def keep(self, params: Mapping[str, Any], response: Any, tokens: tuple[int, int] | None) -> None:
        """Keep the answer to a request. `tokens` is what it took, in and out."""
        said = None if tokens is None else {"input": max(0, tokens[0]), "output": max(0, tokens[1])}
        try:
            self._cache.store(params, response, ttl_seconds=self._ttl_seconds, tokens=said)
        except MnemologError as error:
            _logger.warning("an answer was not cached: %s", error)

    def clear(self) -> int:
        """Drop all answers of the namespace; how many there were."""
        return self._cache.clear()

    async def afind(self, params: Mapping[str, Any], read: Callable[[Any], T]) -> T | None:
        """`find`, in a thread."""
        return await asyncio.to_thread(self.find, params, read)

    async def akeep(self, params: Mapping[str, Any], response: Any, tokens: tuple[int, int] | None) -> None:
        """`keep`, in a thread."""
        await asyncio.to_thread(self.keep, params, response, tokens)


def label(name: object, default: str) -> str:
    """A model's name as stats and costs have it: what is printable of it, up to `MAX_LABEL` characters."""
    printable = "".join(char for char in str(name or "") if char.isprintable()).strip()
    return printable[:MAX_LABEL] or default
