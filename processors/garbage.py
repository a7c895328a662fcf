"""Python's search for cycles, put off while a batch is worked on."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_put_off = False


def _in_child() -> None:
    """A child that was forked from within the block never gets to its end."""
    global _put_off
    if _put_off:
        _put_off = False
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Put the search off until the end of the block, in all threads.

    It looks through all objects again and again as they become more. A batch makes very many, and no cycles;
    to look for some takes a tenth of the time of a fold.
    """
    if not gc.isenabled():
        yield
        return
    global _put_off
    _put_off = True
    gc.disable()
    try:
        yield
    finally:
        _put_off = False
        gc.enable()
