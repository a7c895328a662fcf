"""What happens to context: values under keys, by agent and thread, and the short-term caches beside them.

All of it stands in a compacted topic, so what an event says holds until a later one of the same key: the last
word wins, in the order of the log. In these events `agent_id` and `thread_id` say whose the entry is.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, with_config
from typing_extensions import TypedDict

from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.fields import Identifier, Label, Timestamp, a_number
from mnemolog.schemas.namespaces import Namespace, encode_namespace

Tier: TypeAlias = Literal["context", "llm", "tool", "session", "policy"]
"""Entries of different tiers never meet. `policy` holds how long the others keep."""

MAX_VALUE_BYTES = 64 * 1024
MAX_VALUE_DEPTH = 32
MAX_COUNTS = 1_000


def check_value(value: Any) -> Any:
    """`value`, if it is JSON that fits into an entry.

    Raises:
        ValueError: it is not plain JSON, holds NaN or an infinity, nests too deep, or is too long.
    """
    if _json_bytes(value, 1) > MAX_VALUE_BYTES:
        raise ValueError(
            f"the value is over {MAX_VALUE_BYTES} bytes of JSON; store it elsewhere and keep a link"
        )
    return value


def _json_bytes(value: Any, depth: int) -> int:
    """About the bytes of `value` as JSON, which stands `depth` levels deep."""
    if depth > MAX_VALUE_DEPTH:
        raise ValueError(f"the value nests deeper than {MAX_VALUE_DEPTH} levels")
    match value:
        case None | bool():
            return 5
        case str():
            return _text_bytes(value) + 2
        case int():
            return 1 + value.bit_length() * 3 // 10
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value!r} is not a JSON number")
            return 24
        case dict():
            return 2 + sum(_text_bytes(key) + _json_bytes(one, depth + 1) + 4 for key, one in value.items())
        case list():
            return 2 + sum(_json_bytes(one, depth + 1) + 1 for one in value)
    raise ValueError(f"not JSON: {value!r:.80} of type {type(value).__name__}")


def _text_bytes(text: Any) -> int:
    if not isinstance(text, str):
        raise ValueError(f"keys of JSON objects are strings, not {text!r:.80}")  # noqa: TRY004 pydantic's error
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair, which is not Unicode text") from None


Value = Annotated[JsonValue, BeforeValidator(check_value)]
Seconds = Annotated[float, BeforeValidator(a_number), Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class ContextSet(Envelope):
    """A key got a value, in place of any that it had.

    `origin` is the model or tool that a cached answer is from. `ttl_seconds` is what a renewal adds again.
    """

    type: Literal["ContextSet"] = "ContextSet"
    tier: Tier = "context"
    key: Identifier
    value: Value
    origin: Label | None = None
    expires_at: Timestamp | None = None
    ttl_seconds: Seconds | None = None

    def compaction_key(self) -> str:
        """The entry."""
        return entry_key(self.tier, self.agent_id, self.thread_id, self.key)


class ContextTouched(Envelope):
    """The value that `revision`, a ContextSet, gave to a key expires at another time.

    It has a key of its own, so that compaction keeps the value too. Of a value that is no longer the key's
    it says nothing: a renewal that comes late changes no newer value.
    """

    type: Literal["ContextTouched"] = "ContextTouched"
    tier: Tier = "context"
    key: Identifier
    revision: Identifier
    expires_at: Timestamp | None

    def compaction_key(self) -> str:
        """The entry's time to expire."""
        return f"touch|{entry_key(self.tier, self.agent_id, self.thread_id, self.key)}"


class ContextDeleted(Envelope):
    """A key has no value any more."""

    type: Literal["ContextDeleted"] = "ContextDeleted"
    tier: Tier = "context"
    key: Identifier

    def compaction_key(self) -> str:
        """The entry."""
        return entry_key(self.tier, self.agent_id, self.thread_id, self.key)


class ContextScopeDeleted(Envelope):
    """All entries of some tiers were deleted, as of this event: of one agent, thread or origin where named.

    Without `tiers` all there is of context in the namespace, counts and policies too.
    """

    type: Literal["ContextScopeDeleted"] = "ContextScopeDeleted"
    tiers: Annotated[tuple[Tier, ...], Field(max_length=5)] = ()
    origin: Label | None = None

    def compaction_key(self) -> str:
        """The scope."""
        tiers = ",".join(sorted(set(self.tiers)))
        return f"scope|{tiers}|{_joined(self.agent_id, self.thread_id, self.origin)}"


@with_config(ConfigDict(extra="forbid"))
class CacheCount(TypedDict):
    """What came of a cache's checks, for one model or tool; `saved_micros` is in millionths of a currency."""

    tier: Tier
    name: Label | None
    hits: Count
    misses: Count
    stores: Count
    saved_micros: Count


class CacheCounted(Envelope):
    """All that one handle, the `source`, has counted so far: its last word holds, so none counts twice."""

    type: Literal["CacheCounted"] = "CacheCounted"
    source: Identifier
    counts: Annotated[tuple[CacheCount, ...], Field(max_length=MAX_COUNTS)]

    def compaction_key(self) -> str:
        """The source."""
        return f"counts|{_joined(self.source)}"


def entry_key(tier: str, agent_id: str | None, thread_id: str | None, key: str) -> str:
    """Names an entry within its namespace: no separator in a part can make two of them meet."""
    return f"{tier}|{_joined(agent_id, thread_id, key)}"


def context_pk(namespace: Namespace, within: str) -> str:
    """The primary key of the row of what `within` names, an entry's key or a source of counts."""
    return f"{encode_namespace(namespace)}|{within}"


def _joined(*parts: str | None) -> str:
    """Parts percent-encoded and joined; none is empty, so None has a place of its own."""
    return "|".join("" if part is None else quote(part, safe="") for part in parts)
