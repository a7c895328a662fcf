"""What a table may hold: Bloom filters, so that what is certainly new is not looked for.

Most of what events concern is new, and to find nothing in a table takes as long as to find something. Bloom,
"Space/time trade-offs in hash coding with allowable errors", CACM 13(7), 1970; k = 4 and 16 bits a key, which
lets .24 % of new keys through; filters that grow follow Almeida et al., "Scalable Bloom filters", 2007.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_PROBES = np.arange(4, dtype=np.uint64)
_BITS_PER_KEY = 16
_FIRST_CAPACITY = 4_096
_GROWTH = 4

_Hashes: TypeAlias = NDArray[np.uint64]


class Presence:
    """The values that may stand in some columns of a table which has applied all before offset `applied`.

    Whoever looks into a column that is not known yet says so with `ask`.
    """

    def __init__(self) -> None:
        self.applied = -1
        self._columns: dict[str, _Values] = {}
        self._asked: dict[str, int] = {}

    def at(self, applied: int) -> None:
        """Forget what was known if another writer has gone on to `applied`."""
        if applied != self.applied:
            self._columns.clear()
            self.applied = applied

    def knows(self, column: str) -> bool:
        """Whether the values of the column are known."""
        return column in self._columns

    def ask(self, column: str, count: int, rows: int) -> bool:
        """Whether it pays to read a column of `rows` rows, now that `count` more values are looked for."""
        self._asked[column] = self._asked.get(column, 0) + count
        if self._asked[column] < rows:
            return False
        self._asked[column] = 0
        return True

    def learn(self, column: str, values: Iterable[Sequence[object]]) -> None:
        """Take all values of a column, part by part."""
        known = _Values()
        for part in values:
            known.add(part)
        self._columns[column] = known

    def possible(self, column: str, values: Sequence[str]) -> list[str]:
        """Those of `values` that the column may hold; each that it holds is among them."""
        return self._columns[column].possible(values)

    def add(self, rows: Sequence[dict[str, object]], applied: int) -> None:
        """Take the rows that were written, which made the table apply all before `applied`."""
        self.applied = applied
        for column, known in self._columns.items():
            known.add([value for row in rows if (value := row.get(column)) is not None])


class _Values:
    """Filters, each larger than the one before, so that they take two bytes a value however many come."""

    def __init__(self) -> None:
        self._filters = [_Filter(_FIRST_CAPACITY)]

    def add(self, values: Iterable[object]) -> None:
        given = [value for value in values if value is not None]
        if list in set(map(type, given)):
            given = [one for value in given for one in (value if isinstance(value, list) else (value,))]
        hashes = _hash(given)
        last = self._filters[-1]
        if last.count + len(hashes) > last.capacity and last.count:
            last = _Filter(max(last.capacity * _GROWTH, len(hashes)))
            self._filters.append(last)
        last.add(hashes)

    def possible(self, values: Sequence[str]) -> list[str]:
        hashes = _hash(values)
        found = np.zeros(len(values), dtype=bool)
        for one in self._filters:
            found |= one.holds(hashes)
        return [value for value, likely in zip(values, found.tolist(), strict=True) if likely]


class _Filter:
    def __init__(self, capacity: int) -> None:
        bits = 1 << (capacity * _BITS_PER_KEY - 1).bit_length()
        self.capacity = bits // _BITS_PER_KEY
        self.count = 0
        self._mask = np.uint64(bits - 1)
        self._bytes = np.zeros(bits // 8, dtype=np.uint8)

    def add(self, hashes: _Hashes) -> None:
        places, bits = self._places(hashes)
        np.bitwise_or.at(self._bytes, places.ravel(), bits.ravel())
        self.count += len(hashes)

    def holds(self, hashes: _Hashes) -> NDArray[np.bool_]:
        places, bits = self._places(hashes)
        found: NDArray[np.bool_] = np.all(self._bytes[places] & bits, axis=1)
        return found

    def _places(self, hashes: _Hashes) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        """Bytes and bits, [n, 4] each: h + i·h', the two hashes that stand for any number of them (Kirsch and
        Mitzenmacher 2006)."""
        step = (hashes >> np.uint64(32)) | np.uint64(1)
        at = (hashes[:, None] + _PROBES * step[:, None]) & self._mask
        bits = np.left_shift(np.uint8(1), (at & np.uint64(7)).astype(np.uint8))
        return (at >> np.uint64(3)).astype(np.intp), bits


def _hash(values: Sequence[object]) -> _Hashes:
    """64 bits each, the same within this process alone."""
    return np.fromiter(map(hash, values), np.int64, len(values)).view(np.uint64)
