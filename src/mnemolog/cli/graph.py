"""`mnemolog graph …`: links between memories, and the graph that these and the facts make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, print_json_lines, print_table, print_written
from mnemolog.cli.session import open_memory
from mnemolog.cli.values import parse_time

if TYPE_CHECKING:
    from mnemolog.query.graph_models import Edge, Neighbour, Path

app = typer.Typer(
    help="What hangs together: facts, links, where memories are from, what actions led to.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Predicates = Annotated[
    list[str] | None, typer.Option("--predicate", metavar="NAME", help="Follow only this; repeatable.")
]
_ValidAt = Annotated[str | None, typer.Option(metavar="TIME", help="Follow what held in the world then.")]
_Superseded = Annotated[bool, typer.Option("--superseded", help="Also what newer memories replaced.")]
_Id = Annotated[str, typer.Argument(metavar="ID", help="The memory.")]
_Target = Annotated[str, typer.Argument(metavar="TARGET", help="The other memory.")]
_Limit = Annotated[int, typer.Option(help="How many at most.")]


def neighbours(
    target: Target,
    node: Annotated[str, typer.Argument(metavar="NODE", help="An entity, a memory's id, or a state.")],
    type_: Annotated[str | None, typer.Option("--type", help="entity, memory or state.")] = None,
    depth: Annotated[int, typer.Option(metavar="1…5", help="How many steps away.")] = 1,
    predicates: _Predicates = None,
    direction: Annotated[str, typer.Option(help="out, in or both.")] = "both",
    limit: _Limit = 100,
    valid_at: _ValidAt = None,
    superseded: _Superseded = False,
) -> None:
    """What is near a node, nearest first; with --json one a line."""
    options: dict[str, Any] = {"type": type_, "depth": depth, "direction": direction, "limit": limit}
    options |= _shared(predicates, valid_at, superseded)
    with open_memory(target) as memory:
        found = memory.neighbours(node, **options)
    _print_neighbours(target, found)


def paths(
    target: Target,
    start: Annotated[str, typer.Argument(metavar="START", help="An entity, a memory's id, or a state.")],
    end: Annotated[str, typer.Argument(metavar="END", help="Another.")],
    max_depth: Annotated[int, typer.Option(metavar="1…5", help="How many steps at most.")] = 4,
    predicates: _Predicates = None,
    limit: _Limit = 10,
    valid_at: _ValidAt = None,
    superseded: _Superseded = False,
) -> None:
    """The ways between two nodes, shortest first; with --json one a line."""
    options: dict[str, Any] = {"max_depth": max_depth, "limit": limit}
    options |= _shared(predicates, valid_at, superseded)
    with open_memory(target) as memory:
        found = memory.paths(start, end, **options)
    if target.json:
        print_json_lines(found)
    else:
        print_table(("steps", "path"), [(path.length, _way(path)) for path in found])
    _note_nothing(found)


def _shared(predicates: Sequence[str] | None, valid_at: str | None, superseded: bool) -> dict[str, Any]:
    return {
        "predicates": predicates or None,
        "valid_at": parse_time("--valid-at", valid_at),
        "include_superseded": superseded,
    }


def _way(path: Path) -> str:
    parts = [path.nodes[0].name]
    for node, edge in zip(path.nodes[1:], path.edges, strict=True):
        forward = edge.target == node
        parts.append(f"—{edge.relation}→ {node.name}" if forward else f"←{edge.relation}— {node.name}")
    return " ".join(parts)


def links(target: Target, id_: _Id) -> None:
    """The links of a memory, to others and from others."""
    with open_memory(target) as memory:
        found = memory.links(id_)
    if target.json:
        print_json(found)
    else:
        _print_edges([*found.outgoing, *found.incoming])


def provenance(
    target: Target,
    id_: _Id,
    depth: Annotated[int, typer.Option(metavar="1…5", help="How many steps away.")] = 5,
) -> None:
    """What a memory rests on, and what rests on it."""
    with open_memory(target) as memory:
        found = memory.provenance(id_, depth=depth)
    if target.json:
        print_json(found)
        return
    rows = [("rests on", one.distance, one.node.name, one.edge.relation) for one in found.upstream]
    rows += [("supports", one.distance, one.node.name, one.edge.relation) for one in found.downstream]
    print_table(("", "distance", "memory", "relation"), rows)
    _note_nothing(rows)


def entities(
    target: Target,
    prefix: Annotated[str | None, typer.Argument(metavar="PREFIX", help="How they begin.")] = None,
    limit: _Limit = 100,
    offset: Annotated[int, typer.Option(help="How many to leave out before.")] = 0,
) -> None:
    """The entities that facts name, in alphabetical order; with --json one a line."""
    with open_memory(target) as memory:
        found = memory.entities(prefix, limit=limit, offset=offset)
    if target.json:
        print_json_lines(found.items)
        return
    print_table(("entity", "facts"), [(one.name, one.facts) for one in found.items])
    if len(found.items) < found.total:
        note(f"{len(found.items)} of {found.total}")


def link(
    target: Target,
    id_: _Id,
    other: _Target,
    relation: Annotated[str, typer.Option(help="As what.")] = "related",
) -> None:
    """Link a memory to another one."""
    with open_memory(target) as memory:
        receipt = memory.link(id_, other, relation)
    print_written(target.json, "linked", receipt.id, receipt.position)


def unlink(
    target: Target,
    id_: _Id,
    other: _Target,
    relation: Annotated[str | None, typer.Option(help="Only as this; else all links.")] = None,
) -> None:
    """Take the link to another memory away."""
    with open_memory(target) as memory:
        receipt = memory.unlink(id_, other, relation)
    print_written(target.json, "unlinked", receipt.id, receipt.position)


def _print_neighbours(target: Target, found: Sequence[Neighbour]) -> None:
    if target.json:
        print_json_lines(found)
    else:
        rows = [(one.distance, one.node.type, one.node.name, _said(one.edge)) for one in found]
        print_table(("distance", "type", "name", "by"), rows)
    _note_nothing(found)


def _print_edges(edges: Sequence[Edge]) -> None:
    print_table(
        ("from", "relation", "to"), [(one.source.name, one.relation, one.target.name) for one in edges]
    )
    _note_nothing(edges)


def _said(edge: Edge) -> str:
    return f"{edge.source.name} —{edge.relation}→ {edge.target.name}"


def _note_nothing(found: Sequence[object]) -> None:
    if not found:
        note("nothing found")


for one in (neighbours, paths, links, provenance, entities, link, unlink):
    command(app)(one)
