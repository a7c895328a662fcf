"""`mnemolog aggregate`: numbers about the memories in a scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import print_json_lines, print_table
from mnemolog.cli.scope_options import (
    After,
    Agent,
    Filters,
    Kinds,
    Superseded,
    Tags,
    TagsModes,
    Thread,
    scope_of,
)
from mnemolog.cli.session import open_memory


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(aggregate)


def aggregate(
    target: Target,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="FIELD", help="A field or metadata path to group by; repeatable."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="FUNCTION[:FIELD]",
            help="count; sum, avg, min, max of a field; repeatable.",
        ),
    ] = None,
    kinds: Kinds = None,
    tags: Tags = None,
    tags_mode: TagsModes = "all",
    agent: Agent = None,
    thread: Thread = None,
    filter_: Filters = None,
    superseded: Superseded = False,
    after: After = None,
) -> None:
    """Counts, sums, means and extremes of the memories that are selected; with --json a group a line."""
    with open_memory(target) as memory:
        rows = memory.aggregate(
            by or None,
            parse_metrics(metric or ["count"]),
            include_superseded=superseded,
            after=after,
            **scope_of(kinds, tags, tags_mode, agent, thread, filter_),
        )
    if target.json:
        print_json_lines(rows)
    elif rows:
        print_table(list(rows[0]), [list(row.values()) for row in rows])


def parse_metrics(given: Sequence[str]) -> dict[str, Any]:
    """The metrics of `FUNCTION[:FIELD]` options; what makes no sense is left to the library to name."""
    metrics: dict[str, Any] = {}
    for one in given:
        function, _, field = one.partition(":")
        if field:
            fields = metrics.setdefault(function, [])
            metrics[function] = [*(fields if isinstance(fields, list) else ()), field]
        else:
            metrics.setdefault(function, True)
    return metrics
