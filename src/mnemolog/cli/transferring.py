"""`mnemolog export` and `mnemolog import`: a log's records in a file, and what other libraries exported."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, say
from mnemolog.cli.progress import progress
from mnemolog.cli.session import open_log
from mnemolog.cli.values import parse_redaction
from mnemolog.schemas.namespaces import decode_namespace

_SPOOLED_BYTES = 16 * 1024 * 1024
_SHOWN_ERRORS = 20


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    command(app)(export)
    command(app, "import")(import_)


def export(
    target: Target,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines, or Parquet if it ends so.")],
    only: Annotated[
        list[str] | None, typer.Option(metavar="PART/PART", help="Of this namespace alone; repeat it.")
    ] = None,
) -> None:
    """Write the log's records to a file, of all namespaces and every kind, byte for byte."""
    from mnemolog.transfer.records import export_log

    namespaces = [decode_namespace(name) for name in only] if only else None
    with open_log(target) as log, progress("exporting", shown=not target.json) as advance:
        count = export_log(log, file, namespaces, advance)
    if target.json:
        print_json({"file": file, "records": count})
    else:
        say(f"{file}: {count} records")


def import_(
    target: Target,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What export wrote, or another library.")],
    source: Annotated[
        str | None, typer.Option("--from", metavar="mem0|langgraph|mcp", help="Whose export it is.")
    ] = None,
) -> int:
    """Append what a file holds to the log. Importing it twice changes nothing.

    With --from, memories go into namespaces below --namespace: mem0's by user, LangGraph's by their own. An
    export of ours is taken as it is, byte for byte: --redact has no part in it.
    """
    if source is not None:
        return _import_foreign(target, file, source)
    from mnemolog.transfer.records import import_log

    with open_log(target, create=True) as log, progress("importing", shown=not target.json) as advance:
        count = import_log(log, file, advance)
    _print_imported(target, count, 0)
    return ExitCode.OK


def _import_foreign(target: Target, file: Path, source: str) -> int:
    from mnemolog.producers.commands import Commands
    from mnemolog.producers.memory_producer import MemoryProducer
    from mnemolog.producers.redaction import make_redactor
    from mnemolog.transfer.foreign import foreign_lines

    with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as lines:
        for fields in foreign_lines(source, file, target.namespace):
            lines.write(json.dumps(fields).encode() + b"\n")
        lines.seek(0)
        with open_log(target, create=True) as log:
            redactor = make_redactor(parse_redaction(target.redact))
            report = MemoryProducer(log, Commands(target.namespace), redactor).write_jsonl(lines)
    for error in report.errors[:_SHOWN_ERRORS]:
        note(str(error))
    _print_imported(target, report.written, report.failed)
    return ExitCode.INCOMPLETE if report.failed else ExitCode.OK


def _print_imported(target: Target, written: int, failed: int) -> None:
    if target.json:
        print_json({"written": written, "failed": failed})
    else:
        say(f"{written} records imported" + (f", {failed} not" if failed else ""))
