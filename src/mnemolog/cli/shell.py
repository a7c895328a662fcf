"""The group of all commands: turns whatever ends one into one line and an exit code."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from mnemolog.cli.exits import ExitCode, exit_code_of
from mnemolog.cli.output import note
from mnemolog.schemas.errors import MnemologError

UsageError: Any = typer.BadParameter.__base__
"""Typer's error for wrong usage, which it does not export itself."""

_EXTRAS = {
    "kafka": "kafka",
    "crc32c": "kafka",
    "lz4": "kafka",
    "faust": "worker",
    "jgo": "broker",
    "openai": "llm",
    "json_repair": "llm",
    "opentelemetry": "telemetry",
    "prometheus_client": "telemetry",
}
"""Module that may be missing → the extra that brings it."""


class Shell(TyperGroup):
    """Runs a command line; every ending goes through here."""

    def main(  # type: ignore[override]  # the others stay as they are
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit with its code."""
        given = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        try:
            code = super().main(given or ["--help"], prog_name or "mnemolog", **extra)
            sys.stdout.flush()
        except Exception as error:  # noqa: BLE001 every ending is told here
            code = _ending(error, asks_for_json(given))
        sys.exit(code if isinstance(code, int) else ExitCode.OK)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a pipe that broke is an ending of ours, not Typer's."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            return _leave_pipe()
        return code


def asks_for_json(args: Sequence[str]) -> bool:
    """Whether errors have to be JSON: known also where the arguments can't be parsed."""
    options = args[: args.index("--")] if "--" in args else args
    by_variable = os.environ.get("MNEMOLOG_JSON", "").lower()
    return "--json" in options or by_variable in ("1", "true", "t", "yes", "y", "on")


def _ending(error: Exception, machine: bool) -> ExitCode:
    if isinstance(error, BrokenPipeError):
        return _leave_pipe()
    if isinstance(error, typer.Abort):
        return ExitCode.INTERRUPTED
    if isinstance(error, UsageError):
        return _report_usage(error, machine)
    if isinstance(error, ModuleNotFoundError) and (extra := _extra_of(error)):
        _tell(f'this needs more: pip install "mnemolog[{extra}]"', "MissingExtraError", machine)
    elif isinstance(error, OSError) and error.strerror:
        _tell(_os_message(error), type(error).__name__, machine)
    elif isinstance(error, MnemologError | OSError):
        _tell(str(error), type(error).__name__, machine)
    else:  # a bug: show where
        traceback.print_exception(error)
    return exit_code_of(error)


def _report_usage(error: Any, machine: bool) -> ExitCode:
    message = error.format_message().removesuffix(".")
    if type(error).__name__ == "NoArgsIsHelpError":  # a group without a command: the message is its help
        typer.echo(message, err=True)
    else:
        command = error.ctx.command_path if error.ctx else "mnemolog"
        stop = "" if message.endswith("?") else "."
        _tell(f"{message}{stop} See: {command} --help", "UsageError", machine)
    return ExitCode.USAGE


def _extra_of(error: ModuleNotFoundError) -> str | None:
    return _EXTRAS.get((error.name or "").partition(".")[0])


def _os_message(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)


def _tell(message: str, kind: str, machine: bool) -> None:
    if machine:
        typer.echo(json.dumps({"error": message, "type": kind}), err=True)
    else:
        note(f"Error: {' '.join(message.split())}")


def _leave_pipe() -> ExitCode:
    """Nobody reads on: what is still buffered goes nowhere, so that Python's own flush is quiet too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.BROKEN_PIPE
