"""The commands that write memories with structure: know, episode, procedure, reflect, reward."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mnemolog.cli.options import Command, Target, command
from mnemolog.cli.output import print_written
from mnemolog.cli.session import open_memory
from mnemolog.cli.values import parse_object, parse_time, read_text
from mnemolog.cli.writing import append_event
from mnemolog.schemas.errors import InvalidInputError

_GENERAL: tuple[tuple[str, Any, Any], ...] = (
    (
        "id_",
        Annotated[str | None, typer.Option("--id", help="Your own id, so that a retry is harmless.")],
        None,
    ),
    (
        "key",
        Annotated[str | None, typer.Option(help="A slot: a newer memory supersedes the one in it.")],
        None,
    ),
    ("tag", Annotated[list[str] | None, typer.Option(metavar="TAG", help="A tag; repeatable.")], None),
    ("importance", Annotated[float | None, typer.Option(metavar="0…1", help="How much it matters.")], None),
    ("source", Annotated[str | None, typer.Option(help="Where it is from.")], None),
    (
        "rests_on",
        Annotated[list[str] | None, typer.Option(metavar="ID", help="A memory it rests on; repeatable.")],
        None,
    ),
    ("agent", Annotated[str | None, typer.Option(help="The agent that remembers.")], None),
    ("thread", Annotated[str | None, typer.Option(help="The conversation it belongs to.")], None),
    ("metadata", Annotated[str | None, typer.Option(metavar="JSON", help="Further fields.")], None),
    ("occurred_at", Annotated[str | None, typer.Option(metavar="TIME", help="When it happened.")], None),
    ("valid_from", Annotated[str | None, typer.Option(metavar="TIME", help="It holds from then on.")], None),
    ("valid_to", Annotated[str | None, typer.Option(metavar="TIME", help="It holds until then.")], None),
)
_TIMES = ("occurred_at", "valid_from", "valid_to")


def register(app: typer.Typer) -> None:
    """Add the commands to `app`."""
    for one in (know, episode, procedure, reflect, reward):
        command(app)(_with_general(one))


def _with_general(function: Callable[..., None]) -> Command:
    """`function`, which beside its own options gets those of every kind as the fields of `remember`."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())[:-1]
    general = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, annotation, default in _GENERAL
    ]

    def run(target: Target, **given: Any) -> None:
        fields = _fields({name: given.pop(name) for name, _, _ in _GENERAL})
        function(target, fields=fields, **given)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = inspect.Signature([*own, *general])  # type: ignore[attr-defined]
    return run


def _fields(given: dict[str, Any]) -> dict[str, Any]:
    fields = {
        "id": given["id_"],
        "key": given["key"],
        "tags": given["tag"],
        "importance": given["importance"],
        "source": given["source"],
        "sources": given["rests_on"],
        "agent_id": given["agent"],
        "thread_id": given["thread"],
        "metadata": parse_object("--metadata", given["metadata"]),
        **{name: parse_time(f"--{name.replace('_', '-')}", given[name]) for name in _TIMES},
    }
    return {name: value for name, value in fields.items() if value is not None}


def _write(target: Target, verb: str, *arguments: Any, **fields: Any) -> None:
    """Write a memory: to the log alone, unless it names other memories, which must be there."""
    from mnemolog.producers.commands import Commands

    if fields.get("sources") or fields.get("source_episode_id"):
        with open_memory(target, create=True) as memory:
            receipt = getattr(memory, verb)(*arguments, **fields)
        written, position = receipt.id, receipt.position
    else:
        event = getattr(Commands(target.namespace), verb)(*arguments, **fields)
        written, position = event.memory_id, append_event(target, event, create=True)
    print_written(target.json, "remembered", written, position)


def know(
    target: Target,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT")],
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE")],
    object_: Annotated[str, typer.Argument(metavar="OBJECT")],
    content: Annotated[str | None, typer.Option(help="What more there is to say.")] = None,
    confidence: Annotated[float, typer.Option(metavar="0…1", help="How sure it is.")] = 1.0,
    fields: Any = None,
) -> None:
    """Remember a fact, an edge of the graph from SUBJECT to OBJECT."""
    _write(target, "know_fact", subject, predicate, object_, content=content, confidence=confidence, **fields)


def episode(
    target: Target,
    content: Annotated[str, typer.Argument(metavar="CONTENT", help="What happened; - reads it from stdin.")],
    outcome: Annotated[str, typer.Option(help="success, failure, neutral or unknown.")] = "unknown",
    circumstances: Annotated[
        str | None, typer.Option("--context", metavar="JSON", help="In which circumstances.")
    ] = None,
    fields: Any = None,
) -> None:
    """Remember something that happened."""
    context = parse_object("--context", circumstances)
    _write(target, "remember_episode", read_text(content), outcome=outcome, context=context, **fields)


def procedure(
    target: Target,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    step: Annotated[
        list[str],
        typer.Option(
            metavar="TEXT|JSON", help="An action, or an object with action, parameters; repeatable."
        ),
    ],
    description: Annotated[str | None, typer.Option(help="What it does.")] = None,
    trigger: Annotated[list[str] | None, typer.Option(help="When to do it; repeatable.")] = None,
    fields: Any = None,
) -> None:
    """Remember how to do something, step by step."""
    steps = [_step(text) for text in step]
    _write(
        target,
        "learn_procedure",
        name,
        steps,
        description=description,
        trigger_conditions=trigger or (),
        **fields,
    )


def _step(text: str) -> dict[str, Any]:
    if not text.lstrip().startswith("{"):
        return {"action": text}
    try:
        step: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"--step is an action, or JSON ({error})", field="steps") from None
    return step


def reflect(
    target: Target,
    content: Annotated[str, typer.Argument(metavar="CONTENT", help="The thought; - reads it from stdin.")],
    lesson: Annotated[str, typer.Argument(metavar="LESSON", help="What it teaches.")],
    improvement: Annotated[str | None, typer.Option(help="What to do better.")] = None,
    episode: Annotated[str | None, typer.Option(metavar="ID", help="The episode it is about.")] = None,
    confidence: Annotated[float, typer.Option(metavar="0…1", help="How sure it is.")] = 1.0,
    fields: Any = None,
) -> None:
    """Remember a thought and its lesson."""
    _write(
        target,
        "reflect",
        read_text(content),
        lesson,
        improvement=improvement,
        source_episode_id=episode,
        confidence=confidence,
        **fields,
    )


def reward(
    target: Target,
    state: Annotated[str, typer.Argument(metavar="STATE")],
    action: Annotated[str, typer.Argument(metavar="ACTION")],
    value: Annotated[float, typer.Argument(metavar="REWARD", help="Any number; after -- if negative.")],
    outcome: Annotated[str | None, typer.Option(help="What came of it.")] = None,
    policy: Annotated[str, typer.Option(help="The policy that acted.")] = "default",
    next_state: Annotated[str | None, typer.Option(help="The state it led to.")] = None,
    fields: Any = None,
) -> None:
    """Remember what an action in a state was worth."""
    _write(
        target,
        "record_reward",
        state,
        action,
        value,
        outcome=outcome,
        policy=policy,
        next_state=next_state,
        **fields,
    )
