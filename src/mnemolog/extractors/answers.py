"""Answers of language models, put right where they are not quite what was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mnemolog.schemas.errors import ExtractionError

MAX_ANSWER = 2_000_000
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_START = re.compile(r'\{\s*["“\']?(?:facts|summary)\b|\[\s*\{')
_END = re.compile(r"[}\]](?:[^{\[]*)$")


class CutAnswerError(ExtractionError):
    """An answer ends in the middle: what is there may be half a fact, and what is missing is not known."""


def repair(text: str) -> Any:
    """The JSON document in a model's answer: also if it stands in prose, or is not quite JSON.

    Raises:
        CutAnswerError: it has no end.
        ExtractionError: there is none, or the answer is endless.
    """
    if len(text) > MAX_ANSWER:
        raise ExtractionError(f"the answer has {len(text)} characters")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    found = _within(text)
    if found is not None:
        return found
    import json_repair

    if "{" in text and not _END.search(text):
        raise CutAnswerError(f"the answer ends in the middle: {text[-100:]!r}")
    for part in _candidates(text):
        try:
            document = json_repair.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict | list) and document:
            return document
    raise ExtractionError(f"no JSON in the answer {text!r:.200}")


def _within(text: str) -> Any:
    """The whole document that stands in prose; None if there is none."""
    start = _START.search(text)
    if start is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start.start())[0]
    except (ValueError, RecursionError):
        return None


def _candidates(text: str) -> Iterator[str]:
    """Where the document may begin: in a code fence, or at a brace that is followed by a key we ask for."""
    if fenced := re.search(r"```(?:json)?\s*(.*?)(?:```|$)", text, re.DOTALL):
        yield fenced[1]
    if start := _START.search(text):
        yield text[start.start() :]
    yield text


def clean(text: Any) -> Any:
    """`text` without control characters, with a replacement for each half of a surrogate pair."""
    if not isinstance(text, str):
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs in two escapes join
    return _CONTROL.sub(" ", whole).strip()
