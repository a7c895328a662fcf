"""`mnemolog repartition`: a log on Kafka with another number of partitions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemolog.cli.deadletters import dead_letters
from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, say
from mnemolog.cli.progress import progress
from mnemolog.cli.replaying import replay_all
from mnemolog.cli.session import open_log, require_kafka, views_root
from mnemolog.cli.shell import UsageError
from mnemolog.schemas.errors import LogError
from mnemolog.schemas.topics import DEADLETTERS, MEMORIES, TOPIC_NAMES

if TYPE_CHECKING:
    from mnemolog.schemas.ports import Log

_QUIET_SECONDS = 2.0
"""How long nobody may have written to the log that is thrown away."""


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    command(app)(repartition)


def repartition(
    target: Target,
    partitions: Annotated[int, typer.Argument(min=1, metavar="PARTITIONS", help="How many there are to be.")],
    file: Annotated[
        Path, typer.Option("--file", metavar="FILE", help="Keeps the whole log; must not be there yet.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, nothing is done.")] = False,
) -> int:
    """Give the log on Kafka another number of partitions, and build the views from it.

    Stop workers and all programs that use the log before, and start them after: a handle that is open keeps
    the old number. The log goes to a file, the topics are made anew, the file is appended to them, and the
    views are replayed into a new generation: vectors of texts are taken from the old one. Positions are new,
    and dead letters, which name old ones, stay in the file alone.
    """
    kafka = require_kafka(target, "an embedded memory is exported, and imported into a new folder")
    views_root(target)
    if not yes:
        raise UsageError(
            "the topics are made anew, from a file with all that is in them: pass --yes to do it"
        )
    if file.exists():
        raise UsageError(f"{file} is there already: give a new name")
    with open_log(target) as log:
        before = log.partitions(MEMORIES)
        if before == partitions:
            raise UsageError(f"there are {before} partitions already")
        if waiting := len(dead_letters(log).letters()):
            raise UsageError(f"{waiting} dead letters wait: retry or drop them first, their positions go")
        records = _save(target, log, file)
    try:
        _make_anew(target, kafka, partitions, file)
        report = replay_all(target)
    except BaseException:
        note(f"{file} has all {records} records. Go on with: mnemolog init --partitions {partitions}")
        note(f"--replication as before, then mnemolog import {file} and mnemolog replay")
        raise
    if target.json:
        print_json({"partitions": partitions, "records": records, "generation": report.manifest.generation})
    else:
        say(f"{records} records in {partitions} partitions instead of {before}")
        say(f"{report.manifest.generation} is live")
    return ExitCode.OK


def _save(target: Target, log: Log, file: Path) -> int:
    """Export the whole log; how many records it has."""
    from mnemolog.transfer.records import export_log, read_file

    with progress("exporting", shown=not target.json) as advance:
        ends = _ends(log)
        records = export_log(log, file, on_progress=advance)
        time.sleep(_QUIET_SECONDS)
        whole = sum(1 for _ in read_file(file)) == records
    if not whole:
        raise LogError(f"{file} does not hold the {records} records of the log; nothing was changed")
    if _ends(log) != ends:
        file.unlink()
        raise LogError("something is still writing to the log; nothing was changed. Stop it, and try again")
    return records


def _ends(log: Log) -> dict[str, dict[int, int]]:
    return {topic: log.end_offsets(topic) for topic in sorted(TOPIC_NAMES)}


def _make_anew(target: Target, kafka: str, partitions: int, file: Path) -> None:
    from mnemolog.producers.kafka import recreate_topics
    from mnemolog.transfer.records import import_log

    report = recreate_topics(kafka, partitions, timeout_seconds=max(target.timeout, 1.0))
    if not report.sound:
        raise LogError(f"the topics were not made as they should be: {report}. {file} has the whole log")
    with open_log(target) as log, progress("importing", shown=not target.json) as advance:
        import_log(log, file, advance, without={DEADLETTERS})
