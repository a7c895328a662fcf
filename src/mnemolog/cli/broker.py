"""`mnemolog broker start|stop|status`: a local Kafka for work on one machine."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from mnemolog.broker import KAFKA_VERSION, BrokerError, BrokerStatus, LocalBroker, is_ready
from mnemolog.cli.exits import ExitCode

NOT_RUNNING = ExitCode.UNAVAILABLE

app = typer.Typer(
    help="A real Apache Kafka on this machine, without Docker or Java.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", envvar="MNEMOLOG_BROKER_DATA", help="The broker's data folder."),
]
PortOption = Annotated[
    int, typer.Option(min=0, max=65535, help="Port for clients; 0 keeps the last one or picks a free one.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", envvar="MNEMOLOG_JSON", help="Print one JSON object, errors too.")
]


def default_data_dir() -> Path:
    """The user's own broker: `$XDG_DATA_HOME/mnemolog/broker`, by default under `~/.local/share`."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "mnemolog" / "broker"


@app.command()
def start(data: DataOption = None, port: PortOption = 0, as_json: JsonOption = False) -> None:
    """Start the broker, and wait until it answers. If it runs already, say where."""
    broker = LocalBroker(data or default_data_dir(), port)
    try:
        if not is_ready():
            typer.echo(f"First start: fetching Apache Kafka {KAFKA_VERSION} (43 MB), preparing it.", err=True)
        _show(broker.start().status(), as_json)
    except BrokerError as error:
        _fail(error, as_json)


@app.command()
def stop(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Stop the broker; its data stays. If it does not run, say so."""
    broker = LocalBroker(data or default_data_dir())
    try:
        broker.stop()
        _show(broker.status(), as_json)
    except BrokerError as error:
        _fail(error, as_json)


@app.command()
def status(data: DataOption = None, as_json: JsonOption = False) -> None:
    """Say whether the broker runs, and where. Exits 0 if it runs, 3 if not."""
    try:
        found = LocalBroker(data or default_data_dir()).status()
    except BrokerError as error:
        _fail(error, as_json)
    _show(found, as_json)
    if not found.running:
        raise typer.Exit(NOT_RUNNING)


def _show(status: BrokerStatus, as_json: bool) -> None:
    typer.echo(json.dumps(asdict(status), default=str) if as_json else _sentence(status))


def _sentence(status: BrokerStatus) -> str:
    state = f"running on {status.bootstrap} (pid {status.pid})" if status.running else "not running"
    return f"{state}\ndata {status.data_dir}\nlog  {status.log}"


def _fail(error: BrokerError, as_json: bool) -> NoReturn:
    """End with the error as it is: its message may show lines of the broker's log."""
    document = {"error": str(error), "type": type(error).__name__}
    typer.echo(json.dumps(document) if as_json else str(error), err=True)
    raise typer.Exit(ExitCode.FAILED) from error
