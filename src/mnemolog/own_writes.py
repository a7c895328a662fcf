"""What handles wrote and the views may not show yet."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.positions import Position

MAX_NAMESPACES = 10_000

Place = tuple[str, int]
"""Topic and partition."""


class OwnWrites:
    """By namespace, the last position written in each partition. Handles and threads may share it.

    Of more than `MAX_NAMESPACES` namespaces that were written and not read since, it no longer knows which
    wrote what: a read then waits for all of it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._anyones: dict[Place, int] = {}
        self._by_namespace: dict[Namespace, dict[Place, int]] = {}

    def add(self, positions: Iterable[Position], namespace: Namespace | None) -> None:
        """Let reads of `namespace`, or of any if it is None, wait for `positions`."""
        with self._lock:
            own = self._anyones if namespace is None else self._by_namespace.setdefault(namespace, {})
            _raise_to(own, positions)
            if len(self._by_namespace) > MAX_NAMESPACES:
                for every in self._by_namespace.values():
                    _raise_to(self._anyones, (Position(*place, offset) for place, offset in every.items()))
                self._by_namespace.clear()

    def of(self, namespace: Namespace) -> list[Position]:
        """What a read of `namespace` has to wait for."""
        with self._lock:
            due = dict(self._anyones)
            for place, offset in self._by_namespace.get(namespace, {}).items():
                due[place] = max(due.get(place, -1), offset)
        return [Position(*place, offset) for place, offset in due.items()]

    def shown(self, position: Position, namespace: Namespace) -> None:
        """The views show `position`: nobody waits for it, or what came before it, again."""
        place = position[:2]
        with self._lock:
            own = self._by_namespace.get(namespace, {})
            for written in (self._anyones, own):
                if written.get(place, position.offset + 1) <= position.offset:
                    del written[place]
            if not own:
                self._by_namespace.pop(namespace, None)


def _raise_to(written: dict[Place, int], positions: Iterable[Position]) -> None:
    for topic, partition, offset in positions:
        written[topic, partition] = max(written.get((topic, partition), -1), offset)
