"""The queries of one namespace's context."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mnemolog.query.context_cache import ContextCache, Held, Place
from mnemolog.query.context_reader import ContextReader
from mnemolog.schemas.checks import check_count, check_string
from mnemolog.schemas.namespaces import Namespace

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock

MAX_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """What a key holds: a JSON value of its own in each answer. Times are aware UTC.

    `revision` is the event that gave the value. `expires_at` None never comes.
    """

    key: str
    value: Any
    agent_id: str | None
    thread_id: str | None
    updated_at: datetime
    expires_at: datetime | None
    ttl_seconds: float | None
    origin: str | None
    revision: str


@dataclass(frozen=True, slots=True)
class ContextPage:
    """A part of a list: `items`, and how many there are in `total`."""

    items: list[ContextEntry]
    total: int
    limit: int
    offset: int


class ContextQueries:
    """Reads the context of one namespace. Threads may share it. What has expired is not there."""

    def __init__(self, reader: ContextReader, namespace: Namespace, clock: Clock) -> None:
        self._reader = reader
        self._namespace = namespace
        self.clock = clock

    def find(self, place: Place, key: str) -> ContextEntry | None:
        """What a key holds; None where it holds nothing, or nothing that is JSON."""
        with self._reader.namespace(self._namespace) as cache:
            held = cache.find(place, key)
            if held is None or not held.alive(self.clock()):
                return None
            return self._read(cache, [held])[0]

    def entries(self, place: Place, prefix: str = "") -> list[ContextEntry]:
        """All that a place holds under keys that begin with `prefix`, by key."""
        check_string("prefix", prefix)
        with self._living(place) as (cache, living):
            return self._readable(cache, [held for held in living if held.key.startswith(prefix)])

    def page(
        self, place: Place, prefix: str | None, contains: str | None, limit: int, offset: int
    ) -> ContextPage:
        """Entries whose keys begin with `prefix`, and whose key or value holds `contains`, by key.

        `contains` is a substring in any case; a value that is no string counts as its JSON.
        """
        check_count("limit", limit, 0, MAX_LIMIT)
        check_count("offset", offset, 0, 2**62)
        start = "" if prefix is None else check_string("prefix", prefix)
        wanted = "" if contains is None else check_string("contains", contains).casefold()
        with self._living(place) as (cache, living):
            found = [held for held in living if held.key.startswith(start)]
            if wanted:
                texts = self._reader.texts(self._namespace, cache, found)
                found = [
                    held for held, text in zip(found, texts, strict=True) if wanted in _searched(held, text)
                ]
            items = self._readable(cache, found[offset : offset + limit])
        return ContextPage(items, len(found), limit, offset)

    def mentioning(
        self, place: Place, tests: Callable[[str], float], limit: int
    ) -> list[tuple[ContextEntry, float]]:
        """The entries of a place to whose text, its key and value, `tests` gives over 0; highest first."""
        with self._living(place) as (cache, living):
            texts = self._reader.texts(self._namespace, cache, living)
            marks = [tests(f"{held.key} {text}") for held, text in zip(living, texts, strict=True)]
            order = sorted(
                range(len(living)), key=lambda at: (-marks[at], -living[at].updated_at.timestamp())
            )
            best = [at for at in order if marks[at] > 0][:limit]
            found = self._read(cache, [living[at] for at in best])
        return [(entry, marks[at]) for entry, at in zip(found, best, strict=True) if entry is not None]

    def keys(
        self,
        tiers: Collection[str],
        agent_id: str | None = None,
        thread_id: str | None = None,
        origin: str | None = None,
    ) -> list[Held]:
        """The entries of some tiers: of one agent, thread or origin where named; without their values."""
        now = self.clock()
        with self._reader.namespace(self._namespace) as cache:
            return [
                held
                for place in cache.places(tiers)
                if agent_id in (None, place[1]) and thread_id in (None, place[2])
                for held in cache.entries(place)
                if held.alive(now) and origin in (None, held.origin)
            ]

    @contextmanager
    def _living(self, place: Place) -> Iterator[tuple[ContextCache, list[Held]]]:
        now = self.clock()
        with self._reader.namespace(self._namespace) as cache:
            living = [held for held in cache.entries(place) if held.alive(now)]
            yield cache, sorted(living, key=lambda held: held.key)

    def _readable(self, cache: ContextCache, entries: list[Held]) -> list[ContextEntry]:
        return [entry for entry in self._read(cache, entries) if entry is not None]

    def _read(self, cache: ContextCache, entries: list[Held]) -> list[ContextEntry | None]:
        texts = self._reader.texts(self._namespace, cache, entries)
        return [_entry(held, text) for held, text in zip(entries, texts, strict=True)]


def _searched(held: Held, text: str) -> str:
    """What a substring is looked for in: a string is itself, any other value its JSON."""
    if text.startswith('"'):
        with suppress(ValueError):
            text = json.loads(text)
    return f"{held.key}\n{text}".casefold()


def _entry(held: Held, text: str) -> ContextEntry | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return ContextEntry(
        key=held.key,
        value=value,
        agent_id=held.agent_id,
        thread_id=held.thread_id,
        updated_at=held.updated_at,
        expires_at=held.expires_at,
        ttl_seconds=held.ttl_seconds,
        origin=held.origin,
        revision=held.revision or "",
    )
