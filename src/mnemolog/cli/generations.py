"""`mnemolog generations list|rollback|drop`: the views that replays built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, print_json_lines, print_table, say
from mnemolog.cli.session import embedder_of, open_log, open_views
from mnemolog.cli.shell import UsageError
from mnemolog.schemas.errors import NotFoundError

if TYPE_CHECKING:
    from mnemolog.storage.layout import Views

app = typer.Typer(
    help="The generations of views that replays built.", no_args_is_help=True, rich_markup_mode=None
)

_INTERRUPTED = "interrupted"
_Names = Annotated[list[str] | None, typer.Argument(metavar="GENERATION", help="As list prints them.")]


def list_(target: Target) -> None:
    """All generations, oldest first: live, kept to roll back to, or left by a replay that was interrupted."""
    found = _states(open_views(target))
    if target.json:
        print_json_lines(found)
        return
    print_table(("generation", "state", "embedder", "partitions"), [tuple(one.values()) for one in found])
    if not found:
        note("no views yet")


def _states(views: Views) -> list[dict[str, Any]]:
    live = views.current().generation if views.exist else None
    states = []
    for name in views.generations():
        manifest = views.manifest(name)
        state = "live" if name == live else "kept" if views.is_complete(name) else _INTERRUPTED
        model = {"embedder": manifest.embedder, "partitions": manifest.partitions}
        states.append({"generation": name, "state": state, **model})
    return states


def rollback(
    target: Target,
    generation: Annotated[
        str | None, typer.Argument(metavar="GENERATION", show_default="the one before the live one")
    ] = None,
) -> None:
    """Make a kept generation live again, brought up to the log first."""
    from mnemolog.processors.replay import roll_back

    views = open_views(target)
    chosen = generation or _before_live(views)
    with open_log(target) as log:
        report = roll_back(log, views, chosen, embedder_of(views.manifest(chosen)))
    if target.json:
        print_json({"generation": chosen, "applied": report.applied})
    else:
        say(f"{chosen} is live, after {report.applied} events that it lacked")


def _before_live(views: Views) -> str:
    live = views.current().generation
    kept = [one["generation"] for one in _states(views) if one["state"] == "kept"]
    before = [name for name in kept if name < live]
    if not before:
        raise NotFoundError(f"there is no generation before {live} to roll back to")
    return str(before[-1])


def drop(
    target: Target,
    generations: _Names = None,
    interrupted: Annotated[
        bool, typer.Option("--interrupted", help="All that interrupted replays left; end these first.")
    ] = False,
) -> None:
    """Remove generations that are not live."""
    views = open_views(target)
    names = list(generations or ())
    if not names and not interrupted:
        raise UsageError("name the generations, or say --interrupted")
    if interrupted:
        names += [one["generation"] for one in _states(views) if one["state"] == _INTERRUPTED]
    for name in names:
        views.drop(name)
    if target.json:
        print_json({"dropped": names})
    else:
        say(f"dropped {', '.join(names) or 'nothing'}")


command(app, "list")(list_)
command(app)(rollback)
command(app)(drop)
