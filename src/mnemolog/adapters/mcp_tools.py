"""The tools of the MCP server: verbs of one handle, so that no argument and no id leaves its namespace."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from mnemolog.adapters.mcp_answers import Answer, change, compact, fact, found, short, whole
from mnemolog.async_memory import AsyncMemory
from mnemolog.schemas.errors import InvalidInputError, NotFoundError
from mnemolog.schemas.namespaces import encode_namespace
from mnemolog.schemas.scope import TagsMode

_ASKED = 1_000
"""Whether so many ids are known is asked at once."""

MAX_RECALLS = 256
"""Of so many recalls the server knows what they showed, for `reject_others`."""

Id = Annotated[str, Field(description="The id of a memory.")]
Ids = Annotated[list[str], Field(description="Ids of memories.")]
RecallId = Annotated[str | None, Field(description="The recall_id of the recall that showed them.")]
Text = Annotated[str, Field(description="One thing to remember, in a sentence that stands alone.")]
Kind = Annotated[str, Field(description="What sort: note, fact, preference, instruction, episode, …")]
Importance = Annotated[float | None, Field(description="How much it matters, 0 to 1.")]
Tags = Annotated[list[str] | None, Field(description="Tags.")]
Kinds = Annotated[list[str] | None, Field(description="Only memories of these kinds.")]
AnyTags = Annotated[list[str] | None, Field(description="Only memories with these tags; see tags_mode.")]
Metadata = Annotated[dict[str, Any] | None, Field(description="Further fields, as a JSON object.")]
Key = Annotated[str | None, Field(description="A slot for one memory: the new one supersedes the old.")]
Ttl = Annotated[float | None, Field(description="Forget it after so many seconds.")]
AsOf = Annotated[str | None, Field(description="What was known at this time, in ISO form, or position.")]
Filters = Annotated[
    dict[str, Any] | None,
    Field(description='Conditions such as {"metadata.city": {"eq": "Paris"}, "importance": {"gte": 0.5}}.'),
]


class MemoryTools:
    """One method a tool; its docstring is what a model reads about it."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._shown: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    async def remember(
        self,
        text: Text,
        kind: Kind = "note",
        importance: Importance = None,
        tags: Tags = None,
        key: Key = None,
        source: Annotated[str | None, Field(description="Where it is from, such as chat or tool.")] = None,
        author: Annotated[str | None, Field(description="Who said it.")] = None,
        metadata: Metadata = None,
        ttl_seconds: Ttl = None,
        id: Annotated[str | None, Field(description="An id of your own makes a retry harmless.")] = None,  # noqa: A002
    ) -> Answer:
        """Remember what will matter later: a preference, a decision, a fact, a lesson. It is durable when
        this returns. With a key, the new memory supersedes the one that held it, which the answer names."""
        before = None if key is None else await self._memory.find_by_key(key)
        receipt = await self._memory.remember(
            text,
            kind=kind,
            importance=importance,
            tags=tags or (),
            key=key,
            source=source,
            author=author,
            metadata=metadata,
            ttl_seconds=ttl_seconds,
            id=id,
        )
        superseded = [before.id] if before is not None and before.id != receipt.id else []
        return {
            **self._here(),
            "id": receipt.id,
            "kind": kind,
            "importance": importance,
            "superseded": superseded,
            "position": str(receipt.position),
        }

    async def recall(
        self,
        query: Annotated[str, Field(description="The question to answer, in plain words.")],
        k: Annotated[int, Field(description="How many memories at most.")] = 5,
        kinds: Kinds = None,
        tags: AnyTags = None,
        tags_mode: TagsMode = "all",
        filters: Filters = None,
        min_score: Annotated[float, Field(description="Leave out what scores less.")] = 0.0,
        include_superseded: Annotated[bool, Field(description="Also what a newer memory replaced.")] = False,
        as_of: AsOf = None,
    ) -> Answer:
        """The memories that answer a query best, best first, each with its score and why. Keep the recall_id:
        report with feedback which of them you used."""
        hits = await self._memory.recall(
            query,
            k=k,
            kinds=kinds,
            tags=tags,
            tags_mode=tags_mode,
            filters=filters,
            min_score=min_score,
            include_superseded=include_superseded,
            as_of=as_of,
        )
        self._keep(hits.recall_id, hits.ids)
        told = {"recall_id": hits.recall_id, "memories": [found(hit) for hit in hits]}
        return {**self._here(), **told, **({"warnings": list(hits.warnings)} if hits.warnings else {})}

    async def feedback(
        self,
        recall_id: Annotated[str, Field(description="The recall_id of the recall that showed them.")],
        used: Annotated[list[str] | None, Field(description="Ids that helped.")] = None,
        ignored: Annotated[list[str] | None, Field(description="Ids that were of no use.")] = None,
        ratings: Annotated[
            dict[str, float] | None, Field(description="Id to how much it helped, 0 to 1, instead.")
        ] = None,
        reject_others: Annotated[
            bool, Field(description="What the recall showed beside these was of no use.")
        ] = False,
    ) -> Answer:
        """Say which of the memories that a recall showed were used and which were not, or grade them 0 to 1:
        recall learns from it. The same feedback twice counts once."""
        return await self._judge(recall_id, used or [], ignored or [], ratings or {}, reject_others)

    async def mark_used(
        self,
        ids: Ids,
        recall_id: RecallId = None,
        reject_others: Annotated[
            bool, Field(description="What the recall showed beside these was of no use.")
        ] = False,
    ) -> Answer:
        """Say that these memories helped. With a recall_id it teaches for which questions."""
        return await self._judge(recall_id, ids, [], {}, reject_others)

    async def mark_ignored(self, ids: Ids, recall_id: RecallId = None) -> Answer:
        """Say that these memories were of no use. With a recall_id it teaches for which questions."""
        return await self._judge(recall_id, [], ids, {}, False)

    async def get(self, id: Id, as_of: AsOf = None) -> Answer:  # noqa: A002
        """All there is of one memory, also of one that was superseded."""
        memory = await self._memory.get(id, as_of=as_of)
        if memory is None:
            raise self._unknown([id])
        return whole(memory)

    async def update(
        self,
        id: Id,  # noqa: A002
        text: Annotated[str | None, Field(description="The new text.")] = None,
        kind: Annotated[str | None, Field(description="The new kind.")] = None,
        importance: Importance = None,
        tags: Annotated[list[str] | None, Field(description="All its tags from now on.")] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description="All of it from now on.")] = None,
        ttl_seconds: Ttl = None,
        reason: Annotated[str | None, Field(description="Why; its history tells.")] = None,
    ) -> Answer:
        """Correct a memory in place: the given fields change, all others stay."""
        given = {
            "text": text,
            "kind": kind,
            "importance": importance,
            "tags": tags,
            "metadata": metadata,
            "ttl_seconds": ttl_seconds,
            "reason": reason,
        }
        changes: Any = {name: value for name, value in given.items() if value is not None}
        receipt = await self._memory.update(id, **changes)
        return {**self._here(), "id": receipt.id, "position": str(receipt.position)}

    async def forget(
        self, ids: Ids, reason: Annotated[str | None, Field(description="Why; it is kept.")] = None
    ) -> Answer:
        """Forget memories for good. The answer names the ids that are unknown."""
        known = set(await self._known(ids))
        gone = [one for one in dict.fromkeys(ids) if one in known]
        if gone:
            await self._memory.forget(gone, reason=reason)
        unknown = [one for one in dict.fromkeys(ids) if one not in known]
        return {**self._here(), "forgotten": gone, "unknown": unknown}

    async def list_memories(
        self,
        limit: Annotated[int, Field(description="How many at most.")] = 20,
        offset: Annotated[int, Field(description="How many to leave out before.")] = 0,
        kinds: Kinds = None,
        tags: AnyTags = None,
        tags_mode: TagsMode = "all",
        filters: Filters = None,
        include_superseded: Annotated[bool, Field(description="Also what a newer memory replaced.")] = False,
        as_of: AsOf = None,
    ) -> Answer:
        """A page of the memories, newest first, and how many there are in all."""
        page = await self._memory.list(
            limit=limit,
            offset=offset,
            kinds=kinds,
            tags=tags,
            tags_mode=tags_mode,
            filters=filters,
            include_superseded=include_superseded,
            as_of=as_of,
        )
        return {**self._here(), "total": page.total, "memories": [short(one) for one in page.items]}

    async def history(self, id: Id) -> Answer:  # noqa: A002
        """What happened to a memory, oldest first: when, by whom and why; of a forgotten one too."""
        changes = await self._memory.history(id)
        if not changes:
            raise self._unknown([id])
        return {"id": id, "changes": [change(one) for one in changes]}

    async def facts(
        self,
        subject: Annotated[str | None, Field(description="What they are about; all without it.")] = None,
        current: Annotated[bool, Field(description="Only what still holds.")] = False,
        known_at: AsOf = None,
    ) -> Answer:
        """Facts that consolidation drew: of each subject what holds now, then what held before."""
        items = await self._memory.facts(subject, known_at=known_at)
        return {**self._here(), "facts": [fact(one) for one in items if one.current or not current]}

    async def _judge(
        self,
        recall_id: str | None,
        used: list[str],
        ignored: list[str],
        ratings: dict[str, float],
        reject_others: bool,
    ) -> Answer:
        named = dict.fromkeys([*used, *ignored, *ratings])
        unknown = set(named) - set(await self._known(list(named)))
        if unknown:
            raise self._unknown([one for one in named if one in unknown])
        if reject_others:
            ignored = [*ignored, *(one for one in self._showed(recall_id) if one not in named)]
        await self._memory.feedback(recall_id, used=used, ignored=ignored, ratings=ratings or None)
        return compact({**self._here(), "used": used, "ignored": ignored, "ratings": ratings})

    def _keep(self, recall_id: str, ids: Sequence[str]) -> None:
        self._shown[recall_id] = tuple(ids)
        while len(self._shown) > MAX_RECALLS:
            self._shown.popitem(last=False)

    def _showed(self, recall_id: str | None) -> tuple[str, ...]:
        if recall_id is None:
            raise InvalidInputError("reject_others needs the recall_id of a recall", field="recall_id")
        if recall_id not in self._shown:
            message = f"what recall {recall_id!r} showed is not known any more: name the ignored ids"
            raise NotFoundError(message, field="recall_id")
        return self._shown[recall_id]

    async def _known(self, ids: list[str]) -> list[str]:
        """Those of `ids` that are memories of this namespace, and were not forgotten."""
        distinct, known = list(dict.fromkeys(ids)), list[str]()
        for start in range(0, len(distinct), _ASKED):
            asked = distinct[start : start + _ASKED]
            named: dict[str, Any] = {"id": {"in": asked}}
            page = await self._memory.list(filters=named, include_superseded=True, limit=len(asked))
            known += [memory.id for memory in page.items]
        return known

    def _unknown(self, ids: Sequence[str]) -> NotFoundError:
        named = ", ".join(repr(one)[:80] for one in ids)
        return NotFoundError(f"no memory {named} in namespace {encode_namespace(self._memory.namespace)}")

    def _here(self) -> Answer:
        return {"namespace": encode_namespace(self._memory.namespace)}
