"""Ids that follow from content."""

from __future__ import annotations

import hashlib
import json


def derived_id(purpose: str, *parts: object) -> str:
    """A UUIDv8 (RFC 9562, hash-based) of `purpose` and `parts`, which may be anything JSON can hold.

    Equal parts give equal ids on every machine; that makes a retry harmless without a lookup.
    """
    canonical = json.dumps([purpose, *parts], sort_keys=True, separators=(",", ":"))
    return hashed_id(canonical)


def hashed_id(text: str) -> str:
    """A UUIDv8 of a text."""
    digest = bytearray(hashlib.sha256(text.encode()).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
