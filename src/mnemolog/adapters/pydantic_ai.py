"""Pydantic AI's models, cached: `Agent(CachedModel("openai:gpt-5", memory))`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mnemolog.adapters.answers import Answers, label
from mnemolog.adapters.missing import needs
from mnemolog.producers.commands import UNSET

with needs("the Pydantic AI adapter", "pydantic-ai"):
    from pydantic import TypeAdapter
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
    from pydantic_ai.models import KnownModelName, Model, ModelRequestParameters
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.settings import ModelSettings, merge_model_settings
    from pydantic_core import PydanticSerializationError, to_jsonable_python

if TYPE_CHECKING:
    from mnemolog.async_memory import AsyncMemory
    from mnemolog.caches.lifetimes import Lifetime
    from mnemolog.memory import Memory

_PARAMETERS: TypeAdapter[ModelRequestParameters] = TypeAdapter(ModelRequestParameters)
_OF_THE_RUN = frozenset(
    {"timestamp", "run_id", "conversation_id", "metadata", "usage", "model_id"}
    | {"workspace_ref", "history_digest", "failed_attempts"}
)
"""What a message holds that is not sent to the model."""

_OF_THE_PART = frozenset({"timestamp", "metadata"})
"""What a part holds that is not sent to the model."""


@dataclass(init=False)
class CachedModel(WrapperModel):
    """A model whose whole responses are cached in `memory.cache.llm`, usage included.

    A response is found by the whole request: model, provider, messages, settings, tools and output. When
    and in which run messages were made does not count, nor what is not sent to the model. `ttl_seconds` is
    how long responses keep: for ever if None, as `memory.cache.llm.set_default_ttl` says if not given.

    Not cached are streams, responses that are not complete or finished with an error, and requests that JSON
    can't describe. Errors are never cached, and never come from the cache.
    """

    def __init__(
        self,
        wrapped: Model | KnownModelName | str,
        memory: Memory | AsyncMemory,
        *,
        ttl_seconds: Lifetime = UNSET,
    ) -> None:
        super().__init__(wrapped)
        self._answers = Answers(memory, ttl_seconds)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The response to an equal request before, or what the model says now."""
        try:
            params = self._params(messages, model_settings, model_request_parameters)
        except (PydanticSerializationError, ValueError, TypeError):
            return await super().request(messages, model_settings, model_request_parameters)
        found = await self._answers.afind(params, _read)
        if found is not None:
            return found
        response = await super().request(messages, model_settings, model_request_parameters)
        if response.state == "complete" and response.finish_reason != "error":
            usage = response.usage
            tokens = (usage.input_tokens, usage.output_tokens)
            await self._answers.akeep(params, _written(response), tokens)
        return response

    def _params(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> dict[str, Any]:
        asked = dict(merge_model_settings(self.wrapped.settings, settings) or {})
        return {
            "model": label(self.wrapped.model_name, "pydantic-ai"),
            "pydantic_ai": [self.wrapped.model_id, self.wrapped.base_url],
            "messages": [
                _sent(message) for message in ModelMessagesTypeAdapter.dump_python(messages, mode="json")
            ],
            "settings": to_jsonable_python({name: asked[name] for name in asked if name != "timeout"}),
            "parameters": _in_order(_PARAMETERS.dump_python(parameters)),
        }


def _sent(message: Mapping[str, Any]) -> dict[str, Any]:
    """What of a message is sent to the model."""
    parts = [
        {name: one for name, one in part.items() if name not in _OF_THE_PART} for part in message["parts"]
    ]
    kept = {name: one for name, one in message.items() if name not in _OF_THE_RUN}
    return {**kept, "parts": parts}


def _in_order(value: Any) -> Any:
    """`value` as JSON in which sets are in order."""
    match value:
        case set() | frozenset():
            return sorted(value)
        case dict():
            return {str(name): _in_order(one) for name, one in value.items()}
        case list() | tuple():
            return [_in_order(one) for one in value]
    return to_jsonable_python(value)


def _written(response: ModelResponse) -> Any:
    return ModelMessagesTypeAdapter.dump_python([response], mode="json")[0]


def _read(stored: Any) -> ModelResponse:
    (message,) = ModelMessagesTypeAdapter.validate_json(json.dumps([stored]))
    if not isinstance(message, ModelResponse):
        raise TypeError("this is no response")
    return message
