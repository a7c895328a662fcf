"""`mnemolog replay`: the views anew from the log."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, plain, print_json, say
from mnemolog.cli.progress import progress
from mnemolog.cli.session import choose_embedder, open_log, open_memory, open_views
from mnemolog.schemas.errors import ViewMissingError

if TYPE_CHECKING:
    from mnemolog.processors.replay import ReplayReport
    from mnemolog.storage.layout import Views


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(replay)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """How a new generation compares with the one that was live: which tables differ, and whether they may,
    because the old one `lags`: it had not applied the same part of the log."""

    differing: list[str]
    lags: bool


def replay(
    target: Target,
    no_flip: Annotated[bool, typer.Option("--no-flip", help="Leave the old views live.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compare them with the live ones; exit 1 if they differ.")
    ] = False,
) -> int:
    """Build the views anew from the log and flip to them. With --embedder, for another model."""
    from mnemolog.processors.replay import replay as run_replay

    if check and target.path is not None:
        with open_memory(replace(target, embedder=None)):
            pass  # an embedded memory's views are up to date once it is open
    views, embedder = open_views(target), choose_embedder(target)
    live = views.current().generation if views.exist else None
    started = time.monotonic()
    shown = progress("replaying", shown=not target.json)
    with open_log(target) as log, shown as advance:
        report = run_replay(log, views, embedder, on_progress=advance, flip=not no_flip)
    seconds = time.monotonic() - started
    found = _compare(views, live, report) if check else None
    _print_replay(target, report, seconds, flipped=not no_flip, found=found)
    return ExitCode.INCOMPLETE if found is not None and found.differing else ExitCode.OK


def _compare(views: Views, live: str | None, report: ReplayReport) -> _Comparison:
    from mnemolog.processors.generations import read_contents

    if live is None:
        raise ViewMissingError("there were no live views to compare with")
    old, new = read_contents(views, live), read_contents(views, report.manifest.generation)
    same_model = views.manifest(live).embedder == report.manifest.embedder
    return _Comparison(old.differing(new, vectors=same_model), old.applied != new.applied)


def _print_replay(
    target: Target, report: ReplayReport, seconds: float, *, flipped: bool, found: _Comparison | None
) -> None:
    manifest = report.manifest
    if target.json:
        document: dict[str, Any] = {
            "generation": manifest.generation,
            "embedder": manifest.embedder,
            "applied": report.applied,
            "rejected": report.rejected,
            "seconds": round(seconds, 3),
            "live": flipped,
        }
        equal = {} if found is None else {"equal": not found.differing, **plain(found)}
        print_json(document | equal)
        return
    model, state = manifest.embedder or "none", "now live" if flipped else "not live"
    say(f"{manifest.generation}: {report.applied} events in {seconds:.1f} s, embedder {model}, {state}")
    if report.rejected:
        note(f"{report.rejected} records could not be applied; see: mnemolog deadletters list")
    if found is not None:
        _print_comparison(found)


def _print_comparison(found: _Comparison) -> None:
    if not found.differing:
        say("equal to the views that were live")
    elif found.lags:
        say(f"differs in {', '.join(found.differing)}; the live views had applied another part of the log")
    else:
        say(f"differs in {', '.join(found.differing)} from the views that were live")
