"""The commands that look after a memory: init, worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.consolidating import ExtractorName
from mnemolog.cli.exits import ExitCode
from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, say
from mnemolog.cli.session import (
    LOG_FILE,
    choose_embedder,
    open_memory,
    open_views,
    require_kafka,
    views_root,
)
from mnemolog.cli.shell import UsageError

if TYPE_CHECKING:
    from mnemolog.consolidating import Consolidating
    from mnemolog.producers.kafka import TopicsReport


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for one in (init, worker):
        command(app)(one)


def init(
    target: Target,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, show_default="4 on Kafka, 1 embedded", help="See repartition."),
    ] = None,
    replication: Annotated[int, typer.Option(min=1, help="Copies of each topic; Kafka only.")] = 1,
) -> int:
    """Make the folder of an embedded memory, or the topics on Kafka. Doing it again changes nothing."""
    if target.path is not None:
        return _init_folder(target, target.path, partitions)
    return _init_topics(target, partitions, replication)


def _init_folder(target: Target, path: Path, partitions: int | None) -> int:
    from mnemolog.producers.embedded import EmbeddedLog

    is_new = not (path / LOG_FILE).exists()
    path.mkdir(parents=True, exist_ok=True)
    EmbeddedLog(path / LOG_FILE, partitions=partitions).close()
    with open_memory(target):
        embedder = open_views(target).current().embedder
    if target.json:
        print_json({"path": path, "created": is_new, "embedder": embedder})
    else:
        say(f"{path}: {'made' if is_new else 'was there'}, embedder {embedder or 'none'}")
    return ExitCode.OK


def _init_topics(target: Target, partitions: int | None, replication: int) -> int:
    from mnemolog.producers.kafka import create_topics
    from mnemolog.schemas.topics import DEFAULT_PARTITIONS

    kafka = require_kafka(target, "where to make the topics")
    count, patience = partitions or DEFAULT_PARTITIONS, max(target.timeout, 1.0)
    report = create_topics(kafka, count, replication, timeout_seconds=patience)
    if target.json:
        print_json({"kafka": kafka, "sound": report.sound, **_topics_document(report)})
    else:
        _print_topics(kafka, report)
    return ExitCode.OK if report.sound else ExitCode.INCOMPLETE


def _topics_document(report: TopicsReport) -> dict[str, Any]:
    return {
        "created": report.created,
        "found": report.found,
        "other_partitions": report.other_partitions,
        "other_settings": report.other_settings,
    }


def _print_topics(kafka: str, report: TopicsReport) -> None:
    say(f"{kafka}: made {', '.join(report.created) or 'no topic'}; found {', '.join(report.found) or 'none'}")
    for topic, count in report.other_partitions.items():
        note(f"{topic} has {count} partitions, not the number asked for; to change it: mnemolog repartition")
    for topic, settings in report.other_settings.items():
        found = ", ".join(f"{name}={value}" for name, value in settings.items())
        note(f"{topic} may lose events with {found}; set them with Kafka's own tools")


def worker(
    target: Target,
    group: Annotated[str, typer.Option(help="Workers of one group share the partitions.")] = "mnemolog",
    consolidate: Annotated[
        bool, typer.Option("--consolidate", help="Make facts of new memories, by --extractor.")
    ] = False,
    extractor: ExtractorName = "rules",
    every: Annotated[
        int, typer.Option(min=1, help="With --consolidate: after so many new memories of a namespace.")
    ] = 20,
    minutes: Annotated[float, typer.Option(min=0, help="Or so long after the first of them.")] = 10.0,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            envvar="MNEMOLOG_METRICS_PORT",
            show_default="no metrics",
            help="Serve Prometheus metrics on this port; 0 picks a free one.",
        ),
    ] = None,
    metrics_host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            envvar="MNEMOLOG_METRICS_HOST",
            help="With --metrics-port: the address to listen on, 0.0.0.0 for all.",
        ),
    ] = "127.0.0.1",
) -> int:
    """Keep views up with Kafka, until Ctrl-C or SIGTERM. Run several to share the work."""
    kafka = require_kafka(target, "an embedded memory keeps its views up by itself")
    root = views_root(target)
    if target.json:
        raise UsageError("a worker prints its log, not JSON")
    from mnemolog.worker import run_worker

    how = _how_to_consolidate(extractor, every, minutes) if consolidate else None
    embedder = choose_embedder(target)
    code = run_worker(
        kafka=kafka,
        views=root,
        embedder=embedder,
        group=group,
        consolidate=how,
        metrics_port=metrics_port,
        metrics_host=metrics_host,
    )
    return ExitCode.UNAVAILABLE if code else ExitCode.OK


def _how_to_consolidate(extractor: str, every: int, minutes: float) -> Consolidating:
    from mnemolog.consolidating import consolidating

    return consolidating(extractor, every=every, seconds=minutes * 60)
