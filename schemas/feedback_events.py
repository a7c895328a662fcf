"""What was shown, and what came of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mnemolog.schemas.envelope import Envelope
from mnemolog.schemas.fields import Identifier


class FeedbackGiven(Envelope):
    """Of the memories that a recall showed, some were used and some ignored."""

    type: Literal["FeedbackGiven"] = "FeedbackGiven"
    recall_id: Identifier | None = None
    used: Annotated[tuple[Identifier, ...], Field(max_length=1_000)] = ()
    ignored: Annotated[tuple[Identifier, ...], Field(max_length=1_000)] = ()
