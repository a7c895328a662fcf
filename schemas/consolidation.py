"""What the memories view knows of a namespace's continuous consolidation: one row, like a tombstone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from mnemolog.schemas.namespaces import Namespace, encode_namespace
from mnemolog.schemas.rows import Row

PREFIX = "@consolidation|"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far continuous consolidation of a namespace has come.

    All before offset `through` was read. `runs` counts its steps, `read` the memories, `facts` what was
    found, `failed` the memories that came to nothing. `event_id` is the last step, `ran_at` when that was.
    """

    through: int = 0
    runs: int = 0
    read: int = 0
    facts: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    extractor: str | None = None
    event_id: str | None = None
    ran_at: datetime | None = None


def consolidation_pk(namespace: Namespace) -> str:
    """The primary key of the row that knows a namespace's last step."""
    return f"{PREFIX}{encode_namespace(namespace)}"


def progress_of(row: Row | None) -> Progress:
    """The progress that a namespace's row of consolidation tells."""
    if row is None:
        return Progress()
    last = row["history"][-1]
    told = json.loads(last["reason"])
    return Progress(**told, event_id=last["event_id"], ran_at=last["occurred_at"].astimezone(UTC))


def dump_progress(progress: Progress) -> str:
    """The progress as the row keeps it; which event that was, and when, stands beside it."""
    told = asdict(progress)
    del told["event_id"], told["ran_at"]
    return json.dumps(told, sort_keys=True)
