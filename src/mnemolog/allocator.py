"""The allocators, told to give freed memory back. With another C library than glibc only Arrow's is.

Native code (LanceDB, onnxruntime) takes and frees buffers of megabytes in many threads. glibc keeps what is
freed, in up to eight arenas a core, for a program that might want as much again; Arrow's own allocator keeps
some for every thread, and takes it from glibc when told to.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_ARENAS = 2
_LARGE_BYTES = 128 * 1024
"""glibc's own first threshold: larger buffers are mapped one by one. It rises with use unless it is set."""

_LARGEST_BYTES = 32 * 2**20
"""What glibc's threshold rises to at most as large buffers are freed; a heap's end may be twice that."""

_lock = threading.Lock()
_settled = bool({"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"} & os.environ.keys())
_within = 0


def hold_little() -> None:
    """Let the whole process hold on to little freed memory; for programs that are ours alone."""
    global _settled
    _settled = True
    import pyarrow as pa  # not for who only embeds

    for option, value in (
        (_M_ARENA_MAX, _ARENAS),
        (_M_MMAP_THRESHOLD, _LARGE_BYTES),
        (_M_TRIM_THRESHOLD, _LARGE_BYTES),
    ):
        _call("mallopt", option, value)
    pa.set_memory_pool(pa.system_memory_pool())


@contextmanager
def holding_little() -> Iterator[None]:
    """Within it the process holds on to little freed memory, and then to as much as glibc itself ever does.

    For work that takes and frees much more than it keeps. What was settled for all of the process stays.
    """
    _enter(1)
    try:
        yield
    finally:
        _enter(-1)


def _enter(step: int) -> None:
    global _within
    with _lock:
        _within += step
        if _settled or _within != max(step, 0):
            return
        mapped, left = (_LARGE_BYTES, _LARGE_BYTES) if step > 0 else (_LARGEST_BYTES, 2 * _LARGEST_BYTES)
        _call("mallopt", _M_MMAP_THRESHOLD, mapped)
        _call("mallopt", _M_TRIM_THRESHOLD, left)


def give_back() -> None:
    """Give back what is free now."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            getattr(ctypes.CDLL(None), name)(*arguments)
