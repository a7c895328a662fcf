"""Calls that block, off the event loop, in threads that never keep the process from ending."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Call(threading.Thread):
    """One call; it is known by its class to `await_threads`."""


async def in_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """What `function(*arguments)` returns or raises, called in a thread of its own.

    An executor's threads are waited for when the process ends, however long they wait for a broker or a disk.
    These are not: what they leave half done is as after a crash.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(settler: Callable[[Any], None], outcome: object) -> None:
        if not future.done():
            settler(outcome)

    def run() -> None:
        try:
            result = function(*arguments)
        except BaseException as error:  # noqa: BLE001 it belongs to the caller
            call: tuple[Callable[[Any], None], object] = future.set_exception, error
        else:
            call = future.set_result, result
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, *call)

    _Call(target=run, name=getattr(function, "__name__", "call"), daemon=True).start()
    return await future


def await_threads(seconds: float) -> None:
    """Let the calls under way end, for so long: one that is in native code when Python ends aborts it."""
    deadline = time.monotonic() + seconds
    for thread in threading.enumerate():
        if isinstance(thread, _Call):
            thread.join(max(0.0, deadline - time.monotonic()))
