"""Ids: fresh ones sort by time, derived ones are the same for the same content."""

from __future__ import annotations

import uuid_utils

from mnemolog.schemas.ids import derived_id

__all__ = ["derived_id", "new_id"]


def new_id() -> str:
    """A fresh UUIDv7: unique, and in the order of time."""
    return str(uuid_utils.uuid7())
