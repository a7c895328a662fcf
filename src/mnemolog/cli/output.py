"""What commands print: JSON for machines, tables on a terminal, tab-separated lines into a pipe."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel

from mnemolog.schemas.positions import Position

_LONGEST_UNBROKEN = 40


def plain(value: Any) -> Any:
    """`value` as JSON can hold it: positions as tokens, times in ISO form, dataclasses as objects."""
    match value:
        case Position() | Path():
            return str(value)
        case datetime():
            return value.isoformat()
        case BaseModel():
            return value.model_dump(mode="json")
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
        case str() | int() | float() | None:
            return value
        case _ if is_dataclass(value):
            return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return [plain(item) for item in value]


def print_json(value: Any) -> None:
    """One JSON document on one line."""
    typer.echo(json.dumps(plain(value), ensure_ascii=not _speaks_unicode(sys.stdout)))


def print_json_lines(values: Iterable[Any]) -> None:
    """One JSON document a line."""
    for value in values:
        print_json(value)


def _speaks_unicode(stream: Any) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"


def say(line: str) -> None:
    """A line of the answer."""
    typer.echo(clean(line))


def note(line: str) -> None:
    """A line about the work, on stderr."""
    typer.echo(clean(line), err=True)


def clean(text: str) -> str:
    """`text` without control characters: a memory must not move the cursor or change colours."""
    return "".join(
        "\ufffd" if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" else char
        for char in text
    )


def is_terminal() -> bool:
    """Whether a person reads stdout right now."""
    return sys.stdout.isatty()


def is_watched() -> bool:
    """Whether a person sees stderr right now, so that progress is worth showing."""
    return sys.stderr.isatty()


def print_written(as_json: bool, verb: str, what: str, at: Position) -> None:
    """What was written, and where."""
    if as_json:
        print_json({"id": what, "position": at})
    else:
        say(f"{verb} {what} at {at}")


def print_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows under `headings` on a terminal; into a pipe a line a row, cells apart by tabs, nothing cut."""
    cells = [[_cell(value) for value in row] for row in rows]
    if is_terminal():
        _print_rich(headings, cells)
    else:
        for row in cells:
            typer.echo("\t".join(row))


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:.4g}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
    return " ".join(clean(str(value)).split())


def _print_rich(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=None, pad_edge=False)
    for at, heading in enumerate(headings):
        longest = max((len(row[at]) for row in rows), default=0)
        unbroken = " " not in "".join(row[at] for row in rows) and longest <= _LONGEST_UNBROKEN
        table.add_column(heading, no_wrap=unbroken, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def print_pairs(pairs: Mapping[str, object]) -> None:
    """Names and values, one pair a line."""
    width = max(map(len, pairs), default=0) if is_terminal() else 0
    for name, value in pairs.items():
        say(f"{name:<{width}}  {value}" if width else f"{name}\t{value}")
