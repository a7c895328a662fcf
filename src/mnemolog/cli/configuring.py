"""`mnemolog config`: the settings of a namespace, and those for all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from mnemolog.cli.options import Target, command
from mnemolog.cli.output import plain, print_json, print_pairs, say
from mnemolog.cli.session import open_memory
from mnemolog.cli.shell import Shell
from mnemolog.schemas.errors import InvalidInputError
from mnemolog.schemas.settings import WEIGHT

app = typer.Typer(cls=Shell, help="Settings that running programs follow.", no_args_is_help=True)


@command(app)
def get(target: Target) -> None:
    """The settings that hold in the namespace, and where each was made."""
    with open_memory(target) as memory:
        config: dict[str, Any] = plain(memory.current_config())
    if target.json:
        print_json(config)
        return
    weights, origins = config.pop("weights"), config.pop("origins")
    pairs = {**config, **{f"{WEIGHT}{name}": value for name, value in weights.items()}}
    print_pairs({name: _shown(value, origins.get(name)) for name, value in pairs.items()})


def _shown(value: object, origin: str | None) -> str:
    text = "-" if value is None else str(value)
    return text if origin is None else f"{text} ({origin})"


@command(app, "set")
def set_(
    target: Target,
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=VALUE…", help="As in threshold=0.6 weights.recency=1 max_items_per_scope=null."
        ),
    ],
    globally: Annotated[
        bool, typer.Option("--global", help="For all namespaces that have no setting of their own.")
    ] = False,
) -> None:
    """Change settings; null takes one back."""
    given = parse_settings(settings)
    with open_memory(target) as memory:
        receipt = memory.set_config(globally=globally, **given)
    if target.json:
        print_json(receipt)
    else:
        say(str(receipt.position))


def parse_settings(given: Sequence[str]) -> dict[str, Any]:
    """The arguments of `set_config` that `NAME=VALUE` stand for; a value is JSON, or else a string.

    Raises:
        InvalidInputError: one has no value.
    """
    settings: dict[str, Any] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals:
            raise InvalidInputError(f"a setting is NAME=VALUE, not {one!r:.80}", field=name)
        if name.startswith(WEIGHT):
            settings.setdefault("weights", {})[name.removeprefix(WEIGHT)] = _value(text)
        else:
            settings[name] = _value(text)
    return settings


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
