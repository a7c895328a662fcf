"""Freed memory goes back: measured on a process that takes and frees a lot of it."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CHURN = """
import ctypes, sys, threading
from pathlib import Path
from mnemolog.allocator import give_back, hold_little

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def churn(size, count):
    blocks = [libc.malloc(size) for _ in range(count)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    last = libc.malloc(64)  # stands above the blocks, so that the heap can't shrink from its end
    for block in blocks:
        libc.free(block)

if "hold" in sys.argv:
    hold_little()
for size in (100_000, 1_000_000, 8_000_000):
    churn(size, 4)
before = held()
thread = threading.Thread(target=churn, args=(600_000, 100))
thread.start()
thread.join()
if "give" in sys.argv:
    give_back()
print(held() - before)
"""
TAKEN = 600_000 * 100

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators need no word")


def kept(word: str) -> int:
    """Bytes that a process still holds after it freed `TAKEN`."""
    command = [sys.executable, "-c", CHURN, word]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_glibc_keeps_what_a_thread_freed_unless_it_is_told() -> None:
    assert kept("no") > TAKEN / 2


@pytest.mark.parametrize("word", ["hold", "give"])
def test_freed_memory_goes_back(word: str) -> None:
    assert kept(word) < TAKEN / 10
