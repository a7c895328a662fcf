"""Namespaces: tuples of parts, encoded so that no two of them can ever meet."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import quote, unquote

from mnemolog.schemas.errors import InvalidInputError

Namespace: TypeAlias = tuple[str, ...]

MAX_PARTS = 16
MAX_PART_CHARS = 256
SEPARATOR = "/"
"""Stands between encoded parts; inside a part it is percent-encoded."""


def make_namespace(value: str | Iterable[str]) -> Namespace:
    """The namespace of `value`: a tuple of parts, or one string that is a single part.

    `"acme/alice"` is one part that contains a slash, `("acme", "alice")` are two: they never meet.

    Raises:
        InvalidInputError: no part, too many, or a part that is empty, too long or has control characters.
    """
    try:
        return _checked((value,) if isinstance(value, str) else tuple(value))
    except TypeError:  # no parts to iterate over, or one that is a list
        raise InvalidInputError(
            f"a namespace is a tuple of strings, not {value!r}", field="namespace"
        ) from None


@lru_cache(maxsize=65_536)
def _checked(parts: Namespace) -> Namespace:
    if not 1 <= len(parts) <= MAX_PARTS:
        raise InvalidInputError(
            f"a namespace has 1 to {MAX_PARTS} parts, not {len(parts)}", field="namespace"
        )
    for part in parts:
        _check_part(part)
    return parts


def _check_part(part: object) -> None:
    if not isinstance(part, str):
        raise InvalidInputError(f"a namespace part is a string, not {part!r}", field="namespace")
    if not part.strip() or len(part) > MAX_PART_CHARS:
        raise InvalidInputError(
            f"a namespace part has 1 to {MAX_PART_CHARS} characters and is not blank: {part[:40]!r}",
            field="namespace",
        )
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in part):
        raise InvalidInputError(f"a namespace part has no control characters: {part!r}", field="namespace")


@lru_cache(maxsize=65_536)
def encode_namespace(namespace: Namespace) -> str:
    """The canonical text of a namespace: percent-encoded parts joined by `/`. One-to-one."""
    return SEPARATOR.join(quote(part, safe="") for part in namespace)


@lru_cache(maxsize=65_536)
def decode_namespace(text: str) -> Namespace:
    """The namespace whose canonical text is `text`; `acme/alice` on a command line means two parts.

    Raises:
        InvalidInputError: percent signs that stand for no UTF-8 text, or parts that can't be.
    """
    try:
        return make_namespace(unquote(part, errors="strict") for part in text.split(SEPARATOR))
    except UnicodeDecodeError:
        raise InvalidInputError(f"not percent-encoded UTF-8: {text[:80]!r}", field="namespace") from None
