"""One call of a verb: its span, its time, and what came of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Tracer, set_span_in_context

from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.telemetry.failures import tell_failure
from mnemolog.telemetry.harmless import harmless
from mnemolog.telemetry.instruments import Instruments
from mnemolog.telemetry.outcomes import OPERATIONS, Attributes, Outcome, outcome_of

SYSTEM = "mnemolog"

_NUMBERS = {
    name: f"mnemolog.{name}"
    for name in (
        *("k", "threshold", "min_score", "max_tokens", "diversity", "importance", "ttl_seconds", "limit"),
        *("offset", "depth", "older_than_seconds", "max_importance"),
    )
}
"""Arguments that are told if they are numbers, and as what."""

_NAMES = {"agent_id": "gen_ai.agent.id", "thread_id": "gen_ai.conversation.id"}
_SEARCHES = tuple(verb for verb, operation in OPERATIONS.items() if operation == "search_memory")
_DEFAULT_K = 5

_running = threading.local()


def note_wait(seconds: float) -> None:
    """Add to what the call that runs in this thread has waited for the views."""
    waited = getattr(_running, "waited", None)
    if waited is not None:
        _running.waited = waited + seconds


@dataclass(frozen=True, slots=True)
class Whose:
    """The agent and thread that a handle stands for unless a call names others."""

    agent_id: str | None
    thread_id: str | None

    @property
    def attributes(self) -> Attributes:
        """The same for spans."""
        known = {_NAMES["agent_id"]: self.agent_id, _NAMES["thread_id"]: self.thread_id}
        return {name: value for name, value in known.items() if value is not None}


class Calls:
    """Makes calls on one namespace, and tells of them. Safe for threads.

    `texts` lets queries and the messages of all errors into spans.
    """

    def __init__(
        self, instruments: Instruments, tracer: Tracer, namespace: Namespace, whose: Whose, texts: bool
    ) -> None:
        self._instruments = instruments
        self._tracer = tracer
        self._about = whose.attributes
        self._texts = texts
        self._labels = instruments.place(namespace)
        self._namespace = encode_namespace(namespace)
        self._fixed: dict[str, Attributes] = {}

    def at(self, namespace: Namespace, whose: Whose) -> Calls:
        """The same on another namespace."""
        return Calls(self._instruments, self._tracer, namespace, whose, self._texts)

    def call(
        self,
        verb: str,
        run: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        tell: Callable[[str, Any], Outcome | None] = outcome_of,
    ) -> Any:
        """What `run` returns for the arguments, or raises."""
        span: Span = INVALID_SPAN
        around = get_current()
        with harmless():
            span = self._start(verb, around)
        token = attach(set_span_in_context(span, around))
        before, _running.waited = getattr(_running, "waited", None), 0.0
        begun = time.perf_counter()
        try:
            result = run(*args, **kwargs)
        except BaseException as error:
            with harmless():
                asked = self._end(verb, span, begun, args, kwargs)
                self._fail(verb, span, asked, error)
            raise
        else:
            with harmless():
                asked = self._end(verb, span, begun, args, kwargs)
                self._succeed(span, asked, tell(verb, result))
            return result
        finally:
            _running.waited = before
            detach(token)
            with harmless():
                span.end()

    def _start(self, verb: str, around: Context) -> Span:
        fixed = self._fixed.get(verb) or self._fix(verb)
        return self._tracer.start_span(f"{SYSTEM}.{verb}", around, SpanKind.CLIENT, fixed)

    def _fix(self, verb: str) -> Attributes:
        fixed: Attributes = {
            "db.system.name": SYSTEM,
            "db.namespace": self._namespace,
            "db.operation.name": verb,
        }
        if verb in OPERATIONS:
            fixed |= {
                "gen_ai.operation.name": OPERATIONS[verb],
                "gen_ai.provider.name": SYSTEM,
                "gen_ai.memory.store.id": self._namespace,
            }
        self._fixed[verb] = fixed
        return fixed

    def _end(
        self, verb: str, span: Span, begun: float, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Attributes:
        """Count the time; what there is to say of the call so far, if its span is recorded."""
        self._instruments.observe("verb_seconds", time.perf_counter() - begun, verb, *self._labels)
        waited = _running.waited
        if waited:
            self._instruments.observe("wait_seconds", waited, *self._labels)
        if not span.is_recording():
            return {}
        asked = self._asked(verb, args, kwargs)
        asked["mnemolog.waited_seconds"] = waited
        return asked

    def _asked(self, verb: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Attributes:
        """What of the arguments is a number, and whose memory it is."""
        asked = dict(self._about)
        for name, value in kwargs.items():
            told = _NUMBERS.get(name) if isinstance(value, int | float) else _NAMES.get(name)
            if told is not None and isinstance(value, int | float | str):
                asked[told] = value
        if verb in _SEARCHES:
            asked.setdefault("mnemolog.k", _DEFAULT_K)
            query = args[0] if args else kwargs.get("query")
            if self._texts and isinstance(query, str):
                asked["gen_ai.memory.query.text"] = query
        elif verb.startswith("cache."):
            asked |= _origin(verb, args[0] if args else kwargs.get("params", kwargs.get("tool")))
        return asked

    def _succeed(self, span: Span, asked: Attributes, outcome: Outcome | None) -> None:
        if outcome is not None:
            for name, amount, values in outcome.counts:
                self._instruments.count(name, amount, *values, *self._labels)
            asked |= outcome.attributes
        if span.is_recording():
            span.set_attributes(asked)

    def _fail(self, verb: str, span: Span, asked: Attributes, error: BaseException) -> None:
        self._instruments.count("errors", 1, verb, self._instruments.error_name(error), *self._labels)
        if span.is_recording():
            span.set_attributes(asked)
            tell_failure(span, error, self._texts)


def _origin(verb: str, first: Any) -> Attributes:
    """The model or the tool that a call of a cache is about."""
    if verb.startswith("cache.tool.") and isinstance(first, str):
        return {"gen_ai.tool.name": first}
    model = first.get("model") if isinstance(first, Mapping) else None
    return {"gen_ai.request.model": model} if isinstance(model, str) else {}
