"""The allocators, told to give freed memory back. With another C library than glibc only Arrow's is.

Native code (LanceDB, onnxruntime) takes and frees buffers of megabytes in many threads. glibc keeps what is
freed, in up to eight arenas a core, for a program that might want as much again; Arrow's own allocator keeps
some for every thread, and takes it from glibc when told to.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_ARENAS = 2
_LARGE_BYTES = 128 * 1024
"""glibc's own first threshold: larger buffers are mapped one by one. It rises with use unless it is set."""


def hold_little() -> None:
    """Let the whole process hold on to little freed memory; for programs that are ours alone."""
    import pyarrow as pa  # not for who only embeds

    for option, value in (
        (_M_ARENA_MAX, _ARENAS),
        (_M_MMAP_THRESHOLD, _LARGE_BYTES),
        (_M_TRIM_THRESHOLD, _LARGE_BYTES),
    ):
        _call("mallopt", option, value)
    pa.set_memory_pool(pa.system_memory_pool())


def give_back() -> None:
    """Give back what is free now."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            getattr(ctypes.CDLL(None), name)(*arguments)
