"""How well recall ranks: any set of memories, questions and evidence, through the real library."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import mnemolog
from mnemolog.embedders import EmbedderSpec, default_embedder
from mnemolog.embedders.cache import CachedEmbedder

DEPTH = 100
"""How deep a recall goes in search of the evidence."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the ids of the memories that answer it, and what kind of question it is.

    `before`: only the first so many memories exist when it is asked; None for all.
    """

    text: str
    evidence: frozenset[str]
    category: str = ""
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """One namespace: its memories as arguments of `remember`, in order, and the questions about them."""

    name: str
    memories: Sequence[dict[str, Any]]
    questions: Sequence[Asked]

    def due(self, asked: Asked) -> int:
        """How many memories exist when a question is asked."""
        return asked.before or len(self.memories)

    def in_order(self) -> list[Asked]:
        """The questions as time goes on."""
        return sorted(self.questions, key=self.due)


@dataclass(slots=True)
class Scores:
    """One entry a question: 1 / rank of the first evidence, share of the evidence in the first 5 and 10."""

    collection: list[str] = field(default_factory=list)
    category: list[str] = field(default_factory=list)
    values: list[tuple[float, float, float]] = field(default_factory=list)

    def add(self, collection: str, asked: Asked, ids: Sequence[str]) -> None:
        """Take what a question found, best first."""
        ranks = [ids.index(wanted) + 1 for wanted in asked.evidence if wanted in ids]
        share = [sum(rank <= deep for rank in ranks) / len(asked.evidence) for deep in (5, 10)]
        self.collection.append(collection)
        self.category.append(asked.category)
        self.values.append((1 / min(ranks) if ranks else 0.0, share[0], share[1]))


def default_once() -> CachedEmbedder:
    """The default embedder, which embeds each text once in all runs."""
    return CachedEmbedder(default_embedder(), max_bytes=2**30)


def evaluate(collections: Iterable[Collection], embedder: EmbedderSpec, weights: Any = None) -> Scores:
    """Remember every collection, ask its questions, and score the ranks."""
    scores = Scores()
    with tempfile.TemporaryDirectory() as folder:
        for collection in collections:
            opened = mnemolog.open(folder, namespace=collection.name, embedder=embedder, weights=weights)
            with opened as memory:
                remember_and_ask(memory, collection, scores)
    return scores


def remember_and_ask(memory: mnemolog.Memory, collection: Collection, scores: Scores) -> None:
    """Ask a collection's questions of an empty namespace, and score the ranks."""
    for asked in remember_and_go_through(memory, collection):
        scores.add(collection.name, asked, memory.recall(asked.text, k=DEPTH).ids)


def remember_and_go_through(memory: mnemolog.Memory, collection: Collection) -> Iterator[Asked]:
    """The questions as time goes on, each when the memories that exist by then are remembered."""
    known = 0
    for asked in collection.in_order():
        if (due := collection.due(asked)) > known:
            receipts = memory.remember_many(collection.memories[known:due])
            memory.wait(receipts[-1].position, 900)
            known = due
        yield asked


def compare(base: Scores, other: Scores, seed: int = 7, rounds: int = 2_000) -> str:
    """The paired difference in MRR of two runs over the same questions, with bootstrap intervals over
    questions and over collections."""
    gained = np.array(other.values)[:, 0] - np.array(base.values)[:, 0]
    low, high = interval(gained, seed, rounds)
    names = np.array(base.collection)
    each = np.array([gained[names == name].mean() for name in dict.fromkeys(base.collection)])
    few, many = interval(each, seed, rounds)
    return (
        f"{gained.mean():+.4f}, 95 % CI {low:+.4f} to {high:+.4f} over questions,"
        f" {few:+.4f} to {many:+.4f} over {len(each)} collections"
    )


def interval(values: np.ndarray, seed: int = 7, rounds: int = 2_000) -> tuple[float, float]:
    """The 95 % confidence interval of a mean, by bootstrap over questions."""
    chance = np.random.default_rng(seed)
    means = np.array([values[chance.integers(0, len(values), len(values))].mean() for _ in range(rounds)])
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def show(title: str, runs: dict[str, Scores], results: Path | None) -> None:
    """Print a table for each way of recall, by category, and write JSON if asked."""
    table = Table(title=title, title_justify="left")
    for column in ("recall", "questions", "n", "MRR", "95 % CI", "R@5", "R@10"):
        table.add_column(column, no_wrap=True)
    document = {}
    for name, scores in runs.items():
        values, categories = np.array(scores.values), np.array(scores.category)
        for category in ["all", *sorted({one for one in scores.category if one})]:
            chosen = values if category == "all" else values[categories == category]
            low, high = interval(chosen[:, 0])
            mrr, five, ten = chosen.mean(axis=0)
            figures = (f"{mrr:.3f}", f"{low:.3f}–{high:.3f}", f"{five:.3f}", f"{ten:.3f}")
            table.add_row(name, category, str(len(chosen)), *figures)
            document[f"{name} / {category}"] = {"mrr": mrr, "r5": five, "r10": ten, "n": len(chosen)}
    Console(width=120).print(table)
    if results is not None:
        results.write_text(json.dumps(document, indent=1))
