"""Vectors that come late: rows whose embedding failed are tried again, beside the stream of events."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol

from mnemolog.processors.embedding import Backoff
from mnemolog.processors.threads import in_thread

LOOK_SECONDS = 1.0
"""Between looks whether something waits."""

LONGEST_PAUSE_SECONDS = 10.0
"""An embedder that is down is noticed to be back within this time."""

logger = logging.getLogger(__name__)


class Fillable(Protocol):
    """What this asks of `materialize.ShardWriter`."""

    @property
    def lacks_vectors(self) -> bool:
        """Whether rows may be waiting."""

    def fill_pending(self) -> tuple[int, int]:
        """Embed some rows whose vectors are missing: (how many are done, how many failed)."""

    def tend(self, now: float) -> None:
        """Do a step of the upkeep that is due at `now`, in seconds of a clock."""


async def keep_tending(partition: int, shard: Fillable) -> None:
    """Do the upkeep of a shard that is due, a step a second, for ever, beside the stream of events."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await in_thread(shard.tend, time.monotonic())
        except Exception as error:  # noqa: BLE001 upkeep that has to wait is never a reason to stop
            logger.warning("partition %d: upkeep has to wait: %s", partition, error)


async def keep_filling(partition: int, shard: Fillable) -> None:
    """Fill in what a shard's rows lack, for ever: at once while it works, else with growing pauses."""
    backoff = Backoff(time.monotonic, LONGEST_PAUSE_SECONDS)
    while True:
        if not (shard.lacks_vectors and backoff.due):
            await asyncio.sleep(LOOK_SECONDS)
            continue
        done, failed = await _attempt(partition, shard)
        if failed and not done:
            backoff.failed()
        if done:
            backoff.succeeded()
            logger.info("partition %d: %d late vectors filled in", partition, done)


async def _attempt(partition: int, shard: Fillable) -> tuple[int, int]:
    try:
        return await in_thread(shard.fill_pending)
    except Exception as error:  # noqa: BLE001 late vectors are never a reason to stop
        logger.warning("partition %d: late vectors have to wait: %s", partition, error)
        return 0, 1
