"""Links between memories, and the graph of entities, memories and states that they make."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from mnemolog.producers.receipts import Receipt
from mnemolog.query.graph_models import Direction, Entities, Links, Neighbour, NodeType, Path, Provenance
from mnemolog.verbs.handle import Handle


class Graphing(Handle):
    """The verbs of the graph. Its edges follow the memories: what is forgotten or expired has none."""

    def link(self, id: str, target: str, relation: str = "related") -> Receipt:  # noqa: A002
        """Link the memory `id` to the memory `target`, as its `relation`; once, however often it is said.

        Raises:
            NotFoundError: one of the two is not in this namespace; `field` names the argument.
        """
        event = self._commands.link(id, target, relation)
        self._check_references([event])
        return Receipt(id, self._session.append([event])[0])

    def unlink(self, id: str, target: str, relation: str | None = None) -> Receipt:  # noqa: A002
        """Take a link away; without a `relation` all from `id` to `target`. No such link is harmless.

        Raises:
            NotFoundError: the memory `id` is not in this namespace.
        """
        event = self._commands.unlink(id, target, relation)
        self._check_references([event])
        return Receipt(id, self._session.append([event])[0])

    def neighbours(
        self,
        node: str,
        *,
        type: NodeType | None = None,  # noqa: A002 the field's standard name
        depth: int = 1,
        predicates: Iterable[str] | None = None,
        direction: Direction = "both",
        limit: int = 100,
        valid_at: datetime | None = None,
        include_superseded: bool = False,
    ) -> list[Neighbour]:
        """What is up to `depth` (1…5) steps from a node, nearest first, with the edge that leads there.

        `node` is the name of an entity, the id of a memory or a state, whichever of them is there first, or
        what `type` says. Entities are found however they are spelled: in any case, with any spaces.
        `predicates` names the relations to follow. `valid_at` follows what held in the world at that time;
        without it, all that is known is followed, superseded facts only if asked for.
        """
        self._session.settle()
        return self._queries.graph.neighbours(
            node,
            type=type,
            depth=depth,
            predicates=predicates,
            direction=direction,
            limit=limit,
            valid_at=valid_at,
            include_superseded=include_superseded,
        )

    def paths(
        self,
        start: str,
        end: str,
        *,
        max_depth: int = 4,
        predicates: Iterable[str] | None = None,
        limit: int = 10,
        valid_at: datetime | None = None,
        include_superseded: bool = False,
    ) -> list[Path]:
        """The ways between two nodes of up to `max_depth` (1…5) steps, shortest first.

        Edges are walked either way; each edge tells which way it points. See `neighbours` for the arguments.
        """
        self._session.settle()
        return self._queries.graph.paths(
            start,
            end,
            max_depth=max_depth,
            predicates=predicates,
            limit=limit,
            valid_at=valid_at,
            include_superseded=include_superseded,
        )

    def links(self, id: str) -> Links:  # noqa: A002 the public name of the field
        """The links of a memory, those that it has and those that others have to it."""
        self._session.settle()
        return self._queries.graph.links(id)

    def provenance(self, id: str, *, depth: int = 5, limit: int = 100) -> Provenance:  # noqa: A002
        """What a memory rests on, and what rests on it, up to `depth` (1…5) steps away, nearest first.

        A reflection rests on its source episode, any memory on its `sources`.
        """
        self._session.settle()
        return self._queries.graph.provenance(id, depth=depth, limit=limit)

    def entities(self, prefix: str | None = None, *, limit: int = 100, offset: int = 0) -> Entities:
        """The entities that facts name, in alphabetical order; those that begin with `prefix`, if given."""
        self._session.settle()
        return self._queries.graph.entities(prefix, limit=limit, offset=offset)
