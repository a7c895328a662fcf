"""Lines of JSON into events: a line is a whole event, or the fields of a memory."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, TypeAlias

from pydantic_core import from_json

from mnemolog.producers.arguments import REMEMBER_FIELDS
from mnemolog.producers.commands import Commands
from mnemolog.producers.ids import derived_id
from mnemolog.producers.reports import LineError
from mnemolog.schemas.checks import check_path
from mnemolog.schemas.codec import decode_value
from mnemolog.schemas.errors import CodecError, InvalidInputError
from mnemolog.schemas.events import Event
from mnemolog.schemas.namespaces import Namespace, decode_namespace, make_namespace

MAX_LINE_BYTES = 1024 * 1024
FIELDS = (REMEMBER_FIELDS | {"text", "namespace"}) - {"dedupe", "ttl_seconds"}
"""What a line may hold. Time to live is given as `expires_at`, so that loading a file twice is the same."""

_BOM = b"\xef\xbb\xbf"

Source: TypeAlias = str | Path | IO[bytes] | IO[str]
Line: TypeAlias = tuple[int, bytes | None]
"""Its number from 1, and its bytes; None stands for a line that is too long."""


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """The bytes of `source`, a path or an open file; only what was opened here is closed here."""
    if not isinstance(source, str | Path) and hasattr(source, "readline"):
        yield _binary(source)
        return
    try:
        file = check_path("source", source).open("rb")
    except OSError as error:
        raise InvalidInputError(f"can't open {source}: {error.strerror}", field="path") from error
    with file:
        yield file


def _binary(file: IO[Any]) -> IO[bytes]:
    if not isinstance(file, io.TextIOBase):
        return file
    buffer: IO[bytes] | None = getattr(file, "buffer", None)
    return io.BytesIO(file.read().encode()) if buffer is None else buffer


def read_lines(file: IO[bytes]) -> Iterator[Line]:
    """The lines of `file` that are not blank, none longer than `MAX_LINE_BYTES` read into memory."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 2):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if len(line.rstrip(b"\r\n")) > MAX_LINE_BYTES:
            _skip_rest(file, line)
            yield number, None
        elif line.strip():
            yield number, line


def _skip_rest(file: IO[bytes], line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(MAX_LINE_BYTES)


class LineParser:
    """Turns the lines of one file into events.

    A memory without id and key gets an id of its content and of how many equal lines came before it, so that
    the same file loaded again makes the same memories. For that it keeps about 100 bytes for each such line.
    """

    def __init__(self, commands: Commands) -> None:
        self._commands = lru_cache(maxsize=4_096)(lambda namespace: replace(commands, namespace=namespace))
        self._default = commands.namespace
        self._seen: dict[int, int] = {}

    def parse(self, line: Line) -> Event | LineError:
        """The event of a line, or why it is none."""
        number, raw = line
        if raw is None:
            return LineError(number, None, f"the line is over {MAX_LINE_BYTES} bytes")
        try:
            document = _document(raw)
            return self._event(raw, document) if "type" in document else self._memory(document)
        except InvalidInputError as error:
            return LineError(number, error.field, str(error))
        except CodecError as error:
            return LineError(number, None, str(error))

    def _event(self, raw: bytes, document: Mapping[str, Any]) -> Event:
        if document.get("namespace") != []:  # settings for all namespaces have that
            _parts(document.get("namespace"))
        return decode_value(raw)

    def _memory(self, document: Mapping[str, Any]) -> Event:
        fields = {name: value for name, value in document.items() if value is not None}
        if unknown := fields.keys() - FIELDS:
            name = min(unknown)
            raise InvalidInputError(
                f"unknown field {name!r}; there are {', '.join(sorted(FIELDS))}", field=name
            )
        if "text" not in fields:
            raise InvalidInputError("text: it is missing", field="text")
        namespace = self._namespace(fields.pop("namespace", None))
        if "id" not in fields and "key" not in fields:
            fields["id"] = self._line_id(namespace, document)
        event = self._commands(namespace).remember(**fields)
        return event.model_copy(update={"touch": False}) if event.touch else event

    def _namespace(self, given: Any) -> Namespace:
        if given is None:
            return self._default
        return decode_namespace(given) if isinstance(given, str) else _parts(given)

    def _line_id(self, namespace: Namespace, document: Mapping[str, Any]) -> str:
        first = derived_id("line", namespace, document)
        place = int(first[:8] + first[-12:-4], 16)
        before = self._seen.get(place, 0)
        self._seen[place] = before + 1
        return first if not before else derived_id("line", first, before)


def _parts(given: Any) -> Namespace:
    if not isinstance(given, list) or not all(isinstance(part, str) for part in given):
        raise InvalidInputError("namespace: give a list of strings", field="namespace")
    return make_namespace(given)


def _document(raw: bytes) -> dict[str, Any]:
    try:
        document = from_json(raw, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        reason = str(error).replace(" at line 1 column ", " at column ")
        raise InvalidInputError(f"the line is not JSON: {reason}") from error
    if not isinstance(document, dict):
        raise InvalidInputError("the line is not a JSON object")
    return document
