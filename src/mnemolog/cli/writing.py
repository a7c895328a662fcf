"""The commands that write: remember, update, feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import print_written
from mnemolog.cli.session import open_log, open_memory
from mnemolog.cli.shell import UsageError
from mnemolog.cli.values import parse_object, parse_redaction, parse_time, read_text

if TYPE_CHECKING:
    from mnemolog.schemas.events import Envelope
    from mnemolog.schemas.positions import Position

_CLEARED: dict[str, Any] = {
    "importance": None,
    "author": None,
    "source": None,
    "expires_at": None,
    "tags": (),
    "metadata": {},
}


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for one in (remember, update, feedback):
        command(app)(one)


def remember(
    target: Target,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads it from stdin.")],
    kind: Annotated[str, typer.Option(help="What sort of memory it is.")] = "note",
    importance: Annotated[float | None, typer.Option(metavar="0…1", help="How much it matters.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="A tag; repeatable.")] = None,
    key: Annotated[str | None, typer.Option(help="A slot: a newer memory supersedes the one in it.")] = None,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="The same text refreshes it.")] = False,
    ttl: Annotated[float | None, typer.Option(metavar="SECONDS", help="Expire after so long.")] = None,
    expires_at: Annotated[str | None, typer.Option(metavar="TIME", help="Expire then.")] = None,
    occurred_at: Annotated[str | None, typer.Option(metavar="TIME", help="When it happened.")] = None,
    author: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it is from.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that remembers.")] = None,
    thread: Annotated[str | None, typer.Option(help="The conversation it belongs to.")] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="Further fields.")] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Never evict it.")] = False,
    id_: Annotated[str | None, typer.Option("--id", help="Your own id, so that a retry is harmless.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return once the views show it.")] = False,
) -> None:
    """Remember a text. Returns once it is durable in the log; --wait, or the next read, sees to the views."""
    from mnemolog.producers.commands import Commands

    event = Commands(target.namespace).remember(
        read_text(text),
        kind=kind,
        importance=importance,
        tags=tag or (),
        key=key,
        dedupe=dedupe,
        ttl_seconds=ttl,
        expires_at=parse_time("--expires-at", expires_at),
        occurred_at=parse_time("--occurred-at", occurred_at),
        author=author,
        source=source,
        agent_id=agent,
        thread_id=thread,
        metadata=parse_object("--metadata", metadata),
        pinned=pinned,
        id=id_,
    )
    at = append_event(target, event, create=True)
    if wait:
        with open_memory(target) as memory:
            memory.wait(at, target.timeout)
    print_written(target.json, "remembered", event.memory_id, at)


def append_event(target: Target, event: Envelope, *, create: bool = False) -> Position:
    """Append an event to the log, redacted, without views; the position of its first record."""
    from mnemolog.producers.redaction import make_redactor, redacted
    from mnemolog.schemas.codec import encode

    _check_embedder(target)
    (event,) = redacted([event], make_redactor(parse_redaction(target.redact)))
    with open_log(target, create=create) as log:
        return log.append(encode(event))[0]


def _check_embedder(target: Target) -> None:
    if target.embedder is not None:
        from mnemolog.embedders import resolve

        resolve(target.embedder)


def update(
    target: Target,
    id_: Annotated[str, typer.Argument(metavar="ID", help="The memory.")],
    text: Annotated[str | None, typer.Option(help="The new text; - reads it from stdin.")] = None,
    kind: Annotated[str | None, typer.Option(help="The new kind.")] = None,
    importance: Annotated[float | None, typer.Option(metavar="0…1", help="The new importance.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="All its tags from now on.")] = None,
    author: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it is from.")] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="All of it from now on.")] = None,
    pinned: Annotated[bool | None, typer.Option(help="Whether it may be evicted.")] = None,
    ttl: Annotated[float | None, typer.Option(metavar="SECONDS", help="Expire after so long.")] = None,
    expires_at: Annotated[str | None, typer.Option(metavar="TIME", help="Expire then.")] = None,
    clear: Annotated[
        list[str] | None, typer.Option(metavar="FIELD", help=f"Empty it: {', '.join(_CLEARED)}.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why; history tells.")] = None,
) -> None:
    """Change the given fields of a memory; all others stay."""
    given: dict[str, Any] = {
        "text": None if text is None else read_text(text),
        "kind": kind,
        "importance": importance,
        "tags": tag,
        "author": author,
        "source": source,
        "metadata": parse_object("--metadata", metadata),
        "pinned": pinned,
        "ttl_seconds": ttl,
        "expires_at": parse_time("--expires-at", expires_at),
        "reason": reason,
    }
    changes = {name: value for name, value in given.items() if value is not None} | _cleared(clear or ())
    with open_memory(target) as memory:
        receipt = memory.update(id_, **changes)
    print_written(target.json, "updated", receipt.id, receipt.position)


def _cleared(names: Sequence[str]) -> dict[str, Any]:
    if unknown := set(names) - _CLEARED.keys():
        raise UsageError(f"--clear {min(unknown)}: only {', '.join(_CLEARED)} can be emptied")
    return {name: _CLEARED[name] for name in names}


def feedback(
    target: Target,
    recall: Annotated[str | None, typer.Option(metavar="RECALL_ID", help="What showed them.")] = None,
    used: Annotated[list[str] | None, typer.Option(metavar="ID", help="It helped; repeatable.")] = None,
    ignored: Annotated[list[str] | None, typer.Option(metavar="ID", help="It did not.")] = None,
) -> None:
    """Say which of the memories that a recall showed were used and which were not."""
    from mnemolog.producers.commands import Commands

    event = Commands(target.namespace).feedback(recall, used=used or (), ignored=ignored or ())
    print_written(target.json, "feedback", event.event_id, append_event(target, event))
