"""Facts and summaries by a language model, over any endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mnemolog.extractors.answers import CutAnswerError, clean, repair
from mnemolog.extractors.prompts import FACTS_FORMAT, FACTS_PROMPT, SUMMARY_FORMAT, SUMMARY_PROMPT, VERSION
from mnemolog.schemas.checks import check_count, check_seconds, check_string
from mnemolog.schemas.errors import ExtractionError, ExtractorUnavailableError, InvalidInputError
from mnemolog.schemas.extraction import Extraction
from mnemolog.schemas.facts import Fact

if TYPE_CHECKING:
    from mnemolog.query.models import MemoryItem

MAX_MEMORIES = 40
"""Memories in one request: a model loses track of more."""


@dataclass(frozen=True, slots=True)
class _Answer:
    document: Any
    model: str
    input_tokens: int
    output_tokens: int


class _Model:
    """One model at one endpoint. The client waits and tries again after timeouts, 408, 409, 429 and 5xx."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 3,
        json_schema: bool = True,
    ) -> None:
        self.model = check_string("model", model)
        self._timeout = check_seconds("timeout", timeout)
        check_count("max_retries", max_retries, 0, 100)
        self._json_schema = json_schema
        self._client = _client(base_url, api_key, self._timeout, max_retries)

    def _ask(self, prompt: str, memories: Sequence[MemoryItem], format_: dict[str, Any]) -> _Answer:
        import openai

        asked = "\n".join(_told(number, memory) for number, memory in enumerate(memories, 1))
        try:
            answer = self._client.chat.completions.create(
                model=self.model,
                messages=[{"role": "system", "content": prompt}, {"role": "user", "content": asked}],
                response_format=format_ if self._json_schema else {"type": "json_object"},
            )
            return self._read(answer)
        except (openai.APIConnectionError, openai.RateLimitError, openai.InternalServerError) as error:
            raise ExtractorUnavailableError(f"{self.model} does not answer: {_told_error(error)}") from error
        except openai.APIStatusError as error:
            raise ExtractionError(f"{self.model} refused: {_told_error(error)}") from error
        except (openai.OpenAIError, ValueError, AttributeError, TypeError, IndexError) as error:
            raise ExtractionError(f"{self.model} gave no answer to read: {_told_error(error)}") from error

    def _read(self, answer: Any) -> _Answer:
        choice = answer.choices[0]
        text = choice.message.content
        if not isinstance(text, str) or not text.strip():
            reason = getattr(choice.message, "refusal", None) or choice.finish_reason
            raise ExtractionError(f"{self.model} gave no text: {reason!s:.200}")
        if choice.finish_reason == "length":
            raise CutAnswerError(f"the answer of {self.model} was cut")
        usage = answer.usage
        return _Answer(
            repair(text),
            answer.model if isinstance(answer.model, str) and answer.model else self.model,
            _tokens(usage, "prompt_tokens"),
            _tokens(usage, "completion_tokens"),
        )


def _client(base_url: str | None, api_key: str | None, timeout: float, retries: int) -> Any:
    import openai

    try:
        return openai.OpenAI(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries)
    except openai.OpenAIError as error:
        raise InvalidInputError(f"api_key: {error}", field="api_key") from error


def _tokens(usage: object, name: str) -> int:
    count = getattr(usage, name, 0)
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0


def _told_error(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


def _told(number: int, memory: MemoryItem) -> str:
    told = {"number": number, "time": memory.occurred_at.isoformat(timespec="minutes")}
    return json.dumps(told | {"author": memory.author, "text": memory.text}, ensure_ascii=False)


class LLMExtractor(_Model):
    """Facts by a language model at an OpenAI-compatible endpoint; needs the extra `mnemolog[llm]`.

    `base_url` and `api_key` are those of the endpoint, by default of the variables `OPENAI_BASE_URL` and
    `OPENAI_API_KEY`. A request takes at most `timeout` seconds and is tried again up to `max_retries` times,
    with growing pauses. `json_schema=False` is for endpoints that know JSON mode only. Up to 40 memories go
    into a request; if the answer is cut, half as many. Broken JSON is repaired; an item that makes no fact is
    left out and told in `rejected`.

    Raises, when called:
        ExtractorUnavailableError: the endpoint can't be reached, is too slow, or keeps saying 429 or 5xx.
        ExtractionError: it refused, or its answer can't be read.
    """

    name = "mnemolog.llm"
    version = VERSION

    def __call__(self, memories: Sequence[MemoryItem]) -> Extraction:
        """The facts that the memories state."""
        batches = [memories[start : start + MAX_MEMORIES] for start in range(0, len(memories), MAX_MEMORIES)]
        found = [one for batch in batches for one in self._extract(batch)]
        return Extraction(
            [fact for one in found for fact in one.facts],
            found[0].model if found else self.model,
            self.version,
            sum(one.input_tokens for one in found),
            sum(one.output_tokens for one in found),
            [reason for one in found for reason in one.rejected],
        )

    def _extract(self, batch: Sequence[MemoryItem]) -> list[Extraction]:
        try:
            answer = self._ask(FACTS_PROMPT, batch, FACTS_FORMAT)
        except CutAnswerError:
            if len(batch) == 1:
                raise
            half = len(batch) // 2
            return [*self._extract(batch[:half]), *self._extract(batch[half:])]
        facts, rejected = _facts(answer.document, batch)
        tokens = answer.input_tokens, answer.output_tokens
        return [Extraction(facts, answer.model, self.version, *tokens, rejected)]


class LLMSummarizer(_Model):
    """A summary by a language model; see `LLMExtractor` for the arguments and errors."""

    name = "mnemolog.llm"
    version = VERSION

    def __call__(self, memories: Sequence[MemoryItem]) -> str:
        """What the memories say, in a few sentences."""
        document = self._ask(SUMMARY_PROMPT, memories, SUMMARY_FORMAT).document
        text = document.get("summary") if isinstance(document, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise ExtractionError(f"{self.model} gave no summary but {document!r:.200}")
        return str(clean(text))


def _facts(document: Any, batch: Sequence[MemoryItem]) -> tuple[list[Fact], list[str]]:
    items = document.get("facts") if isinstance(document, dict) else document
    if isinstance(items, dict):
        items = [items]
    if not isinstance(items, list):
        raise ExtractionError(f"the answer has no list of facts but {document!r:.200}")
    facts, rejected = [], []
    for item in items:
        try:
            facts.append(_fact(item, batch))
        except InvalidInputError as error:
            rejected.append(f"{error} in {item!r:.200}")
    return facts, rejected


def _fact(item: Any, batch: Sequence[MemoryItem]) -> Fact:
    if not isinstance(item, dict):
        raise InvalidInputError(f"{item!r:.80} is no object")
    subject, statement = (clean(item.get(name)) for name in ("subject", "statement"))
    return Fact(
        " ".join(subject.split()) if isinstance(subject, str) else subject,
        statement if statement is not None else "",
        item.get("date") or None,
        item.get("tombstone") or False,
        _confidence(item.get("confidence")),
        _sources(item.get("sources"), batch),
    )


def _confidence(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return min(1.0, max(0.0, float(value))) if is_number and value == value else 1.0


def _sources(numbers: Any, batch: Sequence[MemoryItem]) -> tuple[str, ...]:
    """The ids of the memories that a fact names; those of the whole batch where it names none there is."""
    listed = numbers if isinstance(numbers, list) else [numbers]
    places = [one for one in listed if isinstance(one, int) and not isinstance(one, bool)]
    named = [batch[one - 1].id for one in places if 1 <= one <= len(batch)]
    return tuple(dict.fromkeys(named or (memory.id for memory in batch)))
