"""The caches for asyncio: the same methods, each in a thread of the memory they belong to."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from mnemolog.caches.caches import Caches
from mnemolog.caches.llm import LlmCache
from mnemolog.caches.sessions import SessionCache
from mnemolog.caches.tool import ToolCache

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


class Run(Protocol):
    """Calls a function in a thread."""

    def __call__(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        """What it returns."""


class _Twin(Generic[C]):
    """A cache, and where its calls run."""

    def __init__(self, cache: C, run: Run) -> None:
        self._cache = cache
        self._run = run


def _twin(
    method: Callable[Concatenate[C, P], T],
) -> Callable[Concatenate[_Twin[C], P], Coroutine[Any, Any, T]]:
    name = method.__name__

    async def twin(self: _Twin[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: Callable[P, T] = getattr(self._cache, name)
        return await self._run(found, *args, **kwargs)

    return update_wrapper(twin, method)


class AsyncLlmCache(_Twin[LlmCache]):
    """`LlmCache` for asyncio."""

    check = _twin(LlmCache.check)
    store = _twin(LlmCache.store)
    invalidate = _twin(LlmCache.invalidate)
    invalidate_by_model = _twin(LlmCache.invalidate_by_model)
    clear = _twin(LlmCache.clear)
    set_default_ttl = _twin(LlmCache.set_default_ttl)
    set_costs = _twin(LlmCache.set_costs)


class AsyncToolCache(_Twin[ToolCache]):
    """`ToolCache` for asyncio."""

    check = _twin(ToolCache.check)
    store = _twin(ToolCache.store)
    invalidate = _twin(ToolCache.invalidate)
    invalidate_by_tool = _twin(ToolCache.invalidate_by_tool)
    clear = _twin(ToolCache.clear)
    set_policy = _twin(ToolCache.set_policy)
    get_policy = _twin(ToolCache.get_policy)
    delete_policy = _twin(ToolCache.delete_policy)
    policies = _twin(ToolCache.policies)
    set_default_ttl = _twin(ToolCache.set_default_ttl)


class AsyncSessionCache(_Twin[SessionCache]):
    """`SessionCache` for asyncio."""

    get = _twin(SessionCache.get)
    set = _twin(SessionCache.set)
    get_all = _twin(SessionCache.get_all)
    scan = _twin(SessionCache.scan)
    delete = _twin(SessionCache.delete)
    touch = _twin(SessionCache.touch)
    destroy_thread = _twin(SessionCache.destroy_thread)
    clear = _twin(SessionCache.clear)
    set_default_ttl = _twin(SessionCache.set_default_ttl)


class AsyncCaches(_Twin[Caches]):
    """`Caches` for asyncio."""

    def __init__(self, cache: Caches, run: Run) -> None:
        super().__init__(cache, run)
        self.llm = AsyncLlmCache(cache.llm, run)
        self.tool = AsyncToolCache(cache.tool, run)
        self.session = AsyncSessionCache(cache.session, run)

    stats = _twin(Caches.stats)
    effectiveness = _twin(Caches.effectiveness)
    clear = _twin(Caches.clear)
    flush = _twin(Caches.flush)
