"""The facade for asyncio: the verbs of `Memory`, each in a thread, so that the event loop never waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, update_wrapper
from pathlib import Path
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from mnemolog.async_caches import AsyncCaches
from mnemolog.memory import Memory
from mnemolog.opening import DEFAULT_NAMESPACE, connect, open  # noqa: A004 the public name
from mnemolog.query.asking import Asking
from mnemolog.query.models import Hits
from mnemolog.schemas.checks import check_count
from mnemolog.schemas.errors import ClosedError
from mnemolog.schemas.moments import Moment
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.positions import Position
from mnemolog.verbs.recalling import RecallOptions

if TYPE_CHECKING:
    from mnemolog.embedders import EmbedderSpec
    from mnemolog.producers.redaction import RedactSpec
    from mnemolog.query.scoring.weights import Weights
    from mnemolog.schemas.ports import Clock
    from mnemolog.served import Tracking

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_THREADS = 8


class OpenOptions(TypedDict, total=False):
    """What `open` and `connect` take by name; see `mnemolog.open`."""

    embedder: EmbedderSpec
    agent_id: str | None
    thread_id: str | None
    weights: Weights | None
    clock: Clock
    cache_bytes: int
    wait_seconds: float
    track: Tracking
    redact: RedactSpec


class Opening:
    """An `AsyncMemory` on its way: await it, or enter it with `async with`."""

    def __init__(self, make: Callable[[], Memory], threads: int) -> None:
        self._make = make
        self._threads = threads
        self._entered: AsyncMemory | None = None

    def __await__(self) -> Generator[Any, None, AsyncMemory]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncMemory:
        self._entered = await self
        return self._entered

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered is not None:
            await self._entered.close()

    async def _open(self) -> AsyncMemory:
        threads = _threads(self._threads)
        opening = threads.submit(self._make)
        try:
            return AsyncMemory(await asyncio.wrap_future(opening), threads)
        except BaseException:
            opening.add_done_callback(_close_unclaimed)
            threads.shutdown(wait=False)
            raise


def _threads(number: int) -> ThreadPoolExecutor:
    check_count("threads", number, 1, 1_000)
    return ThreadPoolExecutor(number, thread_name_prefix="mnemolog-async")


def _close_unclaimed(opening: Future[Memory]) -> None:
    """Close what was opened for a caller that was cancelled meanwhile."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def _twin(
    verb: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """The verb of `Memory` as one of `AsyncMemory`: the same arguments, awaited.

    It is looked up in the handle, which may be one that does more, such as an observed one.
    """
    name = verb.__name__

    async def twin(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: Callable[P, T] = getattr(self._memory, name)
        return await self._run(found, *args, **kwargs)

    return update_wrapper(twin, verb)


class AsyncMemory:
    """`Memory` for asyncio: the same verbs, arguments and errors.

        async with mnemolog.AsyncMemory.open("./memory", namespace=("acme", "alice")) as memory:
            await memory.remember("Alice is vegetarian", key="diet")

    Calls run in up to eight threads of its own, any number of tasks may share it. A cancelled call ends at
    once for its caller; a write that was under way may still reach the log, so give it an `id` if you mean to
    repeat it. `close` lets calls that are under way finish, also when it is itself cancelled.
    """

    def __init__(self, memory: Memory, threads: ThreadPoolExecutor | None = None) -> None:
        self._memory = memory
        self._threads = threads or _threads(DEFAULT_THREADS)
        self._owns_threads = True

    def at(
        self, namespace: str | Iterable[str], *, agent_id: str | None = None, thread_id: str | None = None
    ) -> AsyncMemory:
        """See `Memory.at`; it shares the threads too. Nothing to await: neither log nor views are asked."""
        other = AsyncMemory(self._memory.at(namespace, agent_id=agent_id, thread_id=thread_id), self._threads)
        other._owns_threads = False
        return other

    @classmethod
    def open(
        cls,
        path: str | Path,
        namespace: str | Iterable[str] = DEFAULT_NAMESPACE,
        *,
        threads: int = DEFAULT_THREADS,
        **options: Unpack[OpenOptions],
    ) -> Opening:
        """A memory in the folder `path`; see `mnemolog.open`. `threads` bounds the calls that run at once."""
        return Opening(partial(open, path, namespace, **options), threads)

    @classmethod
    def connect(
        cls,
        kafka: str,
        views: str | Path,
        namespace: str | Iterable[str] = DEFAULT_NAMESPACE,
        *,
        threads: int = DEFAULT_THREADS,
        **options: Unpack[OpenOptions],
    ) -> Opening:
        """A memory over Kafka; see `mnemolog.connect`. `threads` bounds the calls that run at once."""
        return Opening(partial(connect, kafka, views, namespace, **options), threads)

    @property
    def blocking(self) -> Memory:
        """The same handle for code that has threads of its own: its calls wait. Closed with this one."""
        return self._memory

    @property
    def namespace(self) -> Namespace:
        """The namespace that this handle reads and writes."""
        return self._memory.namespace

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let calls under way finish, then close the memory. Closing twice is harmless."""
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self._close))

    def _close(self) -> None:
        if self._owns_threads:
            self._threads.shutdown(wait=True)
        self._memory.close()

    remember = _twin(Memory.remember)
    remember_many = _twin(Memory.remember_many)
    remember_episode = _twin(Memory.remember_episode)
    know_fact = _twin(Memory.know_fact)
    learn_procedure = _twin(Memory.learn_procedure)
    reflect = _twin(Memory.reflect)
    record_reward = _twin(Memory.record_reward)
    update = _twin(Memory.update)
    supersede = _twin(Memory.supersede)
    consolidate = _twin(Memory.consolidate)
    facts = _twin(Memory.facts)
    forget = _twin(Memory.forget)
    forget_scope = _twin(Memory.forget_scope)
    feedback = _twin(Memory.feedback)
    mark_used = _twin(Memory.mark_used)
    mark_ignored = _twin(Memory.mark_ignored)
    explain_usefulness = _twin(Memory.explain_usefulness)
    refit_usefulness = _twin(Memory.refit_usefulness)
    recall_by_vector = _twin(Memory.recall_by_vector)
    get = _twin(Memory.get)
    find_by_key = _twin(Memory.find_by_key)
    list = _twin(Memory.list)
    namespaces = _twin(Memory.namespaces)
    diff = _twin(Memory.diff)
    history = _twin(Memory.history)
    aggregate = _twin(Memory.aggregate)
    to_arrow = _twin(Memory.to_arrow)
    current_config = _twin(Memory.current_config)
    set_config = _twin(Memory.set_config)
    link = _twin(Memory.link)
    unlink = _twin(Memory.unlink)
    links = _twin(Memory.links)
    neighbours = _twin(Memory.neighbours)
    paths = _twin(Memory.paths)
    provenance = _twin(Memory.provenance)
    entities = _twin(Memory.entities)
    stats = _twin(Memory.stats)
    lag = _twin(Memory.lag)
    wait = _twin(Memory.wait)
    set_context = _twin(Memory.set_context)
    get_context = _twin(Memory.get_context)
    list_context = _twin(Memory.list_context)
    delete_context = _twin(Memory.delete_context)
    delete_context_many = _twin(Memory.delete_context_many)
    touch_context = _twin(Memory.touch_context)
    destroy_thread = _twin(Memory.destroy_thread)

    @property
    def cache(self) -> AsyncCaches:
        """The short-term caches of the namespace; see `Memory.cache`."""
        return AsyncCaches(self._memory.cache, self._run)

    @overload
    async def recall(
        self, query: str, *, group_by_kind: Literal[False] = ..., **options: Unpack[RecallOptions]
    ) -> Hits: ...
    @overload
    async def recall(
        self, query: str, *, group_by_kind: Literal[True], **options: Unpack[RecallOptions]
    ) -> dict[str, Hits]: ...
    async def recall(
        self,
        query: str,
        *,
        group_by_kind: bool = False,
        as_of: Moment | None = None,
        after: Position | str | None = None,
        **options: Unpack[Asking],
    ) -> Hits | dict[str, Hits]:
        """See `Memory.recall`."""
        if group_by_kind:
            return await self._run(
                lambda: self._memory.recall(query, group_by_kind=True, as_of=as_of, after=after, **options)
            )
        return await self._run(lambda: self._memory.recall(query, as_of=as_of, after=after, **options))

    async def _run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `call`, made in a thread that sees this task's context variables."""
        try:
            future = self._threads.submit(copy_context().run, partial(call, *args, **kwargs))
        except RuntimeError:
            raise ClosedError("this handle was closed") from None
        return await asyncio.wrap_future(future)
