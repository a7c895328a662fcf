"""Records in a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.records import Record

_ROWS = 10_000


def write_parquet(records: Iterable[Record], file: Path) -> int:
    """Write records, a group of rows at a time; how many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    header = pa.struct([("name", pa.string()), ("value", pa.binary())])
    schema = pa.schema(
        [
            ("topic", pa.string()),
            ("timestamp", pa.int64()),
            ("key", pa.binary()),
            ("value", pa.binary()),
            ("headers", pa.list_(header)),
        ]
    )
    count, rest = 0, iter(records)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while some := list(islice(rest, _ROWS)):
            columns = {
                "topic": [one.topic for one in some],
                "timestamp": [one.timestamp for one in some],
                "key": [one.key for one in some],
                "value": [one.value for one in some],
                "headers": [[{"name": name, "value": value} for name, value in one.headers] for one in some],
            }
            writer.write_table(pa.table(columns, schema=schema))
            count += len(some)
    return count


def read_parquet(file: Path) -> Iterator[Record]:
    """The records of a file that `write_parquet` wrote.

    Raises:
        InvalidInputError: it is no such file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(_ROWS):
                for row in batch.to_pylist():
                    headers = tuple((one["name"], one["value"]) for one in row["headers"])
                    yield Record(row["topic"], row["key"], row["value"], headers, row["timestamp"])
    except (OSError, pa.ArrowException, KeyError, TypeError) as error:
        raise InvalidInputError(f"{file} can't be read: {error}", field="file") from error
