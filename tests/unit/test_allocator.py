"""Freed memory goes back: measured on a process that takes and frees a lot of it."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CHURN = """
import ctypes, sys, threading
from pathlib import Path
from mnemolog.allocator import give_back, hold_little, holding_little

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
def churn_aside():
    thread = threading.Thread(target=churn, args=(600_000, 100))
    thread.start()
    thread.join()

if "after" in sys.argv:
    with holding_little():
        churn_aside()
before = held()
if "within" in sys.argv:
    with holding_little():
        churn_aside()
else:
    churn_aside()
if "give" in sys.argv:
    give_back()
print(held() - before)
"""
ARROW = """
import sys, threading
from pathlib import Path
import pyarrow as pa
from mnemolog.allocator import hold_little

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def churn():
    columns = [pa.array(range(50_000)).cast(pa.string()) for _ in range(40)]

if "hold" in sys.argv:
    hold_little()
churn()
before = held()
threads = [threading.Thread(target=churn) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(held() - before)
"""
TAKEN = 600_000 * 100

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators need no word")


def kept(word: str, program: str = CHURN) -> int:
    """Bytes that a process still holds after it freed what it took, `TAKEN` for the first program."""
    command = [sys.executable, "-c", program, word]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("word", ["no", "after"])
def test_glibc_keeps_what_a_thread_freed_unless_it_is_told(word: str) -> None:
    assert kept(word) > TAKEN / 2


@pytest.mark.parametrize("word", ["hold", "give", "within"])
def test_freed_memory_goes_back(word: str) -> None:
    assert kept(word) < TAKEN / 10


def test_what_arrow_freed_in_many_threads_goes_back() -> None:
    assert kept("no", ARROW) > TAKEN
    assert kept("hold", ARROW) < TAKEN / 2
