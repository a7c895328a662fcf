"""The caches of an observed handle: each method is told as `cache.llm.check` and so on."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeAlias

from mnemolog.caches.caches import Caches
from mnemolog.caches.llm import LlmCache
from mnemolog.caches.sessions import SessionCache
from mnemolog.caches.tool import ToolCache
from mnemolog.producers.commands import UNSET, Unset
from mnemolog.telemetry.calls import Calls
from mnemolog.telemetry.outcomes import Outcome, looked_up, outcome_of, stored

Cache: TypeAlias = Caches | LlmCache | ToolCache | SessionCache
_NOTHING = object()


class ObservedLlmCache(LlmCache):
    """An `LlmCache` that tells of its methods."""

    def __init__(self, plain: LlmCache, calls: Calls) -> None:
        self._plain = plain
        self._calls = calls


class ObservedToolCache(ToolCache):
    """A `ToolCache` that tells of its methods."""

    def __init__(self, plain: ToolCache, calls: Calls) -> None:
        self._plain = plain
        self._calls = calls


class ObservedSessionCache(SessionCache):
    """A `SessionCache` that tells of its methods."""

    def __init__(self, plain: SessionCache, calls: Calls) -> None:
        self._plain = plain
        self._calls = calls

    def get(self, key: str, default: Any = None, *, thread_id: str | Unset = UNSET) -> Any:
        """See `SessionCache.get`."""

        def tell(_: str, found: Any) -> Outcome:
            return looked_up(found is not _NOTHING)

        given = {"thread_id": thread_id}
        found = self._calls.call("cache.session.get", self._plain.get, (key, _NOTHING), given, tell)
        return default if found is _NOTHING else found


class ObservedCaches(Caches):
    """`Caches` that tell of their methods."""

    def __init__(self, plain: Caches, calls: Calls) -> None:
        self._plain = plain
        self._calls = calls
        self.llm = ObservedLlmCache(plain.llm, calls)
        self.tool = ObservedToolCache(plain.tool, calls)
        self.session = ObservedSessionCache(plain.session, calls)

    def close(self) -> None:
        """See `Caches.close`."""
        self._plain.close()


_VALUES = {"cache.llm.store": ("llm", 1, "response"), "cache.tool.store": ("tool", 2, "response")}
_VALUES["cache.session.set"] = ("session", 1, "value")


def _observed(name: str, verb: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        run = getattr(self._plain, name)
        if verb not in _VALUES:
            return self._calls.call(verb, run, args, kwargs)
        return self._calls.call(verb, run, args, kwargs, lambda _, done: _stored(verb, done, args, kwargs))

    return update_wrapper(method, original)


def _stored(verb: str, done: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome | None:
    tier, place, name = _VALUES[verb]
    outcome = outcome_of(verb, done)
    if outcome is not None:
        outcome.counts += stored(tier, args[place] if len(args) > place else kwargs[name])
    return outcome


def _observe_all(observed: type, plain: type, prefix: str) -> None:
    for name, method in vars(plain).items():
        if not name.startswith("_") and callable(method) and name not in vars(observed):
            setattr(observed, name, _observed(name, f"{prefix}.{name}", method))


_observe_all(ObservedCaches, Caches, "cache")
_observe_all(ObservedLlmCache, LlmCache, "cache.llm")
_observe_all(ObservedToolCache, ToolCache, "cache.tool")
_observe_all(ObservedSessionCache, SessionCache, "cache.session")
