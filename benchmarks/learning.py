"""How much feedback helps: learn from all collections but one, ask about that one, for each in turn.

Every collection is remembered twice: where it is taught, and where it is asked about, which never gets
feedback. To leave one out, its taught namespace is forgotten, which takes its share of what was learned
along; then it is taught again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import mnemolog
from benchmarks.evaluation import Collection, Scores, remember_and_ask, remember_and_go_through
from mnemolog.embedders import EmbedderSpec

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Noise:
    """How feedback errs: the shares of evidence that is missed, of other memories that are cited, of marks
    that are turned around; and the share of questions that get any feedback at all."""

    missed: float = 0.0
    cited: float = 0.0
    flipped: float = 0.0
    asked: float = 1.0


NOISES = {
    "oracle": Noise(),
    "noisy": Noise(missed=0.5, cited=0.1, asked=0.5),
    "flipped": Noise(flipped=0.2),
    "half": Noise(missed=0.5, asked=0.5),
}


def learn_and_ask(
    collections: Sequence[Collection], embedder: EmbedderSpec, noise: Noise, seed: int = 1
) -> Scores:
    """The scores of each collection with what the others taught."""
    chance = np.random.default_rng(seed)
    scores = Scores()
    with (
        tempfile.TemporaryDirectory() as folder,
        mnemolog.open(folder, embedder=embedder, wait_seconds=900) as memory,
        mnemolog.open(folder, embedder=embedder, wait_seconds=900, track="off") as asking,
    ):
        for collection in collections:
            _teach(memory.at(("taught", collection.name)), collection, noise, chance)
        for collection in collections:
            taught = memory.at(("taught", collection.name))
            taught.forget_scope(everything=True)
            taught.list(limit=0)
            refit = memory.refit_usefulness()
            if refit is not None:
                asking.wait(refit.position, 900)
            remember_and_ask(asking.at(("asked", collection.name)), collection, scores)
            _teach(taught, collection, noise, chance)
    return scores


def _teach(
    memory: mnemolog.Memory, collection: Collection, noise: Noise, chance: np.random.Generator
) -> None:
    recalls = [
        (memory.recall(asked.text, k=SHOWN), asked.evidence)
        for asked in remember_and_go_through(memory, collection)
        if chance.random() < noise.asked
    ]
    for hits, evidence in recalls:
        used = [one for one in hits.ids if _said_used(one in evidence, noise, chance)]
        if hits:
            memory.feedback(hits.recall_id, used=used, ignored=[one for one in hits.ids if one not in used])


def _said_used(useful: bool, noise: Noise, chance: np.random.Generator) -> bool:
    said = chance.random() >= noise.missed if useful else chance.random() < noise.cited
    return said != (chance.random() < noise.flipped)
