"""What happens to settings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, JsonValue

from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.fields import Label
from mnemolog.schemas.namespaces import Namespace, make_namespace

EVERYWHERE: Namespace = ()
"""Where settings for all namespaces stand: the namespace without parts, which no memory can have."""


def _no_single_string(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError("give a list of strings, not one string")  # noqa: TRY004 pydantic wants ValueError
    return value


def _any_namespace(parts: Namespace) -> Namespace:
    return parts if parts == EVERYWHERE else make_namespace(parts)


AnyNamespace = Annotated[tuple[str, ...], BeforeValidator(_no_single_string), AfterValidator(_any_namespace)]
"""A namespace, or all of them."""


class ConfigChanged(Envelope):
    """One setting of a namespace, or of all, has a new value; null takes it back.

    Each setting is an event of its own, so that the compacted topic keeps the last value of every one, and
    two programs that change different settings lose nothing.
    """

    type: Literal["ConfigChanged"] = "ConfigChanged"
    namespace: AnyNamespace
    setting: Label
    value: JsonValue = None

    def compaction_key(self) -> str:
        """See `Envelope.compaction_key`: the setting."""
        return self.setting
