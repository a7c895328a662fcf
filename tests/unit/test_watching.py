"""Waiting for the views: right, in time, and no dearer for many than for one."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from mnemolog.schemas.positions import Position
from mnemolog.watching import POLL_SECONDS, Watch


class Views:
    """A view that moves when it is told to."""

    def __init__(self) -> None:
        self.offsets = {("a", 0): 0, ("a", 1): 0}
        self.looks = 0
        self._lock = threading.Lock()

    def applied(self, topic: str, partition: int) -> int:
        with self._lock:
            self.looks += 1
        return self.offsets[topic, partition]


def test_each_waits_for_its_own_position() -> None:
    views = Views()
    watch = Watch(views.applied)
    with ThreadPoolExecutor(3) as threads:
        early, late, other = (
            threads.submit(watch.wait, Position("a", *at), 10) for at in ((0, 0), (0, 5), (1, 0))
        )
        views.offsets["a", 0] = 1
        assert early.result()
        assert not late.done()
        views.offsets["a", 0] = 6
        assert late.result()
        assert not other.done()
        views.offsets["a", 1] = 1
        assert other.result()


def test_what_does_not_come_is_said_when_the_time_is_over() -> None:
    watch, started = Watch(Views().applied), time.monotonic()
    assert not watch.wait(Position("a", 0, 0), 0.05)
    assert time.monotonic() - started >= 0.05
    assert not watch.wait(Position("a", 0, 0), 0)


def test_many_that_wait_look_no_more_often_than_one() -> None:
    views = Views()
    watch, seconds = Watch(views.applied), 0.3
    with ThreadPoolExecutor(20) as threads:
        found = list(threads.map(lambda _: watch.wait(Position("a", 0, 0), seconds), range(20)))
    assert found == [False] * 20
    assert views.looks <= 2 * seconds / POLL_SECONDS


def test_who_waits_no_longer_is_answered_from_a_look_of_now() -> None:
    views = Views()
    watch = Watch(views.applied)
    assert not watch.wait(Position("a", 0, 0), 0)
    views.offsets["a", 0] = 1
    assert watch.wait(Position("a", 0, 0), 0)


def test_a_slow_look_of_another_holds_nobody_beyond_its_time() -> None:
    def slow(_topic: str, _partition: int) -> int:
        time.sleep(0.5)
        return 0

    watch = Watch(slow)
    with ThreadPoolExecutor(6) as threads:
        started = time.monotonic()
        assert not any(threads.map(lambda _: watch.wait(Position("a", 0, 0), 0.1), range(6)))
    assert time.monotonic() - started < 2
