"""Records between a log and a file: as they are, byte for byte, each topic in the order of time."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import merge
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mnemolog.schemas.codec import encode_key
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.records import Headers, Record, StoredRecord
from mnemolog.schemas.topics import TOPIC_NAMES, TOPICS
from mnemolog.storage.stores import make_durable
from mnemolog.transfer.parquet import read_parquet, write_parquet

if TYPE_CHECKING:
    from mnemolog.producers.deliveries import BulkLog
    from mnemolog.schemas.ports import Log

PARQUET = ".parquet"
_BATCH = 2_000

OnProgress = Callable[[int, int | None], None]
"""Is told (records done, records there are if that is known)."""


def export_log(
    log: Log,
    file: Path,
    namespaces: Collection[Namespace] | None = None,
    on_progress: OnProgress | None = None,
) -> int:
    """Write all records of `log`, or of some namespaces, as they are now; how many there were.

    A name that ends in .parquet makes a Parquet file, any other JSON lines. The file is there once it is
    whole.

    Raises:
        InvalidInputError: the file can't be written.
        LogError: the log can't be read.
    """
    partial = file.with_name(f"{file.name}.partial")
    records = _counted(read_log(log, namespaces), on_progress)
    try:
        if file.suffix == PARQUET:
            count = write_parquet(records, partial)
        else:
            with partial.open("wb") as opened:
                count = write_lines(records, opened)
        make_durable(partial)
        partial.replace(file)
        make_durable(file.parent)
    except OSError as error:
        raise InvalidInputError(
            f"{file} can't be written: {error.strerror or error}", field="file"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return count


def import_log(
    log: BulkLog, file: Path, on_progress: OnProgress | None = None, without: Collection[str] = ()
) -> int:
    """Append all records of a file that `export_log` wrote; how many there were.

    The whole file is checked before anything is appended. Records of a namespace keep their order, and all
    keep their bytes, headers and times; positions are new. What was imported before changes no view when it
    comes again; only of context and settings the last word holds, so old ones hold again over newer ones.
    Records of the topics `without` are left out.

    Raises:
        InvalidInputError: the file can't be read, or a record in it makes no sense; nothing was appended.
        LogError: the log took no more; the records before are in it. Import the file again.
    """
    total = sum(record.topic not in without for record in read_file(file))
    count = 0
    for delivery in log.append_each(one for one in read_file(file) if one.topic not in without):
        if delivery.error is not None:
            raise delivery.error
        count += 1
        if on_progress is not None and (count % _BATCH == 0 or count == total):
            on_progress(count, total)
    return count


def read_log(log: Log, namespaces: Collection[Namespace] | None = None) -> Iterator[Record]:
    """The records of a log up to where it ends now, topic by topic, its partitions merged by time.

    So a moment in the log is a moment in another log that takes them, whatever the number of its partitions.
    """
    keys = None if namespaces is None else {encode_key(namespace) for namespace in namespaces}
    for topic, partitions in {spec.name: log.end_offsets(spec.name) for spec in TOPICS}.items():
        parts = [_read_partition(log, topic, partition, end) for partition, end in sorted(partitions.items())]
        for one in merge(*parts, key=attrgetter("timestamp")):
            if _is_of(one.key, keys):
                yield Record(topic, one.key or b"", one.value, one.headers, one.timestamp)


def _read_partition(log: Log, topic: str, partition: int, end: int) -> Iterator[StoredRecord]:
    offset = 0
    while offset < end and (some := log.read(topic, partition, offset, min(_BATCH, end - offset))):
        yield from (one for one in some if one.position.offset < end)
        offset = some[-1].position.offset + 1


def _is_of(key: bytes | None, keys: Collection[bytes] | None) -> bool:
    return keys is None or (key or b"").partition(b"|")[0] in keys


def _counted(records: Iterable[Record], on_progress: OnProgress | None) -> Iterator[Record]:
    for count, record in enumerate(records, 1):
        if on_progress is not None and count % _BATCH == 0:
            on_progress(count, None)
        yield record


def read_file(file: Path) -> Iterator[Record]:
    """The records of an exported file.

    Raises:
        InvalidInputError: it can't be read, or a record in it makes no sense.
    """
    if file.suffix == PARQUET:
        for number, record in enumerate(read_parquet(file), 1):
            yield _checked(record, f"record {number}")
        return
    try:
        with file.open("rb") as opened:
            for number, line in enumerate(opened, 1):
                if line.strip():
                    yield _checked(_parse(line, number), f"line {number}")
    except OSError as error:
        raise InvalidInputError(f"{file} can't be read: {error.strerror or error}", field="file") from error


def write_lines(records: Iterable[Record], file: IO[bytes]) -> int:
    """Write records as JSON lines; how many."""
    count = 0
    for record in records:
        document = {
            "topic": record.topic,
            "timestamp": record.timestamp,
            "key": _text(record.key),
            "value": _text(record.value),
            "headers": [[name, _text(value)] for name, value in record.headers],
        }
        file.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        count += 1
    return count


def _text(data: bytes | None) -> Any:
    """UTF-8 as a string, other bytes as {"base64": …}."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _bytes(value: Any) -> bytes | None:
    match value:
        case None:
            return None
        case str():
            return value.encode()
        case {"base64": str(text)}:
            return base64.b64decode(text, validate=True)
    raise TypeError(f"a text or base64 is needed, not {value!r:.80}")


def _parse(line: bytes, number: int) -> Record:
    try:
        document = json.loads(line)
        headers: Headers = tuple((str(name), _bytes(value) or b"") for name, value in document["headers"])
        key, value = _bytes(document["key"]), _bytes(document["value"])
        return Record(document["topic"], key, value, headers, document["timestamp"])  # type: ignore[arg-type]
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error) as error:
        raise InvalidInputError(
            f"line {number} is no record of an export: {type(error).__name__}: {error}", field="file"
        ) from error


def _checked(record: Record, place: str) -> Record:
    stamp = record.timestamp
    if record.topic not in TOPIC_NAMES:
        problem = f"an unknown topic {record.topic!r:.80}"
    elif not isinstance(record.key, bytes):
        problem = "no key"
    elif isinstance(stamp, bool) or not isinstance(stamp, int) or stamp < 0:
        problem = f"timestamp {stamp!r:.80}, not milliseconds since 1970"
    else:
        return record
    raise InvalidInputError(f"{place}: {problem}", field="file")
