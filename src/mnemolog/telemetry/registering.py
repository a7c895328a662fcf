"""Putting collectors into a registry: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemolog.schemas.errors import InvalidInputError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.registry import Collector


def register_all(registry: CollectorRegistry, collectors: Sequence[Collector]) -> None:
    """Register all of `collectors`.

    Raises:
        InvalidInputError: something else in the registry has one of the names; nothing was registered.
    """
    done: list[Collector] = []
    try:
        for one in collectors:
            registry.register(one)
            done.append(one)
    except ValueError as error:
        for one in done:
            registry.unregister(one)
        raise InvalidInputError(f"{error}; choose another prefix", field="prefix") from error
