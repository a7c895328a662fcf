"""The edges of the graph: what a memory's row says of how things hang together."""

from __future__ import annotations

from typing import Any

from mnemolog.processors.folds.memories import MemoriesFold
from mnemolog.schemas import topics
from mnemolog.schemas.rows import EDGES_FIELDS, Row, blank

_BLANK = blank(EDGES_FIELDS)
_COPIED = ("pk", "namespace", "id", "kind", "policy", "expires_at", "valid_from", "valid_to", "_off")


class EdgesProjection:
    """One row a memory that has edges, or once had: a pure function of the memory's row."""

    name = "edges"
    version = 1
    topic = topics.MEMORIES
    base = MemoriesFold.name

    def row(self, base: Row) -> Row | None:
        """See `Projection.row`."""
        if not base["connected"]:
            return None
        edges = edges_of(base)
        if not edges:
            kept = {name: base[name] for name in ("pk", "namespace", "id", "_off")}
            return {**_BLANK, **kept, "deleted": True, "_fill": 0}
        copied = {name: base[name] for name in _COPIED}
        superseded = base["superseded_by"] is not None
        return {**_BLANK, **copied, "superseded": superseded, "edges": edges, "deleted": False, "_fill": 0}


def edges_of(base: Row) -> list[Row]:
    """The edges that a memory's row states.

    `triple`: subject → object. `transition`: state → next state, by an action, for a reward. `provenance`:
    the memory → one that it rests on. `link`: the memory → another one. In the last two `source` is null: it
    is the memory itself.
    """
    if base["deleted"]:
        return []
    edges = []
    if base["predicate"] is not None:
        edges.append(_edge("triple", base["predicate"], base["object"], base["subject"], base["confidence"]))
    if base["next_state"] is not None:
        edge = _edge("transition", base["action"], base["next_state"], base["state"])
        edges.append(edge | {"reward": base["reward"]})
    if base["source_episode"] is not None:
        edges.append(_edge("provenance", "reflects_on", base["source_episode"]))
    edges += [_edge("provenance", "derived_from", source) for source in base["sources"] or ()]
    edges += [_edge("link", link["relation"], link["target"]) for link in base["links"] or ()]
    return edges


def _edge(
    form: str, relation: str, target: str, source: str | None = None, confidence: float | None = None
) -> dict[str, Any]:
    return {
        "form": form,
        "relation": relation,
        "source": source,
        "target": target,
        "confidence": confidence,
        "reward": None,
    }
