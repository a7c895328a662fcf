"""What reactors read of one shard: the memories of a namespace as columns, and settings."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.errors import ViewMissingError
from mnemolog.schemas.evictions import evictions_pk, last_eviction
from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import META_NAMESPACE, TABLES, Row, memory_pk
from mnemolog.schemas.settings import Settings, check_setting, sound
from mnemolog.schemas.topics import partition_of
from mnemolog.storage.layout import Manifest, Views
from mnemolog.storage.sql import literal
from mnemolog.storage.table import LanceTable, TableState

_COLUMNS = ["id", "kind", "key", "importance", "occurred_at", "touched_at", "recorded_at", "expires_at",
            "pinned", "superseded_by", "_off", "_fill"]  # fmt: skip
_logger = logging.getLogger(__name__)


class ShardMemories:
    """Reads the shard of one partition in one generation, beside its writer."""

    def __init__(self, views: Views, manifest: Manifest, partition: int) -> None:
        self._views = views
        self._manifest = manifest
        self.partition = partition
        self._tables: dict[tuple[int, str], LanceTable] = {}
        self._config_states: dict[int, TableState] = {}
        self._settings: dict[int, dict[str, Settings]] = {}
        self._warned: set[str] = set()

    @property
    def dim(self) -> int | None:
        """The length of the vectors; None where there are none."""
        return self._manifest.dim

    def _table(self, name: str, partition: int) -> LanceTable:
        if (partition, name) not in self._tables:
            shard = self._views.shard(self._manifest.generation, partition)
            self._tables[partition, name] = LanceTable.open(shard, name, TABLES[name], partition)
        return self._tables[partition, name]

    def settings(self) -> tuple[Settings, dict[str, Settings]]:
        """The settings for all namespaces, and namespace (encoded) → its own, of this shard."""
        home = partition_of(b"", self._manifest.partitions)
        everywhere = self._config(home).get(encode_namespace(EVERYWHERE), {})
        own = {name: found for name, found in self._config(self.partition).items() if name}
        return everywhere, own

    def _config(self, partition: int) -> dict[str, Settings]:
        try:
            table = self._table("config", partition)
        except ViewMissingError:
            return {}
        state = table.state(self._config_states.get(partition))
        known = self._config_states.get(partition)
        if known is None or known.version != state.version:
            self._settings[partition] = self._read_config(table)
        self._config_states[partition] = state
        return self._settings[partition]

    def _read_config(self, table: LanceTable) -> dict[str, Settings]:
        rows = table.where("NOT deleted", ["namespace", "setting", "value"]).to_pylist()
        raw: dict[str, Settings] = {}
        for row in rows:
            raw.setdefault(row["namespace"], {})[row["setting"]] = json.loads(row["value"])
        found = {}
        for name, settings in raw.items():
            found[name], problems = sound(settings, check_setting)
            for problem in set(problems) - self._warned:
                self._warned.add(problem)
                _logger.warning("a setting of %s is ignored: %s", name or "all namespaces", problem)
        return found

    def state(self, known: TableState | None) -> TableState:
        """The newest state of the memories; see `LanceTable.state`."""
        return self._table("memories", self.partition).state(known)

    def applied(self) -> int:
        """The next offset that the memories will apply."""
        return self._table("memories", self.partition).applied()

    def changed_since(self, offset: int, fill: int) -> tuple[set[str], int]:
        """The namespaces with memories that changed at `offset` or later or whose vectors came after `fill`;
        and the number of the last late vectors."""
        changed = f"(_off >= {int(offset)} OR _fill > {int(fill)})"
        where = f"namespace <> {literal(META_NAMESPACE)} AND NOT deleted AND {changed}"
        found = self._table("memories", self.partition).where(where, ["namespace", "_fill"])
        fills = found["_fill"].to_pylist()
        return set(found["namespace"].to_pylist()), max([fill, *fills])

    def count(self, namespace: str) -> int:
        """How many memories a namespace holds, superseded and expired ones too."""
        return self._table("memories", self.partition).count(_ours(namespace))

    def memories(self, namespace: str, *, vectors: bool = False) -> pa.Table:
        """The memories of a namespace, superseded and expired ones too."""
        columns = [*_COLUMNS, "vector"] if vectors else _COLUMNS
        return self._table("memories", self.partition).where(_ours(namespace), columns)

    def last_used(self, namespace: str) -> dict[str, Any]:
        """Memory → when it was last used, of those that ever were."""
        where = f"namespace = {literal(namespace)} AND pk = memory_pk AND last_used_at IS NOT NULL"
        rows = self._table("usage", self.partition).where(where, ["id", "last_used_at"]).to_pylist()
        return {row["id"]: row["last_used_at"] for row in rows}

    def rows(self, namespace: Namespace, ids: Iterable[str]) -> dict[str, Row]:
        """Memory → its whole row."""
        pks = [memory_pk(namespace, memory_id) for memory_id in ids]
        return {row["id"]: row for row in self._table("memories", self.partition).lookup("pk", pks)}

    def last_eviction(self, namespace: Namespace) -> str | None:
        """The event id of the last eviction that was carried out."""
        found = self._table("memories", self.partition).lookup("pk", [evictions_pk(namespace)])
        return last_eviction(found[0] if found else None)


def _ours(namespace: str) -> str:
    return f"namespace = {literal(namespace)} AND NOT deleted"
