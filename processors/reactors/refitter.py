"""Fits the usefulness model again when enough feedback has come, and appends what it found."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mnemolog.processors.refit import count_feedback, refit
from mnemolog.schemas.codec import encode
from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.events import ModelRefitted
from mnemolog.schemas.ids import derived_id
from mnemolog.schemas.rows import TABLES
from mnemolog.schemas.topics import partition_of
from mnemolog.schemas.usefulness import FEATURE_SET
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.processors.learning import Fitted
    from mnemolog.schemas.ports import Clock, Log
    from mnemolog.storage.layout import Manifest, Views
    from mnemolog.storage.table import TableState

EVERY_RATINGS = 50
EVERY_SHARE = 0.1
"""So many ratings more or less, or such a share of them, whichever is more, and the model is fitted again."""

_NAME = "usefulness"


def is_home(manifest: Manifest, partition: int) -> bool:
    """Whether the owner of this partition fits the model: it holds what is for all namespaces."""
    return partition == partition_of(b"", manifest.partitions)


class Refitter:
    """Watches the feedback of all shards of a generation. Not safe for threads.

    What it finds depends on the views alone, and its event's id on what it found: a restart or a second
    watcher that finds the same changes nothing.
    """

    def __init__(self, views: Views, manifest: Manifest, log: Log, clock: Clock) -> None:
        self._views = views
        self._manifest = manifest
        self._log = log
        self._clock = clock
        self._tables: dict[int, LanceTable] = {}
        self._states: dict[int, TableState] = {}
        self._fitted_to = 0

    def look(self) -> int:
        """Fit if there is enough that is new; how many events that made.

        Raises:
            MnemologError: a view could not be read, or the log takes nothing; the next look does it again.
        """
        if not self._changed():
            return 0
        tables = list(self._tables.values())
        ratings = count_feedback(tables)
        if abs(ratings - self._fitted_to) < max(EVERY_RATINGS, EVERY_SHARE * self._fitted_to):
            return 0
        fitted = refit(tables, FEATURE_SET)
        if fitted is not None:
            self._log.append(encode(self._event(fitted)))
        self._fitted_to = ratings
        return int(fitted is not None)

    def _changed(self) -> bool:
        changed = False
        for partition in range(self._manifest.partitions):
            with suppress(ViewMissingError):
                table = self._table(partition)
                state = table.state(self._states.get(partition))
                known = self._states.get(partition)
                changed = changed or known is None or known.version != state.version
                self._states[partition] = state
        return changed

    def _table(self, partition: int) -> LanceTable:
        if partition not in self._tables:
            shard = self._views.shard(self._manifest.generation, partition)
            self._tables[partition] = LanceTable.open(shard, _NAME, TABLES[_NAME], partition)
        return self._tables[partition]

    def _event(self, fitted: Fitted) -> ModelRefitted:
        weights = tuple(round(weight, 9) for weight in fitted.weights.tolist())
        return ModelRefitted(
            event_id=derived_id("refit", FEATURE_SET, weights, fitted.evidence),
            namespace=EVERYWHERE,
            occurred_at=self._clock(),
            feature_set=FEATURE_SET,
            weights=weights,
            evidence=fitted.evidence,
            gain=fitted.gain,
            served=fitted.served,
        )
