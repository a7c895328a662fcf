"""`mnemolog consolidate` and `facts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, print_json_lines, print_table, say
from mnemolog.cli.scope_options import Agent, Filters, Kinds, Tags, TagsModes, Thread, scope_of
from mnemolog.cli.session import open_memory
from mnemolog.cli.shell import UsageError
from mnemolog.cli.values import parse_time

if TYPE_CHECKING:
    from mnemolog.query.facts import FactItem
    from mnemolog.verbs.consolidation import Consolidated

ExtractorName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--extractor",
        metavar="NAME",
        envvar="MNEMOLOG_EXTRACTOR",
        help="rules; llm:MODEL at OPENAI_BASE_URL; or MODULE:FUNCTION of your own.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for one in (consolidate, facts):
        command(app)(one)


def consolidate(
    target: Target,
    mode: Annotated[str, typer.Option(help="facts, or summary (by llm:MODEL or MODULE:FUNCTION).")] = "facts",
    extractor: ExtractorName = "rules",
    older_than: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Only what happened so long ago.")
    ] = None,
    max_importance: Annotated[
        float | None, typer.Option(metavar="0…1", help="Only what matters no more than this.")
    ] = None,
    kinds: Kinds = None,
    tags: Tags = None,
    tags_mode: TagsModes = "all",
    agent: Agent = None,
    thread: Thread = None,
    filter_: Filters = None,
    delete_sources: Annotated[
        bool, typer.Option("--delete-sources", help="Forget what the results rest on, once they are there.")
    ] = False,
    importance: Annotated[float, typer.Option(metavar="0…1", help="That of the results.")] = 0.7,
) -> None:
    """Make facts, or a summary, of the memories that are selected. At least one selector is needed."""
    if mode not in ("facts", "summary"):
        raise UsageError(f"--mode is facts or summary, not {mode}")
    function = _function(mode, extractor)
    with open_memory(target) as memory:
        result = memory.consolidate(
            mode=mode,  # type: ignore[arg-type]
            older_than_seconds=older_than,
            max_importance=max_importance,
            delete_sources=delete_sources,
            importance=importance,
            **function,
            **scope_of(kinds, tags, tags_mode, agent, thread, filter_),
        )
    if target.json:
        print_json(result)
    else:
        _tell(result)


def _function(mode: str, extractor: str) -> dict[str, Any]:
    from mnemolog.consolidating import named_extractor, named_summarizer

    if mode == "facts":
        return {"extract_facts": named_extractor(extractor)}
    return {"summarize": named_summarizer(extractor)}


def _tell(result: Consolidated) -> None:
    say(
        f"read {result.considered}: {len(result.created)} new, {len(result.superseded)} superseded, "
        f"{len(result.retracted)} retracted, {len(result.deleted)} sources forgotten"
    )
    if result.unmatched:
        note(f"nothing to retract: {', '.join(result.unmatched)}")
    if result.dropped:
        note(f"{len(result.dropped)} do not count: their sources were forgotten or changed meanwhile")
    for reason in result.rejected:
        note(f"left out: {reason}")


def facts(
    target: Target,
    subject: Annotated[str | None, typer.Argument(help="What they are about; all without it.")] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="TIME", help="Only what held in the world then.")
    ] = None,
    current: Annotated[bool, typer.Option("--current", help="Only what still holds.")] = False,
) -> None:
    """Facts with their periods, the newest of each subject first; with --json one a line."""
    with open_memory(target) as memory:
        found = memory.facts(subject, as_of=parse_time("--as-of", as_of))
    found = [item for item in found if item.current or not current]
    if target.json:
        print_json_lines(found)
    elif found:
        print_table(["subject", "statement", "from", "to", "confidence"], [_row(item) for item in found])


def _row(item: FactItem) -> list[Any]:
    to = "" if item.valid_to is None else item.valid_to.date().isoformat()
    held = item.valid_from.date().isoformat(), to
    return [item.subject, item.statement, *held, f"{item.confidence:g}"]
