"""Python's search for cycles, put off while a batch is worked on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Put the search off until the end of the block, in all threads.

    It looks through all objects again and again as they become more. A batch makes very many, and no cycles;
    to look for some takes a tenth of the time of a fold.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
