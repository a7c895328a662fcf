"""`mnemolog replay`: the views anew from the log."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, plain, print_json, say
from mnemolog.cli.progress import progress
from mnemolog.cli.session import choose_embedder, make_log, open_log, open_memory, open_views, views_root
from mnemolog.schemas.errors import ViewMissingError

if TYPE_CHECKING:
    from mnemolog.processors.generations import Comparison
    from mnemolog.processors.replay import ReplayReport

DEFAULT_KEPT = 2


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(replay)


def replay(
    target: Target,
    no_flip: Annotated[bool, typer.Option("--no-flip", help="Leave the old views live.")] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare first; if they differ, leave the old ones live and exit 1."),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a replay that was interrupted.")
    ] = False,
    keep: Annotated[
        int, typer.Option(min=1, help="How many generations stay, the live one among them.")
    ] = DEFAULT_KEPT,
    processes: Annotated[
        int | None, typer.Option(min=1, show_default="one a core", help="Processes that fold at once.")
    ] = None,
) -> int:
    """Build the views anew from the log and flip to them. With --embedder, for another model."""
    from mnemolog.processors.generations import keep_newest

    if check and target.path is not None:
        with open_memory(replace(target, embedder=None)):
            pass  # an embedded memory's views are up to date once it is open
    views = open_views(target)
    if check and not views.exist:
        raise ViewMissingError("there are no live views to compare with")
    started = time.monotonic()
    report = replay_all(target, processes, flip=not no_flip, resume=resume, verify=check)
    seconds = time.monotonic() - started
    dropped = keep_newest(views, keep) if report.flipped else []
    _print_replay(target, report, seconds, dropped)
    return ExitCode.INCOMPLETE if report.compared is not None and report.compared.differing else ExitCode.OK


def replay_all(
    target: Target,
    processes: int | None = None,
    *,
    flip: bool = True,
    resume: bool = False,
    verify: bool = False,
) -> ReplayReport:
    """Replay the target's log in as many processes (one a core) and show the progress."""
    from mnemolog.allocator import hold_little
    from mnemolog.processors.replay import replay as run_replay
    from mnemolog.processors.replay_parts import Processes
    from mnemolog.storage.engine import read_little_at_once

    hold_little()
    read_little_at_once(views_root(target))
    count = processes or os.cpu_count() or 1
    shown = progress("replaying", shown=not target.json)
    with open_log(target) as log, shown as advance:
        return run_replay(
            log,
            open_views(target),
            choose_embedder(target),
            on_progress=advance,
            flip=flip,
            resume=resume,
            verify=verify,
            processes=Processes(count, partial(make_log, target), partial(choose_embedder, target)),
        )


def _print_replay(target: Target, report: ReplayReport, seconds: float, dropped: list[str]) -> None:
    manifest, found = report.manifest, report.compared
    if target.json:
        document: dict[str, Any] = {
            "generation": manifest.generation,
            "embedder": manifest.embedder,
            "applied": report.applied,
            "rejected": report.rejected,
            "seconds": round(seconds, 3),
            "live": report.flipped,
            "resumed": report.resumed,
            "dropped": dropped,
        }
        equal = {} if found is None else {"equal": not found.differing, **plain(found)}
        print_json(document | equal)
        return
    model, state = manifest.embedder or "none", "now live" if report.flipped else "not live"
    say(f"{manifest.generation}: {report.applied} events in {seconds:.1f} s, embedder {model}, {state}")
    if report.rejected:
        note(f"{report.rejected} records could not be applied; see: mnemolog deadletters list")
    if found is not None:
        _print_comparison(found)
    if found is not None and not report.flipped:
        note(f"to make them live all the same: mnemolog generations rollback {manifest.generation}")


def _print_comparison(found: Comparison) -> None:
    if not found.differing:
        say("equal to the views that were live")
    elif found.lags:
        say(f"differs in {', '.join(found.differing)}; the live views had applied another part of the log")
    else:
        say(f"differs in {', '.join(found.differing)} from the views that were live")
