"""Namespaces as they were at a moment: resolved to offsets, built once, and kept for the next question."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from mnemolog.processors.past import PAST_TOPICS, Stretch, build_past
from mnemolog.query.queries import Queries
from mnemolog.query.reader import ViewReader
from mnemolog.schemas.checks import check_moment
from mnemolog.schemas.codec import encode_key
from mnemolog.schemas.config_events import EVERYWHERE
from mnemolog.schemas.errors import InvalidInputError, ViewError, ViewMissingError
from mnemolog.schemas.moments import AsOf, Moment, check_as_of
from mnemolog.schemas.namespaces import Namespace
from mnemolog.schemas.positions import Position
from mnemolog.schemas.topics import FEEDBACK, MEMORIES, partition_of
from mnemolog.storage.layout import Views
from mnemolog.storage.table import LanceTable

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Clock, Embedder, Log

KEPT = 4
"""How many moments stay built; the one asked for longest ago goes first."""

_CACHE_BYTES = 64 * 1024 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Past:
    """What to ask about a moment. The views behind `queries` are there as long as this is."""

    as_of: AsOf
    queries: Queries
    _built: object = field(repr=False)


class _Built:
    """Views in a temporary folder, which goes when nobody needs them any more, or the program ends."""

    def __init__(self, fill: Callable[[Views], None]) -> None:
        try:
            folder = tempfile.mkdtemp(prefix="mnemolog-past-")
        except OSError as error:
            raise ViewError(f"there is no room for views of the past: {error}") from error
        self.remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        try:
            views = Views(Path(folder))
            fill(views)
        except BaseException:
            self.remove()
            raise
        self.reader = ViewReader(views, _CACHE_BYTES, always_cached=True)


@dataclass(slots=True)
class _Slot:
    """Where the views of one moment are built, by the first thread that asks for them."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    built: _Built | None = None


@dataclass(frozen=True, slots=True)
class _Until:
    """A moment in offsets: where each partition that matters ends, and whether that is where it ends now."""

    time: datetime
    stretches: tuple[Stretch, ...]
    is_now: bool

    @property
    def position(self) -> Position | None:
        """The last position in the memories' partition of the namespace."""
        topic, partition, end = self.stretches[0]
        return Position(topic, partition, end - 1) if end else None


class PastViews:
    """Answers for any moment of `log`, beside the `live` views. Threads may share it.

    A moment costs one pass over the namespace's partition, and a fold of the namespace's own events. The last
    few stay built, in temporary folders.
    """

    def __init__(self, log: Log, live: ViewReader, embedder: Embedder | None, clock: Clock) -> None:
        self._log = log
        self._live = live
        self._embedder = embedder
        self._clock = clock
        self._lock = threading.Lock()
        self._slots: OrderedDict[tuple[Namespace, tuple[Stretch, ...]], _Slot] = OrderedDict()

    def at(self, queries: Queries, namespace: Namespace, moment: Moment, field_name: str = "as_of") -> Past:
        """What `queries`, of that namespace, are to be asked of instead to learn what was known at `moment`.

        A moment after the end of the log is now. Where the live views serve, they may not have applied all
        of it yet: wait for the position.

        Raises:
            InvalidInputError: no moment, one before what is left of the log, or a position of another
                partition.
        """
        until = self._resolve(namespace, check_as_of(field_name, moment), field_name)
        asked = AsOf(until.time, until.position, "live" if until.is_now else "replay")
        built = None if until.is_now else self._built(namespace, until.stretches)
        reader = self._live if built is None else built.reader
        return Past(asked, queries.on(reader, lambda: until.time), built)

    def close(self) -> None:
        """Remove all that was built."""
        with self._lock:
            slots = list(self._slots.values())
            self._slots.clear()
        for slot in slots:
            if slot.built is not None:
                slot.built.remove()

    def _resolve(self, namespace: Namespace, moment: datetime | Position, field_name: str) -> _Until:
        partition = partition_of(encode_key(namespace), self._log.partitions(MEMORIES))
        now, last = self._now(), {topic: self._log.end_offsets(topic)[partition] for topic in PAST_TOPICS}
        exact = self._checked(moment, partition, field_name) if isinstance(moment, Position) else None
        time = min(moment, now) if not isinstance(moment, Position) else self._time_at(moment, now)
        if exact is None and time < now:
            self._check_begun(partition, time, field_name)
        ends = last if time >= now else {topic: self._end(topic, partition, time) for topic in PAST_TOPICS}
        if exact is not None:
            ends = {**ends, exact.topic: min(exact.offset + 1, last[exact.topic])}
        stretches = [Stretch(topic, partition, ends[topic]) for topic in PAST_TOPICS]
        return _Until(time, (*stretches, *self._model(partition, time)), ends == last)

    def _time_at(self, position: Position, now: datetime) -> datetime:
        found = self._log.read(*position, 1)
        return _time_of(found[0].timestamp) if found else now

    def _model(self, partition: int, time: datetime) -> list[Stretch]:
        """Where the model that was learned for all namespaces stands, if not in the same partition."""
        everywhere = partition_of(encode_key(EVERYWHERE), self._log.partitions(FEEDBACK))
        if everywhere == partition:
            return []
        return [Stretch(FEEDBACK, everywhere, self._end(FEEDBACK, everywhere, time))]

    def _end(self, topic: str, partition: int, time: datetime) -> int:
        """The first offset after `time`; the log's clock ticks in milliseconds."""
        return self._log.offset_at(topic, partition, (time - _EPOCH) // _MILLISECOND + 1)

    def _now(self) -> datetime:
        return check_moment("clock", self._clock())

    @staticmethod
    def _checked(position: Position, partition: int, field_name: str) -> Position:
        if position.topic not in PAST_TOPICS:
            message = f"{field_name}: {position.topic} keeps no past; there are {', '.join(PAST_TOPICS)}"
            raise InvalidInputError(message, field=field_name)
        if position.partition != partition:
            message = f"{field_name}: {position} is not in the namespace's partition, {partition}"
            raise InvalidInputError(message, field=field_name)
        return position

    def _check_begun(self, partition: int, time: datetime, field_name: str) -> None:
        """Before a whole log nothing was known; where its beginning is gone, nobody can say."""
        first = self._log.read(MEMORIES, partition, 0, 1)
        if not first or first[0].position.offset == 0:
            return
        begins = _time_of(first[0].timestamp)
        if begins > time + _MILLISECOND:
            kept = begins.isoformat(timespec="milliseconds")
            message = (
                f"{field_name}: {time.isoformat()} is before what the log still has, which begins at {kept}"
            )
            raise InvalidInputError(message, field=field_name)

    def _built(self, namespace: Namespace, stretches: tuple[Stretch, ...]) -> _Built:
        place = namespace, stretches
        with self._lock:
            slot = self._slots.setdefault(place, _Slot())
            self._slots.move_to_end(place)
            while len(self._slots) > KEPT:
                self._slots.popitem(last=False)
        with slot.lock:
            if slot.built is None:
                slot.built = self._build(namespace, stretches)
            return slot.built

    def _build(self, namespace: Namespace, stretches: tuple[Stretch, ...]) -> _Built:
        keys = {encode_key(namespace), encode_key(EVERYWHERE)}
        old = self._live_memories(namespace)

        def fill(views: Views) -> None:
            build_past(self._log, views, stretches, keys, self._embedder, old)

        built = _Built(fill)
        built.reader.configs = (
            self._live.configs
        )  # one asks in today's way: the past of settings is compacted
        return built

    def _live_memories(self, namespace: Namespace) -> LanceTable | None:
        """The table whose vectors may serve again."""
        try:
            if self._embedder is None or self._live.manifest().embedder != self._embedder.name:
                return None
            return self._live.shard_table("memories", namespace)[1]
        except ViewMissingError:
            return None


def _time_of(stamp: int) -> datetime:
    return _EPOCH + stamp * _MILLISECOND
