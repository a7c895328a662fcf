"""From what is typed to what the library takes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mnemolog.schemas.errors import InvalidInputError


def read_text(text: str) -> str:
    """`text`, or all of stdin where it is "-", without the last line's end."""
    if text != "-":
        return text
    try:
        return sys.stdin.read().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"stdin is not {error.encoding}: {error.reason}", field="text") from None


def parse_redaction(typed: Sequence[str]) -> str | dict[str, str] | None:
    """What `--redact` names, as the library takes it: "secrets", or patterns by kind.

    Raises:
        InvalidInputError: it is neither, or both.
    """
    if not typed:
        return None
    if list(typed) == ["secrets"]:
        return "secrets"
    patterns = dict[str, str]()
    for one in typed:
        kind, equals, pattern = one.partition("=")
        if not equals or kind in patterns:
            message = f"--redact is secrets alone, or KIND=REGEX with a kind each, not {one[:40]!r}"
            raise InvalidInputError(message, field="redact")
        patterns[kind] = pattern
    return patterns


def parse_object(option: str, text: str | None) -> dict[str, Any] | None:
    """The JSON object that an option holds.

    Raises:
        InvalidInputError: it is no JSON, or no object.
    """
    if text is None:
        return None
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f'{option} is not JSON ({error}); like \'{{"kind": "note"}}\'') from None
    if not isinstance(document, dict):
        raise InvalidInputError(f"{option} is a JSON object, not {text[:40]!r}")
    return document


def parse_value(name: str, text: str) -> Any:
    """The JSON value of any kind that `text` holds.

    Raises:
        InvalidInputError: it is no JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{name} is not JSON ({error}); --string takes it as it is", field="value"
        ) from None


def parse_time(option: str, text: str | None) -> datetime | None:
    """The moment that an option holds, in ISO form; without an offset it is UTC."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(f"{option} is a time like 2026-01-31T09:30:00Z, not {text!r}") from None


def parse_weights(given: Sequence[str]) -> dict[str, float] | None:
    """The weights of `NAME=NUMBER` options."""
    try:
        return {name: float(number) for name, number in (one.split("=", 1) for one in given)} or None
    except ValueError:
        raise InvalidInputError(f"--weight is NAME=NUMBER, not {' '.join(given)}", field="weights") from None
