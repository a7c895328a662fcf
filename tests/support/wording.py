"""An extractor for workers of tests: like a model, it takes its time and never says the same thing twice."""

from __future__ import annotations

import time
import uuid

from mnemolog import Fact, MemoryItem


def reword(memories: list[MemoryItem]) -> list[Fact]:
    """One fact a memory: its subject is the memory's text."""
    time.sleep(0.05)
    return [Fact(item.text, f"{item.text} {uuid.uuid4().hex}", sources=(item.id,)) for item in memories]
