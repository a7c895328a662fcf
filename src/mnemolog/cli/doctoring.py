"""`mnemolog doctor`: whether log and views fit each other."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json_lines, print_table
from mnemolog.cli.progress import progress
from mnemolog.cli.session import choose_embedder, make_log, open_log, open_views

if TYPE_CHECKING:
    from mnemolog.processors.doctor import Finding
    from mnemolog.schemas.ports import Log


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(doctor)


def doctor(
    target: Target,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be, and say what was done and what is left.")
    ] = False,
) -> int:
    """Check the live views against the log: what is wrong or waits, and what to run. Exits 1 for problems."""
    from mnemolog.processors.doctor import examine

    with open_log(target) as log:
        found = _repaired(target, log) if repair else examine(log, open_views(target))
    if target.json:
        print_json_lines(found)
    else:
        print_table(
            ("level", "place", "what", "remedy"),
            [(one.level, one.place, one.what, one.remedy) for one in found],
        )
        if not found:
            note("nothing found: log and views fit")
    return ExitCode.INCOMPLETE if any(one.level == "problem" for one in found) else ExitCode.OK


def _repaired(target: Target, log: Log) -> list[Finding]:
    from mnemolog.processors.repair import repair
    from mnemolog.processors.replay_parts import Processes

    how = Processes(os.cpu_count() or 1, partial(make_log, target), partial(choose_embedder, target))
    with progress("repairing", shown=not target.json) as advance:
        return repair(
            log,
            open_views(target),
            choose_embedder(target),
            alone=target.path is not None,
            processes=how,
            on_progress=advance,
        )
