"""Which of a question's terms documents hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mnemolog.query.scoring.formulas import Floats


@dataclass(frozen=True, slots=True)
class Holding:
    """The `rarity` of each distinct term of a question, its idf [terms], and whether each document holds it,
    `held` [terms, documents]."""

    rarity: Floats
    held: NDArray[np.bool_]

    def at(self, which: slice | NDArray[np.int64]) -> Holding:
        """The same of some of the documents."""
        return Holding(self.rarity, self.held[:, which])

    def beside(self, other: Holding) -> Holding:
        """What each document and the one that stands at its place in `other` hold together."""
        return Holding(self.rarity, self.held | other.held)

    def coverage(self) -> Floats:
        """The share of the terms, by rarity, that each document holds; 0 where there are no terms."""
        whole = float(self.rarity.sum())
        held: Floats = (self.rarity[:, None] * self.held).sum(axis=0)
        return held / whole if whole else held

    def count(self) -> Floats:
        """The share of the terms, each counting the same."""
        share: Floats = self.held.sum(axis=0) / max(len(self.rarity), 1)
        return share

    def rarest(self) -> Floats:
        """The rarity of the rarest term that each document holds, as a share of the rarest of all."""
        highest = float(self.rarity.max(initial=0.0))
        held: Floats = (self.rarity[:, None] * self.held).max(axis=0, initial=0.0)
        return held / highest if highest else held


@dataclass(frozen=True, slots=True)
class Beside:
    """What each document holds itself, `own`, and what the one before it holds, `before`."""

    own: Holding
    before: Holding

    def at(self, which: NDArray[np.int64]) -> Beside:
        """The same of some of the documents."""
        return Beside(self.own.at(which), self.before.at(which))

    def joined(self) -> Floats:
        """The share of the terms that each holds together with the one before it."""
        return self.own.beside(self.before).coverage()
