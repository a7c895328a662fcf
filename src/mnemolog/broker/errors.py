"""The one error of this package."""

from __future__ import annotations

from mnemolog.schemas.errors import MnemologError


class BrokerError(MnemologError):
    """The local broker could not be had, started or stopped. The message says what to do."""
