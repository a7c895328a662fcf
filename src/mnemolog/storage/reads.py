"""Reading a LanceDB table while its writer goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from mnemolog.schemas.errors import ViewError

Result = TypeVar("Result")

_ATTEMPTS = 5


def read(attempt: Callable[[], Result]) -> Result:
    """What `attempt` gives. Where upkeep dropped the version under it, the newest answers."""
    for number in range(_ATTEMPTS):
        try:
            return attempt()
        except (OSError, RuntimeError, ValueError) as error:
            if number == _ATTEMPTS - 1 or "not found" not in str(error).lower():
                raise ViewError(f"the view could not be read: {error}") from error
    raise AssertionError


def stream(query: Any) -> Iterator[pa.RecordBatch]:
    """The result of a query in batches of a thousand rows or so."""
    try:
        yield from query.to_batches()
    except (OSError, RuntimeError, ValueError) as error:
        raise ViewError(f"the view could not be read: {error}") from error
