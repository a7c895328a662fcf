"""What to say where an optional package is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mnemolog.schemas.errors import MissingExtraError


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Around imports that `what` needs the extra for.

    Raises:
        MissingExtraError: they are not there.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(f'{what} needs more packages: pip install "mnemolog[{extra}]"') from error
