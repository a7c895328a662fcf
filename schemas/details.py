"""What a memory of a structured kind says, beside its text: one frozen model a form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from mnemolog.schemas.fields import (
    MAX_METADATA_BYTES,
    Entity,
    Identifier,
    Label,
    Metadata,
    Text,
    Timestamp,
)

Confidence = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Outcome(StrEnum):
    """How an episode ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    UNKNOWN = "unknown"


class _Detail(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, use_enum_values=True)


def _no_single(value: Any) -> Any:
    if isinstance(value, str | bytes | Mapping):
        raise ValueError("give a list")  # noqa: TRY004 pydantic wants ValueError
    return value


class Episode(_Detail):
    """Something that happened: the memory's text tells what, `context` in which circumstances."""

    form: Literal["episode"] = "episode"
    context: Metadata = Field(default_factory=dict)
    outcome: Outcome = Field(default=Outcome.UNKNOWN, validate_default=True)


class Triple(_Detail):
    """A fact: `subject` —`predicate`→ `object`, believed with `confidence` (0…1); `content` says more."""

    form: Literal["triple"] = "triple"
    subject: Entity
    predicate: Label
    object: Entity
    content: Text | None = None
    confidence: Confidence = 1.0


class Step(_Detail):
    """One step of a procedure: what to do, with what, and what should come of it."""

    action: Text
    parameters: Metadata = Field(default_factory=dict)
    expected_outcome: Text | None = None


class Procedure(_Detail):
    """How to do something: ordered `steps`, at least one, and when to do it."""

    form: Literal["procedure"] = "procedure"
    name: Label
    description: Text | None = None
    steps: Annotated[tuple[Step, ...], BeforeValidator(_no_single), Field(min_length=1, max_length=1_000)]
    trigger_conditions: Annotated[tuple[Text, ...], BeforeValidator(_no_single), Field(max_length=1_000)] = ()


class Reflection(_Detail):
    """A thought (`content`) and the `lesson` drawn from it, perhaps about an episode."""

    form: Literal["reflection"] = "reflection"
    content: Text
    lesson: Text
    improvement: Text | None = None
    source_episode: Identifier | None = None
    confidence: Confidence = 1.0


class Reward(_Detail):
    """What an action in a state was worth: `reward` is any finite number, `next_state` where it led."""

    form: Literal["reward"] = "reward"
    state: Text
    action: Text
    reward: Number
    outcome: Text | None = None
    policy: Label = "default"
    next_state: Text | None = None
    context: Metadata = Field(default_factory=dict)


class Statement(_Detail):
    """What the text says of a subject: since `date`, if one was given, and when it was said."""

    form: Literal["statement"] = "statement"
    subject: Entity
    date: Timestamp | None = None
    said_at: Timestamp | None = None
    confidence: Confidence = 1.0


Structured: TypeAlias = Episode | Triple | Procedure | Reflection | Reward | Statement
"""The detail of a memory."""


def _check_size(detail: Structured) -> Structured:
    if len(detail.model_dump_json().encode()) > MAX_METADATA_BYTES:
        raise ValueError(f"the detail is over {MAX_METADATA_BYTES} bytes of JSON")
    return detail


Detail = Annotated[Structured, Field(discriminator="form"), AfterValidator(_check_size)]
"""A detail as a field of an event: told apart by its `form`."""

COLUMNS: tuple[str, ...] = (
    "outcome",
    "subject",
    "predicate",
    "object",
    "confidence",
    "name",
    "lesson",
    "source_episode",
    "state",
    "action",
    "reward",
    "policy",
    "next_state",
)
"""The fields that have a column of their own in the memories view, for filters and aggregates."""

NUMBERS = frozenset({"confidence", "reward"})
"""Those of `COLUMNS` that are numbers; the others are text."""

KINDS: Mapping[str, str] = {
    "episode": "episode",
    "triple": "fact",
    "procedure": "procedure",
    "reflection": "reflection",
    "reward": "reward",
    "statement": "fact",
}
"""Form → the kind of a memory of it."""


def columns_of(detail: Structured | None) -> dict[str, Any]:
    """The values of `COLUMNS`; None where the form has no such field."""
    if detail is None:
        return dict.fromkeys(COLUMNS)
    held = vars(detail)
    return {name: held.get(name) for name in COLUMNS}


def dump_detail(detail: Structured | None) -> str | None:
    """The whole detail as JSON text, always the same for equal details."""
    if detail is None:
        return None
    document = detail.model_dump(mode="json")
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def load_detail(text: str | None) -> Structured | None:
    """The detail of its JSON text."""
    return None if text is None else _adapter().validate_json(text)


def check_detail(detail: object) -> Structured:
    """`detail`, a model or its fields as a dict, as a checked model.

    Raises:
        pydantic.ValidationError: it is none.
    """
    return _adapter().validate_python(detail)


@cache
def _adapter() -> TypeAdapter[Structured]:
    return TypeAdapter(Detail)


def render(detail: Structured) -> str | None:
    """The text of a memory that is made of its detail: all that should be found by search.

    None for an episode, whose text is its own.
    """
    match detail:
        case Triple():
            return _lines(f"{detail.subject} {detail.predicate} {detail.object}", detail.content)
        case Procedure():
            steps = [_step(number, step) for number, step in enumerate(detail.steps, 1)]
            return _lines(detail.name, detail.description, *steps)
        case Reflection():
            improvement = detail.improvement and f"To improve: {detail.improvement}"
            return _lines(detail.content, f"Lesson: {detail.lesson}", improvement)
        case Reward():
            outcome = detail.outcome and f"Outcome: {detail.outcome}"
            return _lines(detail.state, f"Action: {detail.action}", outcome)
    return None


def _step(number: int, step: Step) -> str:
    expected = f" → {step.expected_outcome}" if step.expected_outcome else ""
    return f"{number}. {step.action}{expected}"


def _lines(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)
