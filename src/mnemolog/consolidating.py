"""How a worker consolidates: by which extractor, and how often."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemolog.processors.reactors.consolidation import BATCH, EVERY, SECONDS, ConsolidationReactor, Pace
from mnemolog.producers.clock import utc_now
from mnemolog.producers.ids import new_id
from mnemolog.query.models import to_item
from mnemolog.schemas.checks import check_count, check_seconds
from mnemolog.schemas.consolidation_events import MAX_READ
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.extraction import Extractor, Summarizer

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Log
    from mnemolog.storage.layout import Manifest, Views


@dataclass(frozen=True, slots=True)
class Consolidating:
    """An extractor, and when it is asked; see `Pace`."""

    extractor: Extractor
    pace: Pace

    def reactor(self, views: Views, manifest: Manifest, partition: int, log: Log) -> ConsolidationReactor:
        """The reactor of one partition's shard."""
        return ConsolidationReactor(
            views, manifest, partition, log, utc_now, new_id, self.extractor, to_item, self.pace
        )


def consolidating(
    extractor: str, *, every: int = EVERY, seconds: float = SECONDS, batch: int = BATCH
) -> Consolidating:
    """Consolidate by the extractor of that name; see `named_extractor`.

    Raises:
        InvalidInputError: there is no such extractor, or a number makes no sense.
    """
    check_count("every", every, 1, 1_000_000)
    check_count("batch", batch, 1, MAX_READ)
    pace = Pace(every=every, seconds=check_seconds("seconds", seconds), batch=batch)
    return Consolidating(named_extractor(extractor), pace)


def named_extractor(name: str) -> Extractor:
    """`rules`; `llm:MODEL`, at the endpoint of `OPENAI_BASE_URL` with `OPENAI_API_KEY`; or `MODULE:FUNCTION`.

    Raises:
        InvalidInputError: there is none of that name.
    """
    kind, _, rest = name.partition(":")
    if name == "rules":
        from mnemolog.extractors import RuleExtractor

        return RuleExtractor()
    if kind == "llm" and rest:
        from mnemolog.extractors.llm import LLMExtractor

        return LLMExtractor(rest)
    if kind and rest:
        extractor: Extractor = _imported(kind, rest)
        return extractor
    raise InvalidInputError(
        f"unknown extractor {name!r}; known are 'rules', 'llm:MODEL' and 'MODULE:FUNCTION'", field="extractor"
    )


def named_summarizer(name: str) -> Summarizer:
    """`llm:MODEL`, or `MODULE:FUNCTION`; see `named_extractor`.

    Raises:
        InvalidInputError: there is none of that name.
    """
    kind, _, rest = name.partition(":")
    if kind == "llm" and rest:
        from mnemolog.extractors.llm import LLMSummarizer

        return LLMSummarizer(rest)
    if kind and rest:
        summarizer: Summarizer = _imported(kind, rest)
        return summarizer
    raise InvalidInputError(f"no summarizer {name!r}; give llm:MODEL or MODULE:FUNCTION", field="extractor")


def _imported(module: str, name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise InvalidInputError(f"no extractor {module}:{name}: {error}", field="extractor") from error
    if not callable(found):
        raise InvalidInputError(f"{module}:{name} is no function", field="extractor")
    return found
