"""Models of the OpenAI Agents SDK, cached, and its sessions in the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mnemolog.adapters.answers import Answers, blocking, label
from mnemolog.adapters.missing import needs
from mnemolog.adapters.sessions import SessionItems
from mnemolog.producers.commands import UNSET
from mnemolog.schemas.checks import check_string
from mnemolog.schemas.errors import InvalidInputError

with needs("the OpenAI Agents adapter", "openai-agents"):
    from agents.agent_output import AgentOutputSchemaBase
    from agents.handoffs import Handoff
    from agents.items import ModelResponse, TResponseInputItem, TResponseStreamEvent
    from agents.memory import SessionSettings
    from agents.model_settings import ModelSettings
    from agents.models.interface import Model, ModelProvider, ModelTracing
    from agents.tool import Tool
    from openai.types.responses.response_prompt_param import ResponsePromptParam
    from pydantic import TypeAdapter

    from mnemolog.adapters.agent_requests import Uncacheable, request

if TYPE_CHECKING:
    from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest

    from mnemolog.async_memory import AsyncMemory
    from mnemolog.caches.lifetimes import Lifetime
    from mnemolog.memory import Memory

AGENT_ID = "openai-agents"
"""Whose context entries the items of sessions are."""

_RESPONSES: TypeAdapter[ModelResponse] = TypeAdapter(ModelResponse)


class CachedModel(Model):
    """A model whose whole responses are cached in `memory.cache.llm`, usage and ids included.

    A response is found by the whole request: model, instructions, input, settings, tools, handoffs, output
    schema, prompt and previous response. `name` is the model's in this key, in stats and in costs; it is what
    the model says of itself if not given. `ttl_seconds` is how long responses keep: for ever if None, as
    `memory.cache.llm.set_default_ttl` says if not given.

    Not cached are streams, requests within a conversation that the server keeps, as it would miss the turn,
    and those with tools that JSON can't describe. Errors are never cached, and never come from the cache.
    """

    def __init__(
        self,
        model: Model,
        memory: Memory | AsyncMemory,
        *,
        name: str | None = None,
        ttl_seconds: Lifetime = UNSET,
    ) -> None:
        self._model = model
        self._name = label(name or getattr(model, "model", None), type(model).__name__)
        self._answers = Answers(memory, ttl_seconds)

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002 the SDK's name
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        """The response to an equal request before, or what the model says now."""

        async def ask() -> ModelResponse:
            return await self._model.get_response(
                system_instructions,
                input,
                model_settings,
                tools,
                output_schema,
                handoffs,
                tracing,
                previous_response_id=previous_response_id,
                conversation_id=conversation_id,
                prompt=prompt,
            )

        if conversation_id is not None:
            return await ask()
        try:
            params = {
                "model": self._name,
                "openai_agents": type(self._model).__qualname__,
                "instructions": system_instructions,
                "previous_response_id": previous_response_id,
                **request(input, model_settings, tools, output_schema, handoffs, prompt),
            }
        except Uncacheable:
            return await ask()
        found = await self._answers.afind(params, _RESPONSES.validate_python)
        if found is not None:
            return found
        response = await ask()
        written = _RESPONSES.dump_python(response, mode="json", exclude_unset=True, warnings=False)
        if _RESPONSES.validate_python(written) == response:  # what would come back changed is not kept
            usage = response.usage
            await self._answers.akeep(params, written, (usage.input_tokens, usage.output_tokens))
        return response

    def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],  # noqa: A002 the SDK's name
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """What the model streams; nothing is cached."""
        return self._model.stream_response(
            system_instructions,
            input,
            model_settings,
            tools,
            output_schema,
            handoffs,
            tracing,
            previous_response_id=previous_response_id,
            conversation_id=conversation_id,
            prompt=prompt,
        )

    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        """What the model advises."""
        return self._model.get_retry_advice(request)

    async def close(self) -> None:
        """Close the model. The memory stays open."""
        await self._model.close()

    def _supports_default_prompt_cache_key(self) -> bool:
        """Whether the Runner may name a run to the provider's own cache of prompts."""
        supports = getattr(self._model, "_supports_default_prompt_cache_key", None)
        return bool(supports()) if callable(supports) else False

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self._model._cleanup_on_run_end(owner)


class CachedModelProvider(ModelProvider):
    """A provider whose models are cached; see `CachedModel`."""

    def __init__(
        self, provider: ModelProvider, memory: Memory | AsyncMemory, *, ttl_seconds: Lifetime = UNSET
    ) -> None:
        self._provider = provider
        self._memory = memory
        self._ttl_seconds = ttl_seconds

    def get_model(self, model_name: str | None) -> Model:
        """The provider's model, cached."""
        model = self._provider.get_model(model_name)
        return CachedModel(model, self._memory, name=model_name, ttl_seconds=self._ttl_seconds)

    async def aclose(self) -> None:
        """Close the provider. The memory stays open."""
        await self._provider.aclose()


class MnemologSession:
    """The history of a conversation, as the SDK's `Session`, durable and shared by all handles.

    Its items are context entries of the agent "openai-agents" in the thread `session_id`, in the order in
    which they were added. They never expire, unless `ttl_seconds` says so. One may be of any size.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory | AsyncMemory,
        *,
        session_settings: SessionSettings | None = None,
        ttl_seconds: float | None = None,
    ) -> None:
        self.session_id = check_string("session_id", session_id)
        self.session_settings = session_settings
        self._items = SessionItems(blocking(memory), AGENT_ID, session_id, ttl_seconds)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The last `limit` items, all if that is None and the settings say no other, the oldest first."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await asyncio.to_thread(self._items.last, limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end: all of them, or, where that fails, none."""
        await asyncio.to_thread(self._items.add, _plain(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item away; None where there is none."""
        item: TResponseInputItem | None = await asyncio.to_thread(self._items.pop)
        return item

    async def clear_session(self) -> None:
        """Take all items away."""
        await asyncio.to_thread(self._items.clear)


def _plain(items: Sequence[TResponseInputItem]) -> list[Any]:
    if not isinstance(items, Sequence) or not all(isinstance(item, Mapping) for item in items):
        raise InvalidInputError(f"items are a list of dicts, not {items!r:.80}", field="items")
    return [dict(item) for item in items]
