"""What a writer tells of a batch that a view has applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Applied:
    """A batch that `view` has applied: so many `records`, which changed so many `rows`.

    It took `seconds`, of which `commit_seconds` went into the commit. `next_offset` is what the view needs
    next.
    """

    view: str
    records: int
    rows: int
    next_offset: int
    seconds: float
    commit_seconds: float


OnApplied: TypeAlias = Callable[[Applied], None]
