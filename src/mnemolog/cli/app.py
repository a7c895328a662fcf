"""All commands together."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemolog import __version__
from mnemolog.cli import (
    analysing,
    broker,
    caching,
    comparing,
    configuring,
    consolidating,
    context,
    deadletters,
    demo,
    doctoring,
    forgetting,
    generations,
    graph,
    ingesting,
    reading,
    repartitioning,
    replaying,
    serving,
    structured,
    transferring,
    upkeep,
    writing,
)
from mnemolog.cli.exits import describe_exit_codes
from mnemolog.cli.shell import Shell

_HELP = """Event-sourced memory for AI agents.

Every command takes --path DIR, an embedded memory (default ./memory), or --kafka HOST:PORT with --views DIR;
further --namespace, --embedder, --timeout and --json. Each also by a variable, as in MNEMOLOG_PATH.
"""

app = typer.Typer(
    cls=Shell,
    help=_HELP,
    epilog=f"\b\nExit codes:\n{describe_exit_codes()}",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (
    demo,
    upkeep,
    writing,
    structured,
    ingesting,
    reading,
    comparing,
    analysing,
    consolidating,
    forgetting,
    replaying,
    repartitioning,
    transferring,
    doctoring,
    serving,
):
    module.register(app)
app.add_typer(context.app, name="context")
app.add_typer(caching.app, name="cache")
app.add_typer(deadletters.app, name="deadletters")
app.add_typer(graph.app, name="graph")
app.add_typer(generations.app, name="generations")
app.add_typer(broker.app, name="broker")
app.add_typer(configuring.app, name="config")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
