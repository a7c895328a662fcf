"""`mnemolog context set|get|list|delete`: what agents keep in mind under keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import note, print_json, print_json_lines, print_table, say
from mnemolog.cli.session import open_memory
from mnemolog.cli.values import parse_value, read_text
from mnemolog.cli.writing import append_event
from mnemolog.schemas.errors import NotFoundError

if TYPE_CHECKING:
    from mnemolog.query.contexts import ContextEntry

app = typer.Typer(
    help="What agents keep in mind under keys, by agent and thread.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Key = Annotated[str, typer.Argument(metavar="KEY", help="What it is kept under.")]
_Agent = Annotated[str | None, typer.Option(help="Whose: an agent's; else no one's in particular.")]
_Thread = Annotated[str | None, typer.Option(help="Of this conversation; else of none in particular.")]
_After = Annotated[
    str | None, typer.Option(metavar="POSITION", help="First wait for what was written at this position.")
]


def set_(
    target: Target,
    key: _Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="JSON; - reads it from stdin.")],
    string: Annotated[bool, typer.Option("--string", help="Take VALUE as a string, as it is.")] = False,
    ttl: Annotated[float | None, typer.Option(metavar="SECONDS", help="Expire after so long.")] = None,
    agent: _Agent = None,
    thread: _Thread = None,
) -> None:
    """Let a key hold a value, in place of any that it held."""
    from mnemolog.producers.commands import Commands
    from mnemolog.producers.context_commands import Address, ContextCommands

    text = read_text(value)
    held: Any = text if string else parse_value("VALUE", text)
    event = ContextCommands(Commands(target.namespace)).set(Address("context", agent, thread, key), held, ttl)
    at = append_event(target, event, create=True)
    if target.json:
        print_json({"id": key, "position": at})
    else:
        say(f"set {key} at {at}")


def get(
    target: Target, key: _Key, agent: _Agent = None, thread: _Thread = None, after: _After = None
) -> None:
    """What a key holds: a string as it is, anything else as JSON. Exits 1 if it holds nothing."""
    nothing = object()
    with open_memory(target) as memory:
        value = memory.get_context(key, nothing, agent_id=agent, thread_id=thread, after=after)
    if value is nothing:
        raise NotFoundError(f"{key!r} holds nothing in namespace {'/'.join(target.namespace)}")
    if target.json:
        print_json({"key": key, "value": value})
    else:
        say(_text(value))


def list_(
    target: Target,
    prefix: Annotated[str | None, typer.Option(help="Only keys that begin so.")] = None,
    contains: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only where the key or the value has this in it.")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 100,
    offset: Annotated[int, typer.Option(help="How many to leave out before.")] = 0,
    agent: _Agent = None,
    thread: _Thread = None,
    after: _After = None,
) -> None:
    """What the keys of an agent and a thread hold, by key; with --json one a line."""
    with open_memory(target) as memory:
        page = memory.list_context(
            prefix, contains, agent_id=agent, thread_id=thread, limit=limit, offset=offset, after=after
        )
    if target.json:
        print_json_lines(page.items)
        return
    print_table(("key", "expires", "value"), [_listed(entry) for entry in page.items])
    if len(page.items) < page.total:
        note(f"{len(page.items)} of {page.total}")


def delete(target: Target, key: _Key, agent: _Agent = None, thread: _Thread = None) -> None:
    """Let a key hold nothing. Harmless if it does."""
    with open_memory(target) as memory:
        held = memory.delete_context(key, agent_id=agent, thread_id=thread)
    if target.json:
        print_json({"id": key, "deleted": held})
    else:
        say(f"deleted {key}" if held else f"{key} held nothing")


def _listed(entry: ContextEntry) -> tuple[object, ...]:
    return entry.key, entry.expires_at, _text(entry.value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


command(app, "set")(set_)
command(app)(get)
command(app, "list")(list_)
command(app)(delete)
