"""LangGraph's checkpoints in the log: `builder.compile(checkpointer=MnemologSaver(memory))`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from mnemolog.adapters.answers import blocking
from mnemolog.adapters.large_values import LargeValues
from mnemolog.adapters.missing import needs
from mnemolog.schemas.errors import InvalidInputError

with needs("the LangGraph checkpointer", "langgraph"):
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from mnemolog.adapters.checkpoints import Checkpoints, Saved

if TYPE_CHECKING:
    from mnemolog.async_memory import AsyncMemory
    from mnemolog.memory import Memory

AGENT_ID = "langgraph"
"""Whose context entries checkpoints are."""


class MnemologSaver(BaseCheckpointSaver[int]):
    """Checkpoints of LangGraph's graphs, durable once `put` returns, for every handle on the namespace.

    They are context entries of the agent "langgraph" in the graph's thread: unlike entries of the session
    cache they never expire, unless `ttl_seconds` says so, and no clearing of caches takes them. One may be of
    any size. Each holds all of its state, so deleting some leaves the others whole. `serde` turns state into
    bytes, LangGraph's own if not given; redaction does not see into them.

    Every method raises only MnemologErrors, and what `serde` raises. The methods with an `a` in front run in
    threads.
    """

    def __init__(
        self,
        memory: Memory | AsyncMemory,
        *,
        serde: SerializerProtocol | None = None,
        ttl_seconds: float | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.memory = blocking(memory)
        self._values = LargeValues(self.memory, AGENT_ID, ttl_seconds)

    @property
    def _checkpoints(self) -> Checkpoints:
        return Checkpoints(self._values, self.serde)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the last of its thread and namespace."""
        thread_id, ns = _thread(config), _ns(config)
        saved = self._checkpoints.find(thread_id, ns, get_checkpoint_id(config))
        return None if saved is None else self._tuple(saved)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, the last one first: of a thread, of a namespace in it, of that id, as `config` says.

        `filter` is what their metadata must hold; `before` names one that they must have come before.
        """
        wanted = None if config is None else get_checkpoint_id(config)
        end = None if before is None else get_checkpoint_id(before)
        found = (
            saved
            for saved in self._saved(config)
            if (wanted is None or saved.id == wanted)
            and (end is None or saved.id < end)
            and all(saved.metadata.get(name) == value for name, value in (filter or {}).items())
        )
        return map(self._tuple, islice(found, None if limit is None else max(0, limit)))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 all channels are kept
    ) -> RunnableConfig:
        """Keep a checkpoint, whose parent is the one that `config` names."""
        saved = Saved(
            thread_id=_thread(config),
            ns=_ns(config),
            id=checkpoint["id"],
            parent=get_checkpoint_id(config),
            checkpoint=checkpoint,
            metadata=get_checkpoint_metadata(config, metadata),
        )
        self._checkpoints.put(saved)
        return _config(saved.thread_id, saved.ns, saved.id)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after the checkpoint that `config` names.

        Of several writes of one task at one place the first holds; of an error, interrupt or resume the last.
        """
        id_ = get_checkpoint_id(config)
        if id_ is None:
            raise InvalidInputError("config names no checkpoint_id", field="checkpoint_id")
        self._checkpoints.put_writes((_thread(config), _ns(config), id_), writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread, and what was written after them."""
        self._checkpoints.delete_thread(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made, in all threads, and what was written after them."""
        runs = set(run_ids)
        self._checkpoints.delete(saved for saved in self._saved(None) if saved.metadata.get("run_id") in runs)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread to another one, and what was written after them."""
        self._checkpoints.copy_thread(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep of threads only the last checkpoint of each namespace, or, with "delete", nothing.

        Of a graph with delta channels, the checkpoints are kept too that the last one is rebuilt from.
        """
        if strategy not in ("keep_latest", "delete"):
            message = f'strategy is "keep_latest" or "delete", not {strategy!r:.80}'
            raise InvalidInputError(message, field="strategy")
        for thread_id in map(str, thread_ids):
            if strategy == "delete":
                self._checkpoints.delete_thread(thread_id)
            else:
                self._checkpoints.keep_latest(thread_id)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple`, in a thread."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list`, in a thread."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put`, in a thread."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`put_writes`, in a thread."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread`, in a thread."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs`, in a thread."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread`, in a thread."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune`, in a thread."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    def _saved(self, config: RunnableConfig | None) -> Iterable[Saved]:
        if config is None:
            return self._checkpoints.newest_first(None, None)
        return self._checkpoints.newest_first(_thread(config), config["configurable"].get("checkpoint_ns"))

    def _tuple(self, saved: Saved) -> CheckpointTuple:
        return CheckpointTuple(
            config=_config(saved.thread_id, saved.ns, saved.id),
            checkpoint=saved.checkpoint,
            metadata=saved.metadata,
            parent_config=None if saved.parent is None else _config(saved.thread_id, saved.ns, saved.parent),
            pending_writes=self._checkpoints.writes(saved.place),
        )


def _thread(config: RunnableConfig) -> str:
    thread_id = config.get("configurable", {}).get("thread_id")
    if thread_id is None:
        raise InvalidInputError("config names no thread_id", field="thread_id")
    return str(thread_id)


def _ns(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns", ""))


def _config(thread_id: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}
