"""Event-sourced memory for AI agents: every operation is an event in a log, every view a fold of it.

    with mnemolog.open("./memory", namespace=("acme", "alice")) as memory:
        memory.remember("Alice is vegetarian", key="diet")
        print(memory.recall("what does Alice eat?")[0].explain())

Names are loaded when they are used first, so that a program that only writes events stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mnemolog.async_memory import AsyncMemory
    from mnemolog.memory import Memory
    from mnemolog.opening import connect, open  # noqa: A004 the public name
    from mnemolog.producers import MemoryProducer
    from mnemolog.producers.receipts import Receipt
    from mnemolog.query.diff import Changed, Diff
    from mnemolog.query.facts import FactItem
    from mnemolog.query.models import Hit, Hits, MemoryItem, Page
    from mnemolog.query.scoring.weights import Weights
    from mnemolog.schemas.errors import MnemologError
    from mnemolog.schemas.extraction import Extraction
    from mnemolog.schemas.facts import Fact
    from mnemolog.schemas.moments import AsOf
    from mnemolog.schemas.positions import Position
    from mnemolog.verbs.consolidation import Consolidated

__version__ = "0.1.0"

_HOMES = {
    "AsOf": "mnemolog.schemas.moments",
    "AsyncMemory": "mnemolog.async_memory",
    "Changed": "mnemolog.query.diff",
    "Consolidated": "mnemolog.verbs.consolidation",
    "Diff": "mnemolog.query.diff",
    "Extraction": "mnemolog.schemas.extraction",
    "Fact": "mnemolog.schemas.facts",
    "FactItem": "mnemolog.query.facts",
    "Hit": "mnemolog.query.models",
    "Hits": "mnemolog.query.models",
    "Memory": "mnemolog.memory",
    "MemoryItem": "mnemolog.query.models",
    "MemoryProducer": "mnemolog.producers",
    "MnemologError": "mnemolog.schemas.errors",
    "Page": "mnemolog.query.models",
    "Position": "mnemolog.schemas.positions",
    "Receipt": "mnemolog.producers.receipts",
    "Weights": "mnemolog.query.scoring.weights",
    "connect": "mnemolog.opening",
    "open": "mnemolog.opening",
}

__all__ = [
    "AsOf",
    "AsyncMemory",
    "Changed",
    "Consolidated",
    "Diff",
    "Extraction",
    "Fact",
    "FactItem",
    "Hit",
    "Hits",
    "Memory",
    "MemoryItem",
    "MemoryProducer",
    "MnemologError",
    "Page",
    "Position",
    "Receipt",
    "Weights",
    "connect",
    "open",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mnemolog' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
