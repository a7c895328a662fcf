"""Redaction: what must not enter the log is taken out before an event is appended. Off by default."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, ValidationError

from mnemolog.schemas.deadletter_events import RecordDeadLettered
from mnemolog.schemas.envelope import Envelope, EventT, invalid_input
from mnemolog.schemas.errors import InvalidInputError

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

Pattern: TypeAlias = str | re.Pattern[str]
RedactSpec: TypeAlias = str | Callable[[str], str] | Mapping[str, Pattern] | Iterable[Pattern] | None
"""What to take out: "secrets" (keys, tokens and the like that a detector knows), patterns (by kind, or in a
list), or a function that gives a text without them. None takes out nothing."""

CONTENT = frozenset(
    {"text", "metadata", "detail", "changes", "value", "query", "facts", "reason", "tags", "author", "source"}
)
"""The fields of events that hold what people and programs say; the others name things."""

NAMES = frozenset({"id", "memory_id", "form", "sources", "source_episode", "rank"})
"""What names things within these."""

_Find: TypeAlias = Callable[[str], Iterator[tuple[int, int, str]]]
_KIND = re.compile(r"[^0-9A-Za-z_.-]+")


class Redactor:
    """Takes out what a `RedactSpec` names, from every text in an event, and counts it. Threads may share it.

    A match becomes `[REDACTED:kind]`. Keys of dicts, ids, keys and namespaces stay as they are: they name
    things, and are compared.

    Raises:
        InvalidInputError: a spec that makes no sense, or a detector that is not installed.
    """

    def __init__(self, spec: RedactSpec) -> None:
        self._replace = _replacer(spec)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[str, int]:
        """Kind → how often it was taken out so far."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def event(self, event: EventT) -> EventT:
        """`event` without what must not be in it; the same one where nothing was.

        Raises:
            InvalidInputError: the function that redacts failed, or what it gave can't be stored.
        """
        if isinstance(event, RecordDeadLettered):  # bytes that could not be read
            return event
        found: Counter[str] = Counter()
        changed = {}
        for name in CONTENT & type(event).model_fields.keys():
            value = getattr(event, name)
            if (redacted := self._walk(value, found)) is not value:
                changed[name] = redacted
        if not changed:
            return event
        with self._lock:
            self._counts.update(found)
        return _rebuilt(event, changed)

    def _walk(self, value: Any, found: Counter[str]) -> Any:
        """`value` with its texts redacted; the same object where nothing was."""
        match value:
            case str():
                return self._text(value, found)
            case BaseModel():
                said = {name: one for name, one in dict(value).items() if name not in NAMES}
                redacted = self._walk(said, found)
                return value if redacted is said else value.model_dump() | redacted
            case dict():
                walked = {key: self._walk(item, found) for key, item in value.items()}
                return walked if any(walked[key] is not value[key] for key in value) else value
            case list() | tuple():
                items = [self._walk(item, found) for item in value]
                same = all(new is old for new, old in zip(items, value, strict=True))
                return value if same else type(value)(items)
        return value

    def _text(self, text: str, found: Counter[str]) -> str:
        try:
            redacted, kinds = self._replace(text)
        except Exception as error:
            message = f"redact failed, nothing was appended: {error!r:.200}"
            raise InvalidInputError(message, field="redact") from error
        if not isinstance(redacted, str):
            raise InvalidInputError(f"redact gives a text, not {redacted!r:.80}", field="redact")
        if redacted == text:
            return text
        found.update(kinds)
        return redacted


def _rebuilt(event: EventT, changed: Mapping[str, Any]) -> EventT:
    try:
        return type(event).model_validate({**dict(event), **changed})
    except ValidationError as error:
        raise invalid_input(error) from error


def redacted(events: Iterable[EventT], redactor: Redactor | None) -> Iterator[EventT]:
    """The events, redacted one by one where there is a redactor. What is no event is left to others."""
    for event in events:
        yield redactor.event(event) if redactor is not None and isinstance(event, Envelope) else event


def make_redactor(spec: RedactSpec) -> Redactor | None:
    """The redactor of a spec; None takes out nothing."""
    return None if spec is None else Redactor(spec)


def _replacer(spec: RedactSpec) -> Callable[[str], tuple[str, Iterable[str]]]:
    if callable(spec):
        function = spec
        return lambda text: (function(text), ("custom",))
    find = _secrets() if spec == "secrets" else _patterns(spec)
    return lambda text: _cut(text, find(text))


def _cut(text: str, spans: Iterable[tuple[int, int, str]]) -> tuple[str, list[str]]:
    """`text` with each span replaced; spans that overlap become one, of the kind of the first."""
    parts, kinds, end = [], [], 0
    for start, stop, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if stop <= end:
            continue
        if start >= end:
            parts += [text[end:start], f"[REDACTED:{kind}]"]
            kinds.append(kind)
        end = stop
    return "".join([*parts, text[end:]]), kinds


def _patterns(spec: Any) -> _Find:
    if isinstance(spec, str | bytes) or not isinstance(spec, Iterable):
        message = f'redact is "secrets", a list of patterns, or a function, not {spec!r:.80}'
        raise InvalidInputError(message, field="redact")
    named = list(spec.items()) if isinstance(spec, Mapping) else [("pattern", one) for one in spec]
    if not named:
        raise InvalidInputError("redact: the list of patterns is empty", field="redact")
    compiled = [(_kind(kind), _compiled(pattern)) for kind, pattern in named]

    def find(text: str) -> Iterator[tuple[int, int, str]]:
        for kind, pattern in compiled:
            for match in pattern.finditer(text):
                if match.group():
                    yield match.start(), match.end(), kind

    return find


def _kind(name: object) -> str:
    if not isinstance(name, str) or not (kind := _KIND.sub("-", name)):
        raise InvalidInputError(f"redact: a kind is a short name, not {name!r:.80}", field="redact")
    return kind


def _compiled(pattern: object) -> re.Pattern[str]:
    try:
        if isinstance(pattern, str | re.Pattern) and pattern not in ("", b""):
            compiled = re.compile(pattern)
            if isinstance(compiled.pattern, str):
                return compiled
    except re.error as error:
        raise InvalidInputError(f"redact: {pattern!r:.80} is no pattern: {error}", field="redact") from error
    raise InvalidInputError(f"redact: {pattern!r:.80} is no pattern", field="redact")


def _secrets() -> _Find:
    try:
        from kingfisher_sdk import Scanner
    except ImportError:
        message = 'redact="secrets" needs: pip install "mnemolog[redact]"'
        raise InvalidInputError(message, field="redact") from None
    scanner: Scanner = Scanner()

    def find(text: str) -> Iterator[tuple[int, int, str]]:
        data = text.encode()
        for finding in scanner.scan(data):
            if finding.visible:
                start, end = finding.location["start_offset"], finding.location["end_offset"]
                before, secret = data[:start].decode(errors="ignore"), data[start:end].decode(errors="ignore")
                yield len(before), len(before) + len(secret), finding.rule_id.rpartition(".")[2]

    return find
