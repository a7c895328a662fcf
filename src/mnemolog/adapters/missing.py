"""What to say where an optional package is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mnemolog.schemas.errors import MissingExtraError

__all__ = ["MissingExtraError", "missing", "needs"]


def missing(what: str, extra: str) -> MissingExtraError:
    """The error that says that `what` needs the extra."""
    return MissingExtraError(f'{what} needs more packages: pip install "mnemolog[{extra}]"')


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Around imports that `what` needs the extra for.

    Raises:
        MissingExtraError: they are not there.
    """
    try:
        yield
    except ImportError as error:
        raise missing(what, extra) from error
