"""What is in a namespace's cache, in a form that compares."""

from __future__ import annotations

from typing import Any

import numpy as np

from mnemolog.query.namespace_cache import NamespaceCache

TERMS = ["tea", "coffe", "咖啡", "al"]


def contents(cache: NamespaceCache) -> dict[str, Any]:
    """All that a recall can see of each live memory, whatever slot it has."""
    names = {number: name for name, number in cache.authors.values.items()}
    bm25 = cache.postings.scores(TERMS, cache.size)
    return {
        pk: {
            "row": cache.row(slot),
            "usage": cache.usage(pk),
            "vector": cache.vectors.at(np.array([slot])).tobytes(),
            "flags": (cache.has_vector[slot], cache.superseded[slot], *cache.shape[slot]),
            "numbers": _numbers(cache, slot),
            "author": names.get(int(cache.author[slot])),
            "bm25": round(float(bm25[slot]), 9),
        }
        for pk, slot in cache.slot_of.items()
        if cache.alive[slot]
    }


def _numbers(cache: NamespaceCache, slot: int) -> list[str]:
    columns = (cache.occurred, cache.used, cache.expires, cache.importance, cache.words)
    return [repr(float(column[slot])) for column in columns]
