"""The few highest of many values."""

from __future__ import annotations

import numpy as np

from mnemolog.query.scoring.formulas import Floats
from mnemolog.query.scoring.sequence import Flags, Integers

_ROWS = 32


def topmost(values: Floats, allowed: Flags, count: int) -> Integers:
    """The places of the `count` highest values among the allowed, ascending; of equal ones the last.

    Nearly all are ruled out by a bound first, which takes a tenth of the time of a partition of all.
    """
    masked = values if allowed.all() else np.where(allowed, values, -np.inf)
    bound = _bound(masked, count)
    places = np.flatnonzero(masked >= bound if bound > -np.inf else allowed)
    if places.size <= count:
        return places
    among = masked[places]
    least = np.partition(among, places.size - count)[places.size - count]
    higher, equal = places[among > least], places[among == least]
    return np.sort(np.concatenate([higher, equal[higher.size - count :]]))


def _bound(values: Floats, count: int) -> float:
    """A value that at least `count` of `values` reach; −∞ where none is found.

    It is the `count`-th highest of the maxima of many groups.
    """
    groups = len(values) // _ROWS
    if groups <= count:
        return -np.inf
    highest = values[: groups * _ROWS].reshape(_ROWS, groups).max(axis=0)
    return float(np.partition(highest, groups - count)[groups - count])
