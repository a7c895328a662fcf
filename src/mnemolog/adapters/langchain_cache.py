"""LangChain's cache of models' answers over `memory.cache.llm`: `set_llm_cache(MnemologLlmCache(memory))`."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mnemolog.adapters.answers import Answers, label
from mnemolog.adapters.missing import needs
from mnemolog.producers.commands import UNSET

with needs("the cache of LangChain", "langchain"):
    from langchain_core import messages as lc
    from langchain_core.caches import BaseCache
    from langchain_core.load import dumps, load
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk

if TYPE_CHECKING:
    from mnemolog.async_memory import AsyncMemory
    from mnemolog.caches.lifetimes import Lifetime
    from mnemolog.memory import Memory

_ANSWERS = (Generation, GenerationChunk, ChatGeneration, ChatGenerationChunk)
_MESSAGES = (
    *(lc.AIMessage, lc.HumanMessage, lc.SystemMessage, lc.ToolMessage, lc.ChatMessage, lc.FunctionMessage),
    *(lc.AIMessageChunk, lc.HumanMessageChunk, lc.SystemMessageChunk, lc.ToolMessageChunk),
    *(lc.ChatMessageChunk, lc.FunctionMessageChunk),
)
_NAMES = ("model", "model_name", "model_id", "deployment_name", "_type")


class MnemologLlmCache(BaseCache):
    """Answers of LangChain's models, kept in the log and shared by all handles on the namespace.

    An answer is found by the prompt and by what LangChain says of the model (`llm_string`). It counts in
    `memory.cache.stats()` under the model's name, with the tokens of its usage metadata. `ttl_seconds` is how
    long it keeps: for ever if None, as `memory.cache.llm.set_default_ttl` says if not given.

    What is stored is read back as answers and messages alone: no other class is ever made of it. An answer
    that can't be read, or is too large to be kept (about 64 KiB), costs a call of the model, never an error.
    """

    def __init__(self, memory: Memory | AsyncMemory, *, ttl_seconds: Lifetime = UNSET) -> None:
        self._answers = Answers(memory, ttl_seconds)

    def lookup(self, prompt: str, llm_string: str) -> list[Generation] | None:
        """The answers that were stored for it, or None."""
        return self._answers.find(_params(prompt, llm_string), _read)

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        """Store the answers to a prompt."""
        self._answers.keep(_params(prompt, llm_string), _written(return_val), _tokens(return_val))

    def clear(self, **kwargs: Any) -> None:  # noqa: ARG002 LangChain's signature
        """Drop all answers of models that the namespace has, other programs' too."""
        self._answers.clear()


def _params(prompt: str, llm_string: str) -> dict[str, Any]:
    return {"model": model_of(llm_string), "langchain": {"prompt": prompt, "llm": llm_string}}


def _written(answers: Sequence[Generation]) -> Any:
    written = json.loads(dumps(list(answers)))
    for answer in written:
        if "message" in answer.get("kwargs", ()):
            answer["kwargs"].pop("text", None)  # it is the message's, and made of it again
    return written


def _read(stored: Any) -> list[Generation]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its serializer is marked as beta
        answers = load(stored, allowed_objects=[*_ANSWERS, *_MESSAGES])
    if not isinstance(answers, list) or not all(isinstance(one, Generation) for one in answers):
        raise ValueError("these are no answers")
    return answers


def _tokens(answers: Sequence[Generation]) -> tuple[int, int] | None:
    usages = [
        answer.message.usage_metadata
        for answer in answers
        if isinstance(answer, ChatGeneration)
        and isinstance(answer.message, lc.AIMessage)
        and answer.message.usage_metadata is not None
    ]
    if not usages:
        return None
    return sum(one["input_tokens"] for one in usages), sum(one["output_tokens"] for one in usages)


def model_of(llm_string: str) -> str:
    """The model's name within what LangChain says of a model; "langchain" where it says none."""
    said, _, called = llm_string.partition("---")
    for settings in (_pairs(called), _serialized(said), _pairs(llm_string)):
        for name in _NAMES:
            if isinstance(settings.get(name), str):
                return label(settings[name], "langchain")
    return "langchain"


def _serialized(said: str) -> Mapping[str, Any]:
    """The arguments of a model that was written as JSON, and the name of its class."""
    try:
        written = json.loads(said)
        return {"_type": written["id"][-1], **written.get("kwargs", {})}
    except (ValueError, TypeError, LookupError, AttributeError):
        return {}


def _pairs(said: str) -> Mapping[str, Any]:
    """The parameters that were written as a list of pairs of Python."""
    try:
        return dict(ast.literal_eval(said))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return {}
