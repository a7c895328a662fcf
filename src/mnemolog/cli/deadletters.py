"""`mnemolog deadletters list|retry|drop`: the records that could not be applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json_lines, print_table, say
from mnemolog.cli.session import open_log
from mnemolog.cli.shell import UsageError
from mnemolog.schemas.errors import InvalidInputError, NotFoundError
from mnemolog.schemas.positions import parse_position

if TYPE_CHECKING:
    from mnemolog.processors.deadletter_queue import DeadLetter, DeadLetterQueue
    from mnemolog.schemas.ports import Log

app = typer.Typer(
    help="The records that could not be applied, of all namespaces.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Positions = Annotated[list[str] | None, typer.Argument(metavar="POSITION", help="As list prints them.")]


def dead_letters(log: Log) -> DeadLetterQueue:
    """The dead letters of a log, decided about now."""
    from mnemolog.processors.deadletter_queue import DeadLetterQueue
    from mnemolog.producers.clock import utc_now

    return DeadLetterQueue(log, utc_now)


def list_(
    target: Target,
    every: Annotated[bool, typer.Option("--all", help="Also those that were retried or dropped.")] = False,
) -> None:
    """The records that wait for a decision, oldest first; with --json one a line, their bytes as text."""
    with open_log(target) as log:
        letters = dead_letters(log).letters(resolved=every)
    if target.json:
        print_json_lines(map(_document, letters))
        return
    rows = [
        (one.position, one.last_at, one.deliveries, one.resolved or "waits", one.reason) for one in letters
    ]
    print_table(("position", "last failed", "times", "state", "reason"), rows)
    if not letters:
        note("no dead letters")


def _row(letter: DeadLetter) -> tuple[object, ...]:
    return letter.position, letter.last_at, letter.deliveries, letter.resolved or "waits", letter.reason


def _document(letter: DeadLetter) -> dict[str, Any]:
    return {
        "position": letter.position,
        "reason": letter.reason,
        "last_at": letter.last_at,
        "deliveries": letter.deliveries,
        "resolved": letter.resolved,
        "key": _readable(letter.key),
        "value": _readable(letter.value),
    }


def _readable(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="backslashreplace")


def retry(
    target: Target,
    positions: _Positions = None,
    every: Annotated[bool, typer.Option("--all", help="All that wait.")] = False,
) -> int:
    """Append records to the log again, at its end, once what was wrong is put right."""
    return _decide(target, positions or (), every, "retried", lambda queue, letter: queue.retry(letter))


def drop(
    target: Target,
    positions: _Positions = None,
    every: Annotated[bool, typer.Option("--all", help="All that wait.")] = False,
) -> int:
    """Give records up. They stay in the log and can be retried by their position."""
    return _decide(target, positions or (), every, "dropped", lambda queue, letter: queue.drop(letter))


_Action = Callable[["DeadLetterQueue", "DeadLetter"], object]


def _decide(target: Target, positions: Sequence[str], every: bool, verb: str, act: _Action) -> int:
    if bool(positions) == every:
        raise UsageError("give positions, or --all")
    wanted = [parse_position(position) for position in positions]
    with open_log(target) as log:
        queue = dead_letters(log)
        chosen = queue.letters() if every else list(wanted)
        done = [_attempt(queue, one, act) for one in chosen]
    _print_decided(target, done, verb)
    return ExitCode.INCOMPLETE if any("error" in one for one in done) else ExitCode.OK


def _attempt(queue: DeadLetterQueue, one: Any, act: _Action) -> dict[str, Any]:
    """What became of a letter, or of a position that may have none."""
    position = getattr(one, "position", one)
    try:
        letter = one if position is not one else queue.find(one)
        return {"position": position, "result": act(queue, letter)}
    except (NotFoundError, InvalidInputError) as error:
        return {"position": position, "error": str(error)}


def _print_decided(target: Target, done: Sequence[dict[str, Any]], verb: str) -> None:
    if target.json:
        print_json_lines({**one, "action": verb} for one in done)
        return
    for one in done:
        if "error" in one:
            note(f"Error: {one['error']}")
        else:
            again = f", now at {one['result']}" if one["result"] else ""
            say(f"{verb} {one['position']}{again}")
    if not done:
        note("no dead letters")


command(app, "list")(list_)
command(app)(retry)
command(app)(drop)
