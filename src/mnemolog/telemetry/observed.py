"""Handles that tell of every verb. They hold a plain handle and ask it: what it calls itself is told once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar, overload

from opentelemetry.trace import get_tracer

import mnemolog
from mnemolog.async_memory import AsyncMemory
from mnemolog.embedders import CachedEmbedder
from mnemolog.memory import Memory
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.telemetry.calls import Calls, Whose, note_wait
from mnemolog.telemetry.embedding import EmbeddingListener
from mnemolog.telemetry.instruments import Label, instruments_of
from mnemolog.telemetry.observed_caches import ObservedCaches
from mnemolog.telemetry.outcomes import FORGETTING, forgotten
from mnemolog.telemetry.trace_context import trace_headers

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider
    from prometheus_client import CollectorRegistry

    from mnemolog.caches.caches import Caches

T = TypeVar("T")

NOT_VERBS = frozenset({"at", "close"})
VERBS = tuple(
    name
    for name in dir(Memory)
    if not name.startswith("_") and name not in NOT_VERBS and callable(getattr(Memory, name))
)


class ObservedMemory(Memory):
    """A `Memory` that tells of its verbs. Made by `observe`."""

    def __init__(self, plain: Memory, calls: Calls, release: Iterable[Callable[[], None]] = ()) -> None:
        super().__init__(plain._session, plain._queries, plain._commands)
        self._plain = plain
        self._calls = calls
        self._release = tuple(release)

    def at(
        self, namespace: str | Iterable[str], *, agent_id: str | None = None, thread_id: str | None = None
    ) -> Memory:
        """See `Memory.at`; the handle is observed too, but gauges are of the first one alone."""
        plain = self._plain.at(namespace, agent_id=agent_id, thread_id=thread_id)
        return ObservedMemory(plain, self._calls.at(plain.namespace, whose(plain)))

    @cached_property
    def _caches(self) -> Caches:
        return ObservedCaches(self._plain.cache, self._calls)

    def close(self) -> None:
        """See `Memory.close`. The counts stay in the registry, the gauges of this handle go."""
        for release in self._release:
            release()
        self._plain.close()


def _observed(name: str) -> Callable[..., Any]:
    def verb(self: ObservedMemory, /, *args: Any, **kwargs: Any) -> Any:
        return self._calls.call(name, getattr(self._plain, name), args, kwargs)

    def forgetting(self: ObservedMemory, /, *args: Any, **kwargs: Any) -> Any:
        run = getattr(self._plain, name)
        return self._calls.call(name, run, args, kwargs, lambda _, done: forgotten(name, done, args, kwargs))

    return update_wrapper(forgetting if name in FORGETTING else verb, getattr(Memory, name))


for _name in VERBS:
    setattr(ObservedMemory, _name, _observed(_name))


def whose(memory: Memory) -> Whose:
    """The agent and thread that a handle stands for."""
    return Whose(memory._commands.agent_id, memory._commands.thread_id)


@overload
def observe(
    memory: Memory,
    *,
    tracer_provider: TracerProvider | None = ...,
    registry: CollectorRegistry | None = ...,
    prefix: str = ...,
    labels: Iterable[Label] = ...,
    texts: bool = ...,
) -> Memory: ...
@overload
def observe(
    memory: AsyncMemory,
    *,
    tracer_provider: TracerProvider | None = ...,
    registry: CollectorRegistry | None = ...,
    prefix: str = ...,
    labels: Iterable[Label] = ...,
    texts: bool = ...,
) -> AsyncMemory: ...
def observe(
    memory: Memory | AsyncMemory,
    *,
    tracer_provider: TracerProvider | None = None,
    registry: CollectorRegistry | None = None,
    prefix: str = "mnemolog",
    labels: Iterable[Label] = (),
    texts: bool = False,
) -> Memory | AsyncMemory:
    """A handle like `memory` whose verbs give OpenTelemetry spans and count in Prometheus metrics.

    It stands for `memory`: closing either closes both, and what `at` makes of it is observed too. Spans go to
    `tracer_provider`, by default the global one, metrics to `registry`, by default Prometheus's own, under
    names that begin with `prefix`. Handles may share a registry and count together. `labels` may hold
    "namespace", of which at most 1,000 are told apart. Spans hold no query and no message that may quote
    one, unless `texts`. Records that are written in a span that is recorded carry its trace context.

    Raises:
        InvalidInputError: no such handle, one that is observed already, or a bad argument.
        ClosedError: the handle was closed.
    """
    if isinstance(memory, AsyncMemory):
        plain = memory._memory
        inner = _observe(plain, tracer_provider, registry=registry, prefix=prefix, labels=labels, texts=texts)
        made = AsyncMemory(inner, memory._threads)
        made._owns_threads = memory._owns_threads
        return made
    return _observe(memory, tracer_provider, registry=registry, prefix=prefix, labels=labels, texts=texts)


def _observe(
    memory: Memory,
    tracer_provider: TracerProvider | None,
    *,
    registry: CollectorRegistry | None,
    prefix: str,
    labels: Iterable[Label],
    texts: bool,
) -> Memory:
    if not isinstance(memory, Memory) or isinstance(memory, ObservedMemory):
        raise InvalidInputError(
            f"memory is a handle that is not observed yet, not {memory!r:.80}", field="memory"
        )
    memory._session.check_open()
    instruments = instruments_of(registry, prefix, labels)
    tracer = get_tracer("mnemolog", mnemolog.__version__, tracer_provider)
    memory._session.on_wait = note_wait
    memory._session.trace = trace_headers
    release = [instruments.gauges.add(memory)]
    embedder = memory._queries.embedder
    if isinstance(embedder, CachedEmbedder):
        release.append(embedder.listen(EmbeddingListener(instruments.embedding, tracer)))
    calls = Calls(instruments, tracer, memory.namespace, whose(memory), texts)
    return ObservedMemory(memory, calls, release)
