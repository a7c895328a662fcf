"""The commands that read: recall, get, list, history, stats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, plain, print_json, print_json_lines, print_pairs, print_table, say
from mnemolog.cli.scope_options import (
    After,
    Agent,
    AsOfOption,
    Filters,
    Kinds,
    Superseded,
    Tags,
    TagsModes,
    Thread,
    scope_of,
)
from mnemolog.cli.session import open_memory
from mnemolog.cli.values import parse_time, parse_weights, read_text
from mnemolog.schemas.errors import NotFoundError

if TYPE_CHECKING:
    from mnemolog.query.models import Hits, MemoryItem


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    command(app)(recall)
    command(app)(get)
    command(app, "list")(list_)
    command(app)(history)
    command(app)(stats)


def recall(
    target: Target,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for; - reads it from stdin.")],
    k: Annotated[int, typer.Option("-k", "--limit", help="How many memories at most.")] = 5,
    kinds: Kinds = None,
    tags: Tags = None,
    tags_mode: TagsModes = "all",
    agent: Agent = None,
    thread: Thread = None,
    filter_: Filters = None,
    threshold: Annotated[float | None, typer.Option(metavar="0…2", help="Greatest cosine distance.")] = None,
    min_score: Annotated[float, typer.Option(help="Least score.")] = 0.0,
    weight: Annotated[list[str] | None, typer.Option(metavar="NAME=NUMBER", help="Change a weight.")] = None,
    superseded: Superseded = False,
    as_of: AsOfOption = None,
    after: After = None,
    now: Annotated[str | None, typer.Option(metavar="TIME", help="What ages count from.")] = None,
    by_kind: Annotated[bool, typer.Option("--by-kind", help="The best of each kind.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each score came about.")] = False,
) -> None:
    """The memories that answer a query best, best first."""
    with open_memory(target) as memory:
        options: dict[str, Any] = {
            "k": k,
            **scope_of(kinds, tags, tags_mode, agent, thread, filter_),
            "threshold": threshold,
            "min_score": min_score,
            "weights": parse_weights(weight or ()),
            "include_superseded": superseded,
            "as_of": as_of,
            "after": after,
            "now": parse_time("--now", now),
        }
        text = read_text(query)
        if by_kind:
            _print_kinds(target, memory.recall(text, group_by_kind=True, **options), explain)
        else:
            _print_hits(target, memory.recall(text, **options), explain)


def _print_kinds(target: Target, kinds: Mapping[str, Hits], explain: bool) -> None:
    if target.json:
        print_json({kind: _hits_document(hits) for kind, hits in kinds.items()})
        return
    for kind, hits in kinds.items():
        say(f"{kind}:")
        _print_hits(target, hits, explain)


def _print_hits(target: Target, hits: Hits, explain: bool) -> None:
    if target.json:
        print_json(_hits_document(hits))
        return
    for warning in hits.warnings:
        note(f"Warning: {warning}")
    if explain:
        for hit in hits:
            say(f"{hit.memory.id}  {hit.memory.text}\n    {hit.explain()}")
    else:
        rows = [(hit.memory.id, hit.score, hit.memory.kind, hit.memory.text) for hit in hits]
        print_table(("id", "score", "kind", "text"), rows)
    note(f"recall {hits.recall_id}" if hits else "nothing found")


def _hits_document(hits: Hits) -> dict[str, Any]:
    document: dict[str, Any] = plain(hits)
    shown = document.pop("items")
    for one in shown:
        del one["trace"]
    explained = [{**one, "explain": hit.explain()} for one, hit in zip(shown, hits, strict=True)]
    return {**document, "hits": explained}


def get(
    target: Target,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The memory.")],
    as_of: AsOfOption = None,
    after: After = None,
) -> None:
    """All there is of one memory. Exits 1 if there is none."""
    with open_memory(target) as memory:
        item = memory.get(id_, as_of=as_of, after=after)
    if item is None:
        raise NotFoundError(f"no memory {id_!r} in namespace {'/'.join(target.namespace)}")
    if target.json:
        print_json(item)
    else:
        print_pairs(_pairs(item))


def _pairs(item: MemoryItem) -> dict[str, Any]:
    lists = {"namespace": "/".join(item.namespace), "tags": ", ".join(item.tags)}
    return {name: value for name, value in (plain(item) | lists).items() if value not in (None, "", {}, [])}


def list_(
    target: Target,
    limit: Annotated[int, typer.Option(help="How many memories at most.")] = 20,
    offset: Annotated[int, typer.Option(help="How many to leave out before.")] = 0,
    kinds: Kinds = None,
    tags: Tags = None,
    tags_mode: TagsModes = "all",
    agent: Agent = None,
    thread: Thread = None,
    filter_: Filters = None,
    superseded: Superseded = False,
    as_of: AsOfOption = None,
    after: After = None,
) -> None:
    """The memories that are selected, newest first; with --json one a line."""
    with open_memory(target) as memory:
        page = memory.list(
            limit=limit,
            offset=offset,
            include_superseded=superseded,
            as_of=as_of,
            after=after,
            **scope_of(kinds, tags, tags_mode, agent, thread, filter_),
        )
    if target.json:
        print_json_lines(page.items)
        return
    print_table(("id", "occurred", "kind", "text"), [_listed(item) for item in page.items])
    if len(page.items) < page.total:
        note(f"{len(page.items)} of {page.total}")


def _listed(item: MemoryItem) -> tuple[object, ...]:
    return item.id, item.occurred_at, item.kind, item.text


def history(
    target: Target, id_: Annotated[str, typer.Argument(metavar="ID", help="The memory, forgotten ones too.")]
) -> None:
    """What happened to a memory, oldest first; with --json a change a line. Exits 1 if it never was."""
    with open_memory(target) as memory:
        changes = memory.history(id_)
    if not changes:
        raise NotFoundError(f"no memory {id_!r} was ever in namespace {'/'.join(target.namespace)}")
    if target.json:
        print_json_lines(changes)
    else:
        rows = [(one.occurred_at, one.type, one.agent_id, one.reason, one.event_id) for one in changes]
        print_table(("occurred", "change", "agent", "reason", "event"), rows)


def stats(target: Target) -> None:
    """Counts of the namespace, what its views were built with, and how far they lag behind the log."""
    with open_memory(target) as memory:
        found = memory.stats()
    if target.json:
        print_json(found)
        return
    kinds, lag, evictions = (found.pop(name) for name in ("kinds", "lag", "evictions"))
    found.pop("redacted")  # of this call's handle: nothing
    pairs = {**found, "namespace": "/".join(found["namespace"])}
    pairs |= {f"kind {name}": count for name, count in kinds.items()}
    pairs |= {f"evicted {rule}": count for rule, count in evictions.items()}
    print_pairs(pairs | {f"lag {topic}": count for topic, count in lag.items()})
