"""Reading the config view: the settings of a namespace and those for all.

In a folder they are those of right now, on an object store at most half a second old.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mnemolog.query.config import check_score_setting
from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.errors import ViewError
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.settings import Settings, sound
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable, TableState

ShardTable: TypeAlias = Callable[[str, Namespace], tuple[str, LanceTable]]
"""Gives the table of a name in the shard of a namespace, and its generation."""

FRESH_SECONDS = 0.5
_MAX_NAMESPACES = 10_000
_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Known:
    """The settings of one namespace, when they were looked at, and the table's state then."""

    settings: Settings
    looked_at: float
    generation: str = ""
    state: TableState | None = None


class ConfigReader:
    """Reads settings through `shard_table`. Safe for threads. `monotonic` is a clock in seconds."""

    def __init__(self, shard_table: ShardTable, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._shard_table = shard_table
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: OrderedDict[Namespace, _Known] = OrderedDict()
        self._warned: set[str] = set()

    def levels(self, namespace: Namespace) -> tuple[Settings, Settings]:
        """The settings for all namespaces, and those of this one. What makes no sense is left out, with one
        warning each."""
        with self._lock:
            return self._settings(EVERYWHERE), self._settings(namespace)

    def forget(self) -> None:
        """Look anew at the next call: settings were just changed."""
        with self._lock:
            for known in self._known.values():
                known.looked_at = -FRESH_SECONDS

    def _settings(self, namespace: Namespace) -> Settings:
        now = self._monotonic()
        known = self._known.get(namespace)
        if known is None or _is_cheap(known.state) or now - known.looked_at >= FRESH_SECONDS:
            known = self._known[namespace] = self._look(namespace, known, now)
            self._known.move_to_end(namespace)
            while len(self._known) > _MAX_NAMESPACES:
                self._known.popitem(last=False)
        return known.settings

    def _look(self, namespace: Namespace, known: _Known | None, now: float) -> _Known:
        try:
            generation, table = self._shard_table("config", namespace)
            before = known.state if known is not None and known.generation == generation else None
            state = table.state(before)
            if known is not None and before is not None and state.version == before.version:
                return _Known(known.settings, now, generation, state)
            return _Known(self._read(table, namespace), now, generation, state)
        except ViewError:
            return _Known(known.settings if known is not None else {}, now - FRESH_SECONDS)

    def _read(self, table: LanceTable, namespace: Namespace) -> Settings:
        ours = f"namespace = {literal(encode_namespace(namespace))} AND NOT deleted"
        rows = table.where(ours, ["setting", "value"]).to_pylist()
        good, problems = sound(
            {row["setting"]: json.loads(row["value"]) for row in rows}, check_score_setting
        )
        for problem in problems:
            if problem not in self._warned:
                self._warned.add(problem)
                _logger.warning("a setting of %s is ignored: %s", namespace or "all namespaces", problem)
        return good


def _is_cheap(state: TableState | None) -> bool:
    """Whether a look costs microseconds, as it does in a folder, and not a request to an object store."""
    return state is not None and state.stamp is not None
