"""`mnemolog diff`: what was learned, changed and forgotten between two moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, print_table
from mnemolog.cli.session import open_memory

if TYPE_CHECKING:
    from mnemolog.query.diff import Diff

_MOMENT = "A time, or a position of the log."


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(diff)


def diff(
    target: Target,
    a: Annotated[str, typer.Argument(metavar="FROM", help=_MOMENT)],
    b: Annotated[str | None, typer.Argument(metavar="TO", help=_MOMENT, show_default="now")] = None,
) -> None:
    """What was learned, changed and forgotten between two moments."""
    with open_memory(target) as memory:
        found = memory.diff(a, b)
    if target.json:
        print_json(found)
        return
    print_table(("what", "id", "text"), list(_rows(found)))
    if not found:
        note("nothing was learned, changed or forgotten")


def _rows(found: Diff) -> Any:
    yield from (("learned", one.id, one.text) for one in found.learned)
    yield from ((f"changed {', '.join(one.fields)}", one.after.id, one.after.text) for one in found.changed)
    yield from (("forgotten", one.id, one.text) for one in found.forgotten)
    yield from (("expired", one.id, one.text) for one in found.expired)
