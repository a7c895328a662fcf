"""Telemetry under test: spans of the real SDK in memory, values of a real registry."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.request import urlopen

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from mnemolog import Memory
from mnemolog.telemetry import observe


@dataclass
class Telemetry:
    """A registry, and the spans that a provider has ended."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    provider: TracerProvider = field(default_factory=TracerProvider)
    ended: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)

    def __post_init__(self) -> None:
        self.provider.add_span_processor(SimpleSpanProcessor(self.ended))

    def observe(self, memory: Memory, **options: Any) -> Memory:
        """An observed handle that tells of its verbs here."""
        return observe(memory, registry=self.registry, tracer_provider=self.provider, **options)

    def value(self, name: str, **labels: str) -> float | None:
        """What a series stands at, without the prefix; None if there is no such series."""
        return self.registry.get_sample_value(f"mnemolog_{name}", labels)

    def spans(self, name: str) -> list[ReadableSpan]:
        """The spans of a name, without the prefix, in the order in which they ended."""
        return [span for span in self.ended.get_finished_spans() if span.name == f"mnemolog.{name}"]

    def last(self, name: str) -> dict[str, Any]:
        """The attributes of the last span of a name."""
        return dict(self.spans(name)[-1].attributes or {})

    def series(self) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
        """All series that there are."""
        return {
            (sample.name, tuple(sorted(sample.labels.items())))
            for family in self.registry.collect()
            for sample in family.samples
        }


Scrape = Callable[..., float | None]


def scrape(address: str) -> Scrape:
    """What is served at `address` now, as a function of a name and labels."""
    with urlopen(address, timeout=10) as answer:
        text = answer.read().decode()
    found = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    return lambda name, **labels: found.get((name, tuple(sorted(labels.items()))))


def address_in(said: str) -> str:
    """Where a worker says that its metrics are."""
    found = re.search(r"metrics on (http://\S+)", said)
    assert found is not None, said
    return found[1]
