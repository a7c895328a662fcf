"""What became of records that could not be read or applied."""

from __future__ import annotations

from typing import Literal

from mnemolog.schemas.envelope import Envelope


class RecordDeadLettered(Envelope):
    """A record could not be read or applied. It names where the record stands and keeps its bytes."""

    type: Literal["RecordDeadLettered"] = "RecordDeadLettered"
    topic: str
    partition: int
    offset: int
    reason: str
    key: str | None = None
    value: str | None = None


class DeadLetterResolved(Envelope):
    """A dead letter was appended again (`retried`) or given up (`dropped`)."""

    type: Literal["DeadLetterResolved"] = "DeadLetterResolved"
    topic: str
    partition: int
    offset: int
    action: Literal["retried", "dropped"]
