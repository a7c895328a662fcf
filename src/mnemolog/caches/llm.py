"""Answers of models, found again by the whole request."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mnemolog.caches.counting import Counter
from mnemolog.caches.entries import Entries
from mnemolog.caches.lifetimes import Lifetime, Lifetimes
from mnemolog.caches.requests import request_key
from mnemolog.producers.commands import UNSET
from mnemolog.producers.context_commands import Address, check_json, check_name
from mnemolog.producers.receipts import Receipt
from mnemolog.schemas.checks import check_count
from mnemolog.schemas.errors import InvalidInputError

_logger = logging.getLogger(__name__)


class TokenCost(NamedTuple):
    """What one token of a model costs, in units of a currency."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class LlmCacheResult:
    """What a check found. `key` names the request, hit or not; the tokens are what `store` was told.

    `saved_micros` is the cost that a hit saved, in millionths of the currency of `set_costs`.
    """

    hit: bool
    response: Any
    key: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    saved_micros: int = 0


class LlmCache:
    """An exact-match cache of a namespace: equal requests, by any handle, get the stored answer.

    See `caches.requests.request_key` for what is equal.
    """

    def __init__(self, entries: Entries, counter: Counter, lifetimes: Lifetimes) -> None:
        self._entries = entries
        self._counter = counter
        self._lifetimes = lifetimes
        self._costs: dict[str, TokenCost] = {}

    def check(self, params: Mapping[str, Any], *, read: Callable[[Any], Any] | None = None) -> LlmCacheResult:
        """The stored answer to a request, if there is one. What can't be read back is a miss.

        `read` makes of the stored JSON what the caller wants as `response`; any exception of it says that it
        can't.
        """
        key, model = request_key(params), _model(params)
        entry = self._entries.get(_address(key))
        answer = _read(entry.value, read) if entry is not None and _is_answer(entry.value) else None
        if answer is None:
            self._counter.checked("llm", model, hit=False)
            return LlmCacheResult(False, None, key)
        saved = self._saved(model, answer)
        self._counter.checked("llm", model, hit=True, saved_micros=saved)
        tokens = answer.get("input_tokens"), answer.get("output_tokens")
        return LlmCacheResult(True, answer["response"], key, *tokens, saved)

    def store(
        self,
        params: Mapping[str, Any],
        response: Any,
        *,
        ttl_seconds: Lifetime = UNSET,
        tokens: Mapping[str, int] | None = None,
    ) -> Receipt:
        """Keep the answer to a request: JSON of up to about 64 KiB. The receipt's id is the request's key.

        It keeps for `ttl_seconds`, for ever if None, as `set_default_ttl` says if not given. `tokens` holds
        what it took, as `{"input": 120, "output": 30}`.
        """
        key, model = request_key(params), _model(params)
        check_json("response", response)
        answer = {"response": response, **_tokens(tokens)}
        cost = _cost_micros(self._costs.get(model), answer)
        if cost:
            answer["cost_micros"] = cost
        ttl = self._lifetimes.resolve(ttl_seconds, "llm")
        position = self._entries.set(_address(key), answer, ttl, model)
        self._counter.stored("llm", model)
        return Receipt(key, position)

    def invalidate(self, params: Mapping[str, Any]) -> bool:
        """Drop the answer to a request; whether there was one."""
        return self._entries.delete(_address(request_key(params)))

    def invalidate_by_model(self, model: str) -> int:
        """Drop all answers of a model; how many there were."""
        return self._entries.delete_scope("llm", origin=check_name("model", model))

    def clear(self) -> int:
        """Drop all answers; how many there were."""
        return self._entries.delete_scope("llm")

    def set_default_ttl(self, ttl_seconds: float | None) -> None:
        """How long answers keep where a call does not say, for every handle here; None is for ever."""
        self._lifetimes.set("tier:llm", ttl_seconds)

    def set_costs(self, costs: Mapping[str, tuple[float, float]]) -> None:
        """What tokens cost, by model, as (input, output) in units of your currency; for this handle alone.

        With it, stats say what hits have saved.
        """
        self._costs = {check_name("model", model): _token_cost(model, cost) for model, cost in costs.items()}

    def _saved(self, model: str, answer: Mapping[str, Any]) -> int:
        stored: Any = answer.get("cost_micros")
        return int(stored) if _is_count(stored) else _cost_micros(self._costs.get(model), answer)


def _address(key: str) -> Address:
    return Address("llm", None, None, key)


def _model(params: Mapping[str, Any]) -> str:
    return check_name("params.model", params["model"])


def _is_answer(value: Any) -> bool:
    """Whether an entry is one that `store` has written."""
    return (
        isinstance(value, dict)
        and "response" in value
        and all(_is_count(value.get(name, 0)) for name in ("input_tokens", "output_tokens"))
    )


def _read(answer: dict[str, Any], read: Callable[[Any], Any] | None) -> dict[str, Any] | None:
    if read is None:
        return answer
    try:
        return {**answer, "response": read(answer["response"])}
    except Exception as error:  # noqa: BLE001 whatever a reader raises says that it can't
        _logger.warning("a cached answer can't be read back, so it is a miss: %r", error)
        return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _tokens(tokens: Mapping[str, int] | None) -> dict[str, int]:
    if tokens is None:
        return {}
    if not isinstance(tokens, Mapping) or tokens.keys() - {"input", "output"}:
        raise InvalidInputError(
            f'tokens: give a dict like {{"input": 120, "output": 30}}, not {tokens!r:.80}', field="tokens"
        )
    for name, number in tokens.items():
        check_count(f"tokens.{name}", number, 0, 2**53)
    return {f"{name}_tokens": number for name, number in tokens.items()}


def _token_cost(model: str, cost: tuple[float, float]) -> TokenCost:
    try:
        made = TokenCost(*(float(part) for part in cost))
    except (TypeError, ValueError):
        made = TokenCost(math.nan, math.nan)
    if not all(math.isfinite(part) and part >= 0 for part in made):
        raise InvalidInputError(
            f"costs: {model!r} needs two costs of 0 or more, not {cost!r:.80}", field="costs"
        )
    return made


def _cost_micros(cost: TokenCost | None, answer: Mapping[str, Any]) -> int:
    if cost is None:
        return 0
    units: float = answer.get("input_tokens", 0) * cost.input + answer.get("output_tokens", 0) * cost.output
    return round(units * 1_000_000)
