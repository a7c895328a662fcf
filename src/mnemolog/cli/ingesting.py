"""`mnemolog ingest`: a file of JSON lines into the log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.exits import ExitCode
from mnemolog.cli.following import follow
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, say
from mnemolog.cli.progress import Advance, progress
from mnemolog.cli.session import open_log, open_memory
from mnemolog.cli.values import parse_redaction

if TYPE_CHECKING:
    from mnemolog.producers.reports import IngestReport

_SHOWN_ERRORS = 20


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(ingest)


def ingest(
    target: Target,
    file: Annotated[str, typer.Argument(metavar="FILE.jsonl", help="A file of JSON lines; - reads stdin.")],
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad line.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return once the views show it.")] = False,
) -> int:
    """Load memories, or whole events, from JSON lines: {"text": "…", "kind": "note", "tags": ["a"], …}.

    A file loaded twice gives the same memories. Bad lines are reported, the others loaded; then the exit code
    is 1.
    """
    report = _load(target, file, strict)
    if wait and report.positions:
        with open_memory(target) as memory:
            follow(memory, report.positions, target.timeout, shown=not target.json)
    _print_report(target, report)
    return ExitCode.INCOMPLETE if report.failed else ExitCode.OK


def _load(target: Target, file: str, strict: bool) -> IngestReport:
    from mnemolog.producers.commands import Commands
    from mnemolog.producers.memory_producer import MemoryProducer
    from mnemolog.producers.redaction import make_redactor

    source = sys.stdin.buffer if file == "-" else Path(file)
    shown = progress("loading", shown=not target.json)
    with open_log(target, create=True) as log, shown as advance:
        redactor = make_redactor(parse_redaction(target.redact))
        producer = MemoryProducer(log, Commands(target.namespace), redactor)
        return producer.write_jsonl(source, strict=strict, on_progress=_lines(advance))


def _lines(advance: Advance) -> Any:
    return lambda written, failed: advance(written + failed, None)


def _print_report(target: Target, report: IngestReport) -> None:
    if target.json:
        errors = [{"line": one.line, "field": one.field, "reason": one.reason} for one in report.errors]
        positions = [str(position) for position in report.positions]
        counts = {"written": report.written, "failed": report.failed}
        print_json({**counts, "errors": errors, "positions": positions})
        return
    for error in report.errors[:_SHOWN_ERRORS]:
        note(str(error))
    if report.failed > _SHOWN_ERRORS:
        note(f"… and {report.failed - _SHOWN_ERRORS} more; --json lists them")
    say(f"{report.written} lines loaded, {report.failed} not")
