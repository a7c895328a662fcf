"""`mnemolog forget`: by ids, by a filter, or all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import clean, note, print_json, say
from mnemolog.cli.session import open_memory
from mnemolog.cli.shell import UsageError
from mnemolog.cli.values import parse_object

if TYPE_CHECKING:
    from mnemolog.memory import Memory
    from mnemolog.producers.receipts import Receipt


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(forget)


def forget(
    target: Target,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="The memories.")] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="Forget what it selects, instead of ids.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget the whole namespace.")] = False,
    limit: Annotated[
        int | None, typer.Option(help="With --filter or --all: no more than so many, the oldest first.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why; history tells.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be forgotten.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int:
    """Forget memories: their content leaves every view. By ids, by a filter, or all of the namespace."""
    if sum((bool(ids), filter_ is not None, everything)) != 1:
        raise UsageError("give ids, or --filter, or --all")
    if ids and limit is not None:
        raise UsageError("--limit goes with --filter or --all")
    with open_memory(target) as memory:
        if ids:
            return _forget_ids(memory, target, ids, reason, dry_run)
        scope = {"filters": parse_object("--filter", filter_), "everything": everything, "limit": limit}
        return _forget_scope(memory, target, scope, reason, dry_run, yes)


def _forget_ids(memory: Memory, target: Target, ids: Sequence[str], reason: str | None, dry_run: bool) -> int:
    known = [one for one in dict.fromkeys(ids) if memory.get(one) is not None]
    unknown = [one for one in dict.fromkeys(ids) if one not in known]
    receipt = None if dry_run else memory.forget(ids, reason=reason)
    if target.json:
        _print_forgotten(receipt, known, unknown, dry_run)
    else:
        say(f"{'would forget' if dry_run else 'forgot'} {_counted(len(known))}")
    if unknown and not target.json:
        note(f"not there: {', '.join(unknown)}")
    return ExitCode.INCOMPLETE if unknown else ExitCode.OK


def _print_forgotten(
    receipt: Receipt | None, known: Sequence[str], unknown: Sequence[str], dry_run: bool
) -> None:
    at = None if receipt is None else receipt.position
    print_json(
        {"forgotten": len(known), "ids": known, "unknown": unknown, "dry_run": dry_run, "position": at}
    )


def _forget_scope(
    memory: Memory, target: Target, scope: dict[str, Any], reason: str | None, dry_run: bool, yes: bool
) -> int:
    found = memory.forget_scope(**scope, dry_run=True)
    if not dry_run and not yes:
        _confirm(f"Forget {_counted(found)} of {'/'.join(target.namespace)}?", target)
    if not dry_run:
        found = memory.forget_scope(**scope, reason=reason)
    if target.json:
        print_json({"forgotten": found, "remaining": found.remaining, "dry_run": dry_run})
    else:
        say(f"{'would forget' if dry_run else 'forgot'} {_counted(found)}")
    if found.remaining and not target.json:
        note(f"{found.remaining} more are in the scope")
    return ExitCode.OK


def _counted(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _confirm(question: str, target: Target) -> None:
    if target.json or not sys.stdin.isatty():
        raise UsageError("nobody can be asked here: pass --yes to forget, or --dry-run to only count")
    if not typer.confirm(clean(question), err=True):
        note("nothing was forgotten")
        raise typer.Exit(ExitCode.INCOMPLETE)
