"""What is looked up when Prometheus asks: how much there is, and how far the views lag behind."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from mnemolog.schemas.errors import ClosedError
from mnemolog.telemetry.looks import Look
from mnemolog.telemetry.open_letters import OpenLetters

if TYPE_CHECKING:
    from mnemolog.memory import Memory
    from mnemolog.schemas.namespaces import Namespace

Values = dict[tuple[str, ...], float]
"""The values of a metric by those of its labels."""

KINDS = ("content", "lag", "dead letters")
"""What is looked up, each by itself: the log may be away where the views are not."""

_logger = logging.getLogger(__name__)

_GAUGES = {
    "active_memories": ("Memories in the namespaces that are observed, without superseded ones.", ()),
    "active_sessions": ("Threads that the session cache holds anything for.", ()),
    "lag_events": ("Events in the log that views have not applied.", ("topic", "partition")),
    "dead_letters": ("Records that could not be applied and wait for a person.", ()),
}
_COUNTERS = {
    "evictions": ("Memories that rules let go, as the views have it.", ("rule",)),
    "scrape_errors": ("Looks at gauges that failed.", ()),
}
_SHARED = ("lag_events", "dead_letters")
"""Handles may see the same: these are not summed."""


class HandleCollector:
    """Asks the handles that are observed, at each scrape, once for each namespace of each log.

    What fails or takes long is left out and counted. Nothing is asked between scrapes.
    """

    def __init__(
        self, prefix: str, labels: tuple[str, ...], place: Callable[[Namespace], tuple[str, ...]]
    ) -> None:
        self._prefix = prefix
        self._labels = labels
        self._place = place
        self._lock = threading.Lock()
        self._sources: dict[int, _Source] = {}
        self._failed: Values = defaultdict(float)
        self._no_labels = ("",) * len(labels)
        self._looks = {kind: Look(partial(self._ask, kind)) for kind in KINDS}

    def add(self, memory: Memory) -> Callable[[], None]:
        """Ask `memory` too, until what is returned is called."""
        source = _Source(memory, self._place(memory.namespace))
        with self._lock:
            self._sources[id(source)] = source
        return lambda: self._drop(source)

    def _drop(self, source: _Source) -> None:
        with self._lock:
            self._sources.pop(id(source), None)

    def describe(self) -> Iterator[Metric]:
        """The metrics without values."""
        return self._families({})

    def collect(self) -> Iterator[Metric]:
        """The metrics, as they are now. Never raises, and never takes long."""
        looks = self._looks if self._sources else {}
        begun = {kind: look.begin() for kind, look in looks.items()}
        found: defaultdict[str, Values] = defaultdict(dict)
        for kind, running in begun.items():
            try:
                for place, values in running.take():
                    _merge(found, values, place)
            except Exception as error:  # noqa: BLE001 whatever it is, the other metrics are to be had
                self._fail(kind, error, self._no_labels)
        if looks or self._failed:
            found["scrape_errors"] = dict(self._failed) or {self._no_labels: 0.0}
        return self._families(found)

    def _fail(self, kind: str, error: Exception, place: tuple[str, ...]) -> None:
        with self._lock:
            self._failed[place] += 1
        _logger.warning("%s could not be read for metrics: %s: %s", kind, type(error).__name__, error)

    def _ask(self, kind: str) -> list[tuple[tuple[str, ...], Mapping[str, Values]]]:
        """What each source says, of those of one subject one."""
        with self._lock:
            sources = list(self._sources.values())
        found: list[tuple[tuple[str, ...], Mapping[str, Values]]] = []
        asked: set[tuple[str, Namespace]] = set()
        for source in sources:
            try:
                if source.subject not in asked:
                    found.append((source.place, source.ask(kind)))
                    asked.add(source.subject)
            except ClosedError:
                self._drop(source)
            except Exception as error:  # noqa: BLE001 whatever it is, the other handles are to be asked
                self._fail(kind, error, source.place)
                asked.add(source.subject)
        return found

    def _families(self, found: Mapping[str, Values]) -> Iterator[Metric]:
        for kind, named in ((GaugeMetricFamily, _GAUGES), (CounterMetricFamily, _COUNTERS)):
            for name, (said, own) in named.items():
                labels = own if name in _SHARED else (*own, *self._labels)
                family = kind(f"{self._prefix}_{name}", said, labels=labels)
                for place, value in found.get(name, {}).items():
                    family.add_metric(place, value)
                yield family


def _merge(found: defaultdict[str, Values], values: Mapping[str, Values], place: tuple[str, ...]) -> None:
    for name, by_label in values.items():
        for own, value in by_label.items():
            if name in _SHARED:
                found[name][own] = max(value, found[name].get(own, 0))
            else:
                key = (*own, *place)
                found[name][key] = found[name].get(key, 0) + value


class _Source:
    """What one handle says. Nothing here waits for the views."""

    def __init__(self, memory: Memory, place: tuple[str, ...]) -> None:
        self.place = place
        self._session = memory._session
        self._queries = memory._queries
        self._letters = OpenLetters(memory._session.log)
        self.subject = (memory._queries.root, memory.namespace)

    def ask(self, kind: str) -> dict[str, Values]:
        """What there is to say of one of the `KINDS`.

        Raises:
            ClosedError: the handle was closed.
        """
        self._session.check_open()
        told = {"content": self._content, "lag": self._lag, "dead letters": self._waiting}
        return told[kind]()

    def _content(self) -> dict[str, Values]:
        stats = self._queries.stats()
        sessions = {held.thread_id for held in self._queries.contexts.keys(("session",))}
        return {
            "active_memories": {(): stats["active"]},
            "active_sessions": {(): len(sessions)},
            "evictions": {(rule,): number for rule, number in stats["evictions"].items()},
        }

    def _lag(self) -> dict[str, Values]:
        partition = str(self._queries.partition or 0)
        lag = self._queries.lag(self._session.log)
        return {"lag_events": {(topic, partition): behind for topic, behind in lag.items()}}

    def _waiting(self) -> dict[str, Values]:
        return {"dead_letters": {(): self._letters.count()}}
