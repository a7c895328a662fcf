"""Streams of events for workers under test."""

from __future__ import annotations

from collections.abc import Sequence

from mnemolog.producers.commands import Commands
from mnemolog.schemas.codec import encode
from mnemolog.schemas.events import Envelope
from mnemolog.schemas.ports import Log
from mnemolog.schemas.positions import Position


def users(prefix: str, count: int = 12) -> list[Commands]:
    """Namespaces that no other test has, over all partitions."""
    return [Commands((prefix, f"user{number}")) for number in range(count)]


def append(log: Log, events: Sequence[Envelope]) -> list[Position]:
    """Append events; the positions of their records."""
    return log.append([record for event in events for record in encode(event)])


def remembered(who: Sequence[Commands], count: int, word: str = "memory") -> list[Envelope]:
    """Memories, dealt out to `who` in turn."""
    return [
        who[number % len(who)].remember(f"{word} {number}", id=f"{word}-{number}", tags=["t"])
        for number in range(count)
    ]


def mixed(who: Sequence[Commands], count: int, word: str) -> list[Envelope]:
    """Memories, changes of them, feedback, forgetting: each later event depends on those before."""
    events: list[Envelope] = []
    for number in range(count):
        user = who[number % len(who)]
        events.append(user.remember(f"{word} {number}", id=f"{word}-{number}", key=f"slot {number % 5}"))
        if number % 3 == 0:
            events.append(user.update(f"{word}-{number}", text=f"{word} {number} anew"))
        if number % 4 == 0:
            recall = f"{word}-recall-{number}"
            events.append(user.feedback(recall, used=[f"{word}-{number}"], ignored=[f"{word}-x"]))
        if number % 7 == 0:
            events.append(user.forget([f"{word}-{number}"]))
    return events
