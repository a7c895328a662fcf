"""`mnemolog doctor`: whether log and views fit each other."""

from __future__ import annotations

import typer

from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json_lines, print_table
from mnemolog.cli.session import open_log, open_views


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(doctor)


def doctor(target: Target) -> int:
    """Check the live views against the log: what is wrong or waits, and what to run. Exits 1 for problems."""
    from mnemolog.processors.doctor import examine

    with open_log(target) as log:
        found = examine(log, open_views(target))
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
