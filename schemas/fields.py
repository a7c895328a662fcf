"""Field types of the events: what a value must be before it may enter the log."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, Strict, StringConstraints

from mnemolog.schemas.namespaces import make_namespace

MAX_TEXT_BYTES = 64 * 1024
MAX_METADATA_BYTES = 64 * 1024
MAX_METADATA_DEPTH = 8
MAX_TAGS = 64
_ZERO = timedelta(0)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def as_utc(value: datetime) -> datetime:
    """`value` in UTC; a naive datetime is taken as UTC."""
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() == _ZERO:
        return value.replace(tzinfo=UTC)
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is outside the years 1 to 9999 in UTC") from None


def _check_text(text: str) -> str:
    if not text.strip():
        raise ValueError("the text is empty or blank")
    if _utf8_size(text) > MAX_TEXT_BYTES:
        raise ValueError(
            f"the text is over {MAX_TEXT_BYTES} bytes of UTF-8; split it, or store a summary with a source"
        )
    return text


def _utf8_size(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair, which is not Unicode text") from None


def check_identifier(value: str) -> str:
    """`value`, if it names something: not blank, and without control characters.

    Raises:
        ValueError: it does not.
    """
    if value.isprintable() and not value.isspace():  # what nearly all are, told in one step
        return value
    _utf8_size(value)
    if _CONTROL.search(value):
        raise ValueError("control characters are not allowed here")
    if not value.strip():
        raise ValueError("it is blank")
    return value


def _check_finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("it must be a finite number")
    return value


def _check_metadata(metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if metadata and _json_size(metadata, 1) > MAX_METADATA_BYTES:
        raise ValueError(f"metadata is over {MAX_METADATA_BYTES} bytes")
    return metadata


def _json_size(value: JsonValue, depth: int) -> int:
    """About the bytes of `value`, which stands `depth` levels deep; numbers count 8."""
    if depth > MAX_METADATA_DEPTH:
        raise ValueError(f"metadata nests deeper than {MAX_METADATA_DEPTH}")
    if isinstance(value, str):
        return _utf8_size(value)
    if isinstance(value, dict):
        return 8 + sum(_utf8_size(key) + _json_size(child, depth + 1) for key, child in value.items())
    if isinstance(value, list):
        return 8 + sum(_json_size(child, depth + 1) for child in value)
    if isinstance(value, float):
        _check_finite(value)
    return 8


def _no_single_string(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError("give a list of strings, not one string")  # noqa: TRY004 pydantic wants ValueError
    return value


def _string_keys(value: Any, depth: int = 1) -> Any:
    """`value`; bytes as keys are refused, which pydantic would take for strings within JSON values."""
    if depth > MAX_METADATA_DEPTH:
        raise ValueError(f"metadata nests deeper than {MAX_METADATA_DEPTH}")
    if isinstance(value, dict):
        if odd := [key for key in value if not isinstance(key, str)]:
            raise ValueError(f"keys are strings, not {odd[0]!r:.80}")
        for child in value.values():
            if isinstance(child, dict | list):
                _string_keys(child, depth + 1)
    elif isinstance(value, list):
        for child in value:
            if isinstance(child, dict | list):
                _string_keys(child, depth + 1)
    return value


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    return values if len(set(values)) == len(values) else tuple(dict.fromkeys(values))


def a_number(value: Any) -> Any:
    """`value`, unless it only looks like a number.

    Raises:
        ValueError: it is a bool or a text.
    """
    if isinstance(value, bool | str | bytes):
        raise ValueError(f"give a number, not {value!r:.80}")  # noqa: TRY004 pydantic wants ValueError
    return value


Text = Annotated[str, Strict(), AfterValidator(_check_text)]
Identifier = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=256), AfterValidator(check_identifier)
]
Label = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=256), AfterValidator(check_identifier)
]
Entity = Annotated[
    str,
    StringConstraints(strict=True, strip_whitespace=True, min_length=1, max_length=1_000),
    AfterValidator(check_identifier),
]
Reason = Annotated[str, StringConstraints(strict=True, max_length=2_000)]
Timestamp = Annotated[datetime, AfterValidator(as_utc)]
Importance = Annotated[float, BeforeValidator(a_number), Field(ge=0, le=1, allow_inf_nan=False)]
Rating = Annotated[float, BeforeValidator(a_number), Field(ge=0, le=1, allow_inf_nan=False)]
Finite = Annotated[float, BeforeValidator(a_number), Field(allow_inf_nan=False)]
Flag = Annotated[bool, Strict()]
NamespaceField = Annotated[
    tuple[str, ...], BeforeValidator(_no_single_string), AfterValidator(make_namespace)
]
Tags = Annotated[
    tuple[Label, ...], BeforeValidator(_no_single_string), Field(max_length=MAX_TAGS), AfterValidator(_unique)
]
Ids = Annotated[
    tuple[Identifier, ...],
    BeforeValidator(_no_single_string),
    Field(min_length=1, max_length=1_000),
    AfterValidator(_unique),
]
Sources = Annotated[
    tuple[Identifier, ...],
    BeforeValidator(_no_single_string),
    Field(max_length=1_000),
    AfterValidator(_unique),
]
Metadata = Annotated[
    dict[str, JsonValue],
    BeforeValidator(lambda value: value and _string_keys(value)),
    AfterValidator(_check_metadata),
]
