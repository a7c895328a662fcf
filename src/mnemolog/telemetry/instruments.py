"""The Prometheus metrics of a program's handles: one set for each registry and prefix."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args
from weakref import WeakKeyDictionary

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram

from mnemolog.schemas.errors import InvalidInputError, MnemologError
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.telemetry.embedding import EmbeddingMetrics
from mnemolog.telemetry.gauges import HandleCollector
from mnemolog.telemetry.registering import register_all

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

Label: TypeAlias = Literal["namespace"]
"""What a program may choose as a label of all metrics."""

MAX_NAMESPACES = 1_000
OTHER = "(other)"
"""Stands for all namespaces after the first `MAX_NAMESPACES`, and for classes of errors that are not ours."""

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

HISTOGRAMS = {
    "verb_seconds": ("How long a verb took, in seconds.", ("verb",)),
    "wait_seconds": ("How long a verb waited for the views, in seconds, if it did.", ()),
}
COUNTERS = {
    "recalls": ("Recalls that were answered.", ()),
    "recall_hits": ("Memories that recalls showed.", ()),
    "recall_empty": ("Recalls that found nothing.", ()),
    "recall_near_misses": ("Recalls that found nothing, but something up to twice the threshold.", ()),
    "recall_degraded": ("Recalls by keywords alone, since the embedder failed.", ()),
    "writes": ("What was written, by verb: memories, feedback, links, context, settings.", ("verb",)),
    "forgotten": ("Memories that forget named and forget_scope selected.", ()),
    "errors": ("Calls that failed, by verb and class of error.", ("verb", "error")),
    "consolidations": ("Consolidations on demand, by mode.", ("mode",)),
    "consolidated": ("What consolidations on demand came to.", ("outcome",)),
    "consolidation_tokens": ("Tokens that consolidations on demand took.", ("direction",)),
    "cache_requests": ("Checks of caches, by tier and result.", ("tier", "result")),
    "cache_stores": ("Entries that were put into caches.", ("tier",)),
    "cache_stored_bytes": ("Bytes of JSON that were put into caches.", ("tier",)),
    "cache_saved_cost": ("Cost that hits saved, in the currency that costs were given in.", ("tier",)),
}

_ALL: WeakKeyDictionary[CollectorRegistry, dict[str, Instruments]] = WeakKeyDictionary()
_MAKING = threading.Lock()


class Instruments:
    """The metrics of one registry under one prefix, shared by all handles there. Safe for threads."""

    def __init__(self, registry: CollectorRegistry, prefix: str, labels: tuple[Label, ...]) -> None:
        self.labels = labels
        self._seconds = {
            name: Histogram(f"{prefix}_{name}", said, (*own, *labels), buckets=SECONDS, registry=None)
            for name, (said, own) in HISTOGRAMS.items()
        }
        self._counters = {
            name: Counter(f"{prefix}_{name}", said, (*own, *labels), registry=None)
            for name, (said, own) in COUNTERS.items()
        }
        self.embedding = EmbeddingMetrics(prefix)
        self.gauges = HandleCollector(prefix, labels, self.place)
        made: list[Collector] = [*self._seconds.values(), *self._counters.values()]
        register_all(registry, [*made, *self.embedding.all, self.gauges])
        self._children: dict[tuple[str, ...], Any] = {}
        self._namespaces: dict[Namespace, tuple[str, ...]] = {}
        self._errors = frozenset(_names_below(MnemologError))

    def place(self, namespace: Namespace) -> tuple[str, ...]:
        """The values of the chosen labels for a namespace: of at most `MAX_NAMESPACES`."""
        if not self.labels:
            return ()
        known = self._namespaces.get(namespace)
        if known is None:
            many = len(self._namespaces) >= MAX_NAMESPACES
            known = (OTHER,) if many else (encode_namespace(namespace),)
            if not many:
                self._namespaces[namespace] = known
        return known

    def observe(self, name: str, seconds: float, *values: str) -> None:
        """Add to a histogram."""
        key = (name, *values)
        child = self._children.get(key) or self._child(key, self._seconds[name])
        child.observe(seconds)

    def count(self, name: str, amount: float, *values: str) -> None:
        """Add to a counter."""
        key = (name, *values)
        child = self._children.get(key) or self._child(key, self._counters[name])
        child.inc(amount)

    def error_name(self, error: BaseException) -> str:
        """The class of an error as a label: those of this library by name."""
        name = type(error).__name__
        return name if name in self._errors else OTHER

    def _child(self, key: tuple[str, ...], family: Any) -> Any:
        values = key[1:]
        child = self._children[key] = family.labels(*values) if values else family
        return child


def instruments_of(
    registry: CollectorRegistry | None, prefix: str, labels: Iterable[Label] = ()
) -> Instruments:
    """The metrics of a registry, by default Prometheus's own, under a prefix; made at the first call.

    Raises:
        InvalidInputError: a bad prefix or label, names that something else has in the registry, or other
            labels than those of the handles that are observed there already.
    """
    chosen = _chosen(labels)
    if not (isinstance(prefix, str) and prefix.isidentifier() and prefix.isascii()):
        raise InvalidInputError(f"prefix is a name like mnemolog, not {prefix!r:.80}", field="prefix")
    home = REGISTRY if registry is None else registry
    if not isinstance(home, CollectorRegistry):
        raise InvalidInputError(f"registry is a CollectorRegistry, not {home!r:.80}", field="registry")
    with _MAKING:
        there = _ALL.setdefault(home, {})
        if prefix not in there:
            there[prefix] = Instruments(home, prefix, chosen)
        found = there[prefix]
    if found.labels != chosen:
        raise InvalidInputError(
            f"the metrics {prefix}_… of this registry have the labels {list(found.labels)}; "
            "give the same, or another prefix",
            field="labels",
        )
    return found


def _chosen(labels: Iterable[Label]) -> tuple[Label, ...]:
    known: Sequence[Label] = get_args(Label)
    wanted = {labels} if isinstance(labels, str) else set(labels)
    if wanted - set(known):
        raise InvalidInputError(f"labels are of {list(known)}, not {labels!r:.80}", field="labels")
    return tuple(label for label in known if label in wanted)


def _names_below(kind: type[BaseException]) -> set[str]:
    return {kind.__name__}.union(*map(_names_below, kind.__subclasses__()))
