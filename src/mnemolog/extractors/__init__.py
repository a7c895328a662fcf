"""Extractors: what finds facts in memories. Any function from memories to `mnemolog.Fact`s is one, too."""

from __future__ import annotations

from mnemolog.extractors.rules import RuleExtractor
from mnemolog.schemas.extraction import Extraction, Extractor, Summarizer

__all__ = ["Extraction", "Extractor", "RuleExtractor", "Summarizer"]
