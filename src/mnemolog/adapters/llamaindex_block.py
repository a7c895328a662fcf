"""A memory block for LlamaIndex's `Memory`, on mnemolog. Needs the extra `mnemolog[llamaindex]`.

    block = MnemologMemoryBlock(memory=memory, k=5)
    chat = Memory.from_defaults(memory_blocks=[block])

What leaves the chat's short-term memory is remembered; what the last messages are about is recalled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import Field, PrivateAttr

from mnemolog.adapters.missing import needs
from mnemolog.memory import Memory
from mnemolog.query.models import Hit
from mnemolog.schemas.errors import NotFoundError

with needs("the LlamaIndex memory block", "llamaindex"):
    from llama_index.core.base.llms.types import ChatMessage, TextBlock
    from llama_index.core.memory.memory import BaseMemoryBlock

_MAX_CHARS = 16_384  # of four bytes at most, so that a part is never too long to be remembered
_BYTES_A_TOKEN = 4


class MnemologMemoryBlock(BaseMemoryBlock[str]):
    """Recalls what fits the last `context_window` messages, and remembers the messages that it is given.

    Each message of one of the `roles` is a memory: its role is the author, the chat's session the thread. All
    sessions of the handle's namespace are recalled from. `k`, `kinds`, `tags` and `max_tokens` are those of
    `recall`; `explain` says with each memory why it was recalled. `kind` is that of what is remembered.

    `last_recall_id` and `last_recall_ids` are of the recall that was shown last, for feedback. The memory
    stays the caller's to close.
    """

    name: str = Field(default="LongTermMemory", description="The name of the block in the prompt.")
    description: str | None = Field(default="What was learned in earlier messages and sessions.")
    memory: Memory = Field(exclude=True)
    k: int = Field(default=5, ge=1, le=1_000)
    context_window: int = Field(default=2, ge=1)
    roles: tuple[str, ...] = ("user", "assistant")
    explain: bool = False
    kind: str = "message"
    kinds: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    max_tokens: int | None = None
    last_recall_id: str | None = None
    last_recall_ids: list[str] = Field(default_factory=list)
    _shown: list[str] = PrivateAttr(default_factory=list)

    def mark_used(self, ids: str | Sequence[str]) -> None:
        """Say that these memories helped; if the last recall showed them, it teaches for which questions."""
        self.memory.mark_used(ids, recall_id=self._recall_of(ids))

    def mark_ignored(self, ids: str | Sequence[str]) -> None:
        """Say that these memories were of no use; see `mark_used`."""
        self.memory.mark_ignored(ids, recall_id=self._recall_of(ids))

    def feedback(self, used: str | Sequence[str] = ()) -> None:
        """Say which memories of the last recall helped; the others that it showed were of no use.

        Raises:
            NotFoundError: nothing was recalled yet, or a memory is none that was shown.
        """
        helped = [used] if isinstance(used, str) else list(used)
        unknown = [one for one in helped if one not in self.last_recall_ids]
        if unknown or not self.last_recall_ids:
            shown = ", ".join(self.last_recall_ids) or "nothing"
            message = f"the last recall showed {shown}, not {', '.join(unknown) or 'more'}"
            raise NotFoundError(message, field="used")
        ignored = [one for one in self.last_recall_ids if one not in helped]
        self.memory.feedback(self.last_recall_id, used=helped, ignored=ignored)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """`content` without the memories that fit least: so many tokens shorter. None if nothing is left."""
        kept, dropped = list(self._shown), 0
        while kept and dropped < tokens_to_truncate * _BYTES_A_TOKEN:
            dropped += len(kept.pop().encode())
        if content != "\n".join(self._shown) or not kept:
            self._keep(self.last_recall_id, [], [])
            return None
        self._keep(self.last_recall_id, self.last_recall_ids[: len(kept)], kept)
        return "\n".join(kept)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        """The memories that fit the last messages, one a line; nothing without messages of these roles."""
        said = [text for one in messages or () if (text := self._text_of(one))]
        if not said:
            self._keep(None, [], [])
            return ""
        hits = await asyncio.to_thread(
            self.memory.recall,
            "\n".join(said[-self.context_window :]),
            k=self.k,
            kinds=self.kinds,
            tags=self.tags,
            max_tokens=self.max_tokens,
        )
        self._keep(hits.recall_id, hits.ids, [self._line_of(hit) for hit in hits])
        return "\n".join(self._shown)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Remember the messages of these roles; all of them are durable when this returns."""
        items = [item for one in messages for item in self._memories_of(one)]
        if items:
            await asyncio.to_thread(self.memory.remember_many, items)

    def _keep(self, recall_id: str | None, ids: Iterable[str], shown: list[str]) -> None:
        self.last_recall_id, self.last_recall_ids, self._shown = recall_id, list(ids), shown

    def _recall_of(self, ids: str | Sequence[str]) -> str | None:
        named = {ids} if isinstance(ids, str) else set(ids)
        return self.last_recall_id if named <= set(self.last_recall_ids) else None

    def _line_of(self, hit: Hit) -> str:
        said = f"{hit.memory.author}: {hit.memory.text}" if hit.memory.author else hit.memory.text
        line = f"[{hit.memory.occurred_at:%Y-%m-%d}] {said}"
        return f"{line} ({hit.explain()})" if self.explain else line

    def _text_of(self, message: ChatMessage) -> str:
        """The text of a message of one of the roles; half a surrogate pair, which no event holds, is `?`."""
        if message.role.value not in self.roles:
            return ""
        text = "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))
        return text.encode(errors="replace").decode().strip()

    def _memories_of(self, message: ChatMessage) -> list[dict[str, Any]]:
        """A message as memories: one, or several of a long one."""
        text, session = self._text_of(message), message.additional_kwargs.get("session_id")
        told = {
            "kind": self.kind,
            "author": message.role.value,
            "thread_id": session if session is None else str(session),
            "source": "llamaindex",
        }
        parts = [text[start : start + _MAX_CHARS] for start in range(0, len(text), _MAX_CHARS)]
        return [{**told, "text": part} for part in parts if part.strip()]
