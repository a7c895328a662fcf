"""The options that every command takes, and what they mean together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from mnemolog.cli.shell import UsageError
from mnemolog.schemas.namespaces import Namespace, decode_namespace

DEFAULT_PATH = "memory"
DEFAULT_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """Which memory a command works on, and how: embedded in the folder `path`, or else over `kafka`.

    `typed_path` says that it was named on the command line. `embedder` is None where none was.
    `timeout` bounds every wait for brokers and for the views, in seconds. `redact` is as it was typed.
    """

    path: Path | None
    typed_path: bool
    kafka: str | None
    views: str | None
    namespace: Namespace
    embedder: str | None
    timeout: float
    redact: Sequence[str]
    json: bool


_PATH: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="MNEMOLOG_PATH",
        show_default=f"./{DEFAULT_PATH}",
        help="An embedded memory's folder.",
    ),
]
_KAFKA: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", envvar="MNEMOLOG_KAFKA", help="Kafka's brokers, instead of --path."),
]
_VIEWS: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="DIR", envvar="MNEMOLOG_VIEWS", help="Where workers keep the views; with --kafka."),
]
_NAMESPACE: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="PART/PART",
        envvar="MNEMOLOG_NAMESPACE",
        help="Whose memory: parts joined by /, a / inside a part as %2F.",
    ),
]
_EMBEDDER: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        envvar="MNEMOLOG_EMBEDDER",
        show_default="the one of the views, else minilm",
        help="minilm, hashing, hashing:DIM, or none for keywords only.",
    ),
]
_TIMEOUT: TypeAlias = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        envvar="MNEMOLOG_TIMEOUT",
        min=0.0,
        help="How long to wait for Kafka, and for views that stand still.",
    ),
]
_REDACT: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        envvar="MNEMOLOG_REDACT",
        help="Keep out of what is written: secrets, or KIND=REGEX; repeatable.",
    ),
]
_JSON: TypeAlias = Annotated[
    bool, typer.Option("--json", envvar="MNEMOLOG_JSON", help="Print JSON, errors too.")
]

_OPTIONS: tuple[tuple[str, Any, Any], ...] = (
    ("path", _PATH, None),
    ("kafka", _KAFKA, None),
    ("views", _VIEWS, None),
    ("namespace", _NAMESPACE, "default"),
    ("embedder", _EMBEDDER, None),
    ("timeout", _TIMEOUT, DEFAULT_TIMEOUT_SECONDS),
    ("redact", _REDACT, None),
    ("json", _JSON, False),
)

Command = Callable[..., int | None]
"""Takes a Target and its own arguments; what it returns is the exit code, None for 0."""


def command(app: typer.Typer, name: str | None = None) -> Callable[[Command], Command]:
    """Registers a command, which beside its own arguments gets the options of all as a Target."""

    def register(function: Command) -> Command:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def run(context: typer.Context, **given: Any) -> int | None:
            shared = {name: given.pop(name) for name, _, _ in _OPTIONS}
            return function(_target(context, **shared), **given)

        _pose_as(run, function, [_parameter("context", typer.Context), *own, *_shared_parameters()])
        app.command(name or function.__name__)(run)
        return function

    return register


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _shared_parameters() -> list[inspect.Parameter]:
    return [_parameter(name, annotation, default) for name, annotation, default in _OPTIONS]


def _pose_as(run: Any, function: Command, parameters: list[inspect.Parameter]) -> None:
    """Let Typer see the name and help of `function`, and these parameters."""
    every = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = inspect.Signature(every)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}


def _target(context: typer.Context, **shared: Any) -> Target:
    def was_typed(name: str) -> bool:
        return getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"

    path, kafka = _choose(shared["path"], shared["kafka"], was_typed)
    if kafka is None and was_typed("views"):
        raise UsageError("--views goes with --kafka; an embedded memory has them in its folder", context)
    chosen = {
        "path": path,
        "kafka": kafka,
        "namespace": decode_namespace(shared["namespace"]),
        "redact": shared["redact"] or (),
    }
    return Target(**{**shared, **chosen}, typed_path=path is not None and was_typed("path"))


def _choose(
    path: Path | None, kafka: str | None, was_typed: Callable[[str], bool]
) -> tuple[Path | None, str | None]:
    """The folder or the brokers. What was typed beats a variable; of two that are equal none wins."""
    if path is None and kafka is None:
        return Path(DEFAULT_PATH), None
    if path is not None and kafka is not None:
        if was_typed("path") == was_typed("kafka"):
            raise UsageError("--path and --kafka are two different memories: give one of them")
        return (path, None) if was_typed("path") else (None, kafka)
    return path, kafka
