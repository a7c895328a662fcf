"""Reading a LanceDB table while its writer goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa

from mnemolog.schemas.errors import ViewError

Result = TypeVar("Result")

_ATTEMPTS = 5
_FAILURES = (OSError, RuntimeError, ValueError)


def read(attempt: Callable[[], Result]) -> Result:
    """What `attempt` gives. Where upkeep dropped the version under it, the newest answers."""
    for number in range(_ATTEMPTS):
        try:
            return attempt()
        except _FAILURES as error:
            if number == _ATTEMPTS - 1 or "not found" not in str(error).lower():
                raise ViewError(f"the view could not be read: {error}") from error
    raise AssertionError


@contextmanager
def reading() -> Iterator[None]:
    """Tells what a table raises while it is read as a ViewError."""
    try:
        yield
    except _FAILURES as error:
        raise ViewError(f"the view could not be read: {error}") from error


def stream(query: Any) -> Iterator[pa.RecordBatch]:
    """The result of a query in batches of a thousand rows or so."""
    with reading():
        yield from query.to_batches()
