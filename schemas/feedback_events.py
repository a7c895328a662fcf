"""What was shown, what came of it, and what was learned from that."""

from __future__ import annotations

from operator import not_
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from mnemolog.schemas.config_events import AnyNamespace
from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.fields import Finite, Identifier, Label, Rating, Text

MAX_SHOWN = 1_000
MAX_FEATURES = 64
Features = Annotated[tuple[Finite, ...], Field(max_length=MAX_FEATURES)]


class Shown(BaseModel):
    """A memory that a recall showed: its `shape` in words such as `date:yes`, its `features` as numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: Identifier
    shape: Annotated[tuple[Label, ...], Field(max_length=32)] = ()
    features: Features = ()


class RecallServed(Envelope):
    """A recall showed memories, best first. `query` is left out where texts are not to be kept.

    `feature_set` names what the features mean; those of different sets are never compared.
    """

    type: Literal["RecallServed"] = "RecallServed"
    recall_id: Identifier
    query: Text | None = None
    query_type: Label = "other"
    feature_set: Label | None = None
    shown: Annotated[tuple[Shown, ...], Field(max_length=MAX_SHOWN)] = ()


class FeedbackGiven(Envelope):
    """Of the memories that a recall showed, some were used and some ignored; `ratings` grade from 0 to 1."""

    type: Literal["FeedbackGiven"] = "FeedbackGiven"
    recall_id: Identifier | None = None
    used: Annotated[tuple[Identifier, ...], Field(max_length=MAX_SHOWN)] = ()
    ignored: Annotated[tuple[Identifier, ...], Field(max_length=MAX_SHOWN)] = ()
    ratings: Annotated[dict[Identifier, Rating], Field(max_length=MAX_SHOWN)] = Field(
        default_factory=dict, exclude_if=not_
    )


class ModelRefitted(Envelope):
    """The usefulness model was fitted again to all feedback.

    `evidence`: the recalls with feedback that it rests on; `gain`: how much likelier than without
    a model it chose what was used in feedback that it had not seen; `served`: whether recalls use it.
    """

    type: Literal["ModelRefitted"] = "ModelRefitted"
    namespace: AnyNamespace
    feature_set: Label
    weights: Features
    evidence: Annotated[int, Field(ge=0)]
    gain: Finite
    served: bool
