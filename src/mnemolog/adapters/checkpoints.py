"""How LangGraph's checkpoints stand in context entries.

In a thread `state/NS/ID` holds a checkpoint, and each `writes/NS/ID/CALL` what one call of a task wrote after
it, where NS and, in the second, ID are digests, as names may be long. Without a thread, `thread/…` names one.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import uuid_utils
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    PendingWrite,
)

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from mnemolog.adapters.large_values import LargeValues

_STATE, _WRITES, _THREAD = "state/", "writes/", "thread/"
Place = tuple[str, str, str]
"""A thread, a checkpoint namespace and a checkpoint's id."""


@dataclass(frozen=True)
class Saved:
    """A checkpoint as it is kept. `parent` is the id of the one it came from."""

    thread_id: str
    ns: str
    id: str
    parent: str | None
    checkpoint: Checkpoint
    metadata: CheckpointMetadata

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.thread_id, self.ns, self.id

    @property
    def unsettled(self) -> set[str]:
        """Its delta channels whose value an earlier checkpoint holds."""
        counted = self.metadata.get("counters_since_delta_snapshot") or {}
        return set(counted) - set(self.checkpoint["channel_values"])


class Checkpoints:
    """Checkpoints and the writes after them, over `values`, as `serde` writes them."""

    def __init__(self, values: LargeValues, serde: SerializerProtocol) -> None:
        self._values = values
        self._serde = serde

    def put(self, saved: Saved) -> None:
        """Keep a checkpoint."""
        value = {
            "ns": saved.ns,
            "id": saved.id,
            "parent": saved.parent,
            "checkpoint": self._dump(saved.checkpoint),
            "metadata": self._dump(saved.metadata),
        }
        self._values.set(saved.thread_id, _state_key(saved.ns, saved.id), value)
        self._name_thread(saved.thread_id)

    def find(self, thread_id: str, ns: str, id_: str | None) -> Saved | None:
        """A checkpoint, the one with the highest id if none is named."""
        if id_ is not None:
            value = self._values.get(thread_id, _state_key(ns, id_))
            return None if value is None else self._saved(thread_id, value)
        last = self._values.last(thread_id, _state_key(ns, ""))
        return None if last is None else self._saved(thread_id, last[1])

    def newest_first(self, thread_id: str | None, ns: str | None) -> Iterator[Saved]:
        """Checkpoints of one thread or all, of one namespace or all, by their ids, the highest first."""
        if thread_id is not None and ns is not None:
            for _, value in self._values.scan_back(thread_id, _state_key(ns, "")):
                yield self._saved(thread_id, value)
            return
        threads = self._threads() if thread_id is None else [thread_id]
        prefix = _STATE if ns is None else _state_key(ns, "")
        held = [(one, value) for one in threads for _, value in self._values.scan(one, prefix)]
        for one, value in sorted(held, key=lambda pair: str(pair[1]["id"]), reverse=True):
            yield self._saved(one, value)

    def put_writes(
        self, place: Place, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        """Keep what a task wrote, beside whatever it wrote before."""
        thread_id, ns, id_ = place
        value = {
            "task_id": task_id,
            "task_path": task_path,
            "writes": [
                [WRITES_IDX_MAP.get(channel, at), channel, self._dump(written)]
                for at, (channel, written) in enumerate(writes)
            ],
        }
        self._values.set(thread_id, f"{_writes_key(ns, id_)}{uuid_utils.uuid7()}", value)

    def writes(self, place: Place) -> list[PendingWrite]:
        """What tasks wrote after a checkpoint, in the order in which a graph applies it."""
        thread_id, ns, id_ = place
        kept: dict[tuple[str, int], tuple[str, str, list[str]]] = {}
        for _, call in self._values.scan(thread_id, _writes_key(ns, id_)):
            for at, channel, written in call["writes"]:
                where = (call["task_id"], at)
                if at < 0 or where not in kept:
                    kept[where] = (call["task_path"], channel, written)
        order = sorted(kept, key=lambda where: (kept[where][0], *where))  # `writes_sort_key` of LangGraph
        return [(where[0], kept[where][1], self._load(kept[where][2])) for where in order]

    def delete(self, unwanted: Iterable[Saved]) -> None:
        """Delete checkpoints and the writes after them."""
        keys: dict[str, list[str]] = {}
        for saved in unwanted:
            of_thread = keys.setdefault(saved.thread_id, [])
            of_thread.append(_state_key(saved.ns, saved.id))
            prefix = _writes_key(saved.ns, saved.id)
            of_thread += [key for key, _ in self._values.scan(saved.thread_id, prefix)]
        for thread_id, of_thread in keys.items():
            self._values.delete(thread_id, of_thread)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all of a thread. Its name goes first: what is put meanwhile names it again, after its state.

        So a thread that has a checkpoint has a name.
        """
        self._values.delete(None, [_thread_key(thread_id)])
        self._values.delete_thread(thread_id)

    def copy_thread(self, source: str, target: str) -> None:
        """Copy all of a thread to another: the writes first, so that no checkpoint is there without them."""
        for prefix in (_WRITES, _STATE):
            for key, value in self._values.scan(source, prefix):
                self._values.set(target, key, value)
        if self._values.last(source, _STATE) is not None:
            self._name_thread(target)

    def keep_latest(self, thread_id: str) -> None:
        """Delete of a thread all but the last checkpoint of each namespace, and what that is rebuilt from."""
        every = list(self.newest_first(thread_id, None))
        by_place = {saved.place: saved for saved in every}
        kept: set[Place] = set()
        for saved in every:
            if not any(saved.ns == ns for _, ns, _ in kept):
                kept |= _rebuilt_from(saved, by_place)
        self.delete(saved for saved in every if saved.place not in kept)

    def _threads(self) -> list[str]:
        return [value["thread_id"] for _, value in self._values.scan(None, _THREAD)]

    def _name_thread(self, thread_id: str) -> None:
        self._values.set(None, _thread_key(thread_id), {"thread_id": thread_id})

    def _saved(self, thread_id: str, value: dict[str, Any]) -> Saved:
        return Saved(
            thread_id=thread_id,
            ns=value["ns"],
            id=value["id"],
            parent=value["parent"],
            checkpoint=cast("Checkpoint", self._load(value["checkpoint"])),
            metadata=cast("CheckpointMetadata", self._load(value["metadata"])),
        )

    def _dump(self, value: Any) -> list[str]:
        kind, data = self._serde.dumps_typed(value)
        packed = zlib.compress(data, 1)
        shorter, how = (packed, "zlib") if len(packed) < len(data) else (data, "")
        return [kind, how, base64.b64encode(shorter).decode()]

    def _load(self, dumped: Sequence[str]) -> Any:
        kind, how, text = dumped
        data = base64.b64decode(text)
        return self._serde.loads_typed((kind, zlib.decompress(data) if how else data))


def _rebuilt_from(saved: Saved, by_place: dict[Place, Saved]) -> set[Place]:
    """A checkpoint, and the earlier ones that hold values of its delta channels or writes on the way."""
    needed, missing = {saved.place}, saved.unsettled
    while missing and saved.parent is not None:
        parent = by_place.get((saved.thread_id, saved.ns, saved.parent))
        if parent is None:
            break
        needed.add(parent.place)
        missing -= set(parent.checkpoint["channel_values"])
        saved = parent
    return needed


def _state_key(ns: str, id_: str) -> str:
    return f"{_STATE}{_digest(ns)}/{id_}"


def _writes_key(ns: str, id_: str) -> str:
    return f"{_WRITES}{_digest(ns)}/{_digest(id_)}/"


def _thread_key(thread_id: str) -> str:
    return f"{_THREAD}{_digest(thread_id)}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]
