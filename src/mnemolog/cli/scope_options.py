"""The options that say which memories a command is about."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

from mnemolog.cli.values import parse_object

Kinds: TypeAlias = Annotated[
    list[str] | None, typer.Option("--kind", metavar="KIND", help="Only this kind; repeatable.")
]
Tags: TypeAlias = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag; repeatable.")
]
TagsModes: TypeAlias = Annotated[
    str,
    typer.Option(
        "--tags-mode", metavar="MODE", help="How the tags must fit: all, any, none, or exact (no others)."
    ),
]
Agent: TypeAlias = Annotated[
    str | None, typer.Option("--agent", metavar="ID", help="Only what this agent remembered.")
]
Thread: TypeAlias = Annotated[str | None, typer.Option("--thread", metavar="ID", help="Only of this thread.")]
Filters: TypeAlias = Annotated[
    str | None,
    typer.Option("--filter", metavar="JSON", help='As in \'{"metadata.city": {"in": ["Paris"]}}\'.'),
]
Superseded: TypeAlias = Annotated[
    bool, typer.Option("--superseded", help="Also what newer memories replaced.")
]
After: TypeAlias = Annotated[
    str | None, typer.Option(metavar="POSITION", help="First wait for what was written at this position.")
]
AsOfOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME|POSITION", help="As it was then, in the log's time."),
]


def scope_of(
    kinds: list[str] | None,
    tags: list[str] | None,
    tags_mode: str,
    agent: str | None,
    thread: str | None,
    filter_: str | None,
) -> dict[str, Any]:
    """The arguments of `schemas.scope.Scope` that the options mean; no `--tag` says nothing about tags,
    unless `--tags-mode exact` asks for memories without any."""
    return {
        "kinds": kinds or None,
        "tags": tags or ([] if tags_mode == "exact" else None),
        "tags_mode": tags_mode,
        "agent_id": agent,
        "thread_id": thread,
        "filters": parse_object("--filter", filter_),
    }
