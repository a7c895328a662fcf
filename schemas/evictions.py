"""What the memories view knows of a namespace's evictions: one row, a tombstone like any other."""

from __future__ import annotations

import json

from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import Row


def evictions_pk(namespace: Namespace) -> str:
    """The primary key of the row that knows a namespace's last eviction, and how many there were."""
    return f"@evictions|{encode_namespace(namespace)}"


def last_eviction(row: Row | None) -> str | None:
    """The id of the last eviction that was carried out, of a namespace's row of evictions."""
    return None if row is None else str(row["history"][-1]["event_id"])


def eviction_counts(row: Row | None) -> dict[str, int]:
    """Rule → how many memories it let go, of a namespace's row of evictions."""
    return {} if row is None else dict(json.loads(row["history"][-1]["reason"]))
