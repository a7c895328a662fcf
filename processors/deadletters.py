"""Dead letters: records that could not be applied, kept with their place and the reason."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemolog.processors.materialize import OnRejected, Rejected
from mnemolog.schemas.codec import encode
from mnemolog.schemas.events import RecordDeadLettered

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock, Log

NAMESPACE = ("mnemolog", "deadletters")
_MAX_REASON = 2_000


def to_deadletter(rejected: Rejected, clock: Clock) -> RecordDeadLettered:
    """The event that keeps a rejected record. Its id names the place, so that a redelivery adds none."""
    record, at = rejected.record, rejected.record.position
    return RecordDeadLettered(
        event_id=f"deadletter:{at}",
        namespace=NAMESPACE,
        occurred_at=clock(),
        topic=at.topic,
        partition=at.partition,
        offset=at.offset,
        reason=rejected.reason[:_MAX_REASON],
        key=_text(record.key),
        value=_text(record.value),
    )


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def keep_in(log: Log, clock: Clock) -> OnRejected:
    """Keeps rejected records in the dead letter topic of `log`."""

    def keep(rejected: Sequence[Rejected]) -> None:
        log.append([record for bad in rejected for record in encode(to_deadletter(bad, clock))])

    return keep
