"""The tables of docs/from-other-libraries.md, and whether the names of ours that they mention exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import typer
from prometheus_client import CollectorRegistry

import mnemolog
from mnemolog.caches.caches import Caches
from mnemolog.caches.llm import LlmCache
from mnemolog.caches.sessions import SessionCache
from mnemolog.caches.tool import ToolCache
from mnemolog.cli.app import app
from mnemolog.memory import Memory
from mnemolog.telemetry.instruments import instruments_of
from mnemolog.telemetry.worker_metrics import WorkerMetrics

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "from-other-libraries.md"
NONE = "—"
_SPAN = re.compile(r"`([^`]+)`")
_MODULES = (
    "mnemolog.adapters.langchain_cache",
    "mnemolog.adapters.langgraph_saver",
    "mnemolog.adapters.langgraph_store",
    "mnemolog.adapters.llamaindex_block",
    "mnemolog.adapters.mcp_tools",
    "mnemolog.adapters.openai_agents",
    "mnemolog.caches.caches",
    "mnemolog.caches.counting",
    "mnemolog.caches.lifetimes",
    "mnemolog.caches.llm",
    "mnemolog.caches.tool",
    "mnemolog.producers.receipts",
    "mnemolog.query.config",
    "mnemolog.query.facts",
    "mnemolog.query.graph_models",
    "mnemolog.query.models",
    "mnemolog.query.scoring.usefulness",
    "mnemolog.query.scoring.weights",
    "mnemolog.schemas.details",
    "mnemolog.schemas.errors",
    "mnemolog.schemas.facts",
    "mnemolog.schemas.ports",
    "mnemolog.schemas.scope",
    "mnemolog.verbs.consolidation",
)
_PARTS = {
    "mem": Memory,
    "mem.cache": Caches,
    "mem.cache.llm": LlmCache,
    "mem.cache.tool": ToolCache,
    "mem.cache.session": SessionCache,
}
Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """A row of a table: the library, their names, our answer, and what differs."""

    library: str
    theirs: str
    ours: str
    differs: str

    @property
    def name(self) -> str:
        """What tests call it: the first of their names, or all that the cell says."""
        return next(iter(_SPAN.findall(self.theirs)), self.theirs)

    @property
    def answered(self) -> bool:
        """Whether there is something of ours, so that a test must show it."""
        return self.ours != NONE

    @property
    def ours_named(self) -> list[str]:
        """The names of ours in it."""
        return _SPAN.findall(f"{self.ours} {self.differs}")


def read_rows() -> list[Row]:
    """All rows of the page."""
    found, library = [], ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            library = line[3:]
        elif line.startswith("| ") and not line.startswith("| theirs"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found.append(Row(library, *cells))
    return found


def names_in_prose() -> list[str]:
    """The names of ours outside of the tables; links lead elsewhere."""
    lines = [line for line in PAGE.read_text().splitlines() if not line.startswith("|")]
    return _SPAN.findall("\n".join(lines))


def rows(library: str, *names: str) -> Callable[[Test], Test]:
    """Says which rows of a library's tables a test shows."""

    def mark(test: Test) -> Test:
        test.shown = [(library, name) for name in names]  # type: ignore[attr-defined]
        return test

    return mark


def shown_by(tests: Iterable[object]) -> set[tuple[str, str]]:
    """The rows that tests show."""
    return {row for test in tests for row in getattr(test, "shown", [])}


def problem_with(name: str, stats: Mapping[str, Any]) -> str | None:
    """What is wrong with a name of ours as the page writes it; None if it exists."""
    if name.startswith("MNEMOLOG_"):
        return None if name in _variables() else "no such variable"
    if name.startswith("mnemolog_"):
        return None if name in metrics() else "no such metric"
    if name.startswith("python -m "):
        return _missing_module(name.split()[2])
    if name.startswith("mnemolog "):
        return _missing_command(name.split()[1:])
    if name in ("with", "async with", "after="):
        return None
    try:
        _check(ast.parse(name, mode="eval").body, stats)
    except (AttributeError, ImportError, LookupError, TypeError, SyntaxError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def _check(node: ast.expr, stats: Mapping[str, Any]) -> None:
    match node:
        case ast.Constant():
            return
        case ast.Compare(left=ast.Name(), ops=[ast.In()], comparators=[ast.Name("mem")]):
            _find("mem.__contains__")
        case ast.Call(func=ast.Name("len"), args=[ast.Name("mem")]):
            _find("mem.__len__")
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(key)):
            _check(call, stats)
            if key not in stats:
                raise LookupError(f"no {key!r} in stats")
        case ast.Call():
            _check_call(node)
        case _:
            _find(ast.unparse(node))


def _check_call(call: ast.Call) -> None:
    known = parameters(_find(ast.unparse(call.func)))
    given = [ast.unparse(one) for one in call.args] + [one.arg or "" for one in call.keywords]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise LookupError(f"it has no {', '.join(unknown)}")


def _find(path: str) -> Any:
    """The thing of a dotted name: of a handle, of the package, or a class and its part."""
    before, _, last = path.rpartition(".")
    if path in _PARTS:
        return _PARTS[path]
    if before in _PARTS:
        return getattr(_PARTS[before], last)
    if before == "mnemolog":
        return getattr(mnemolog, last)
    if before.startswith("mnemolog."):
        return getattr(importlib.import_module(before), last)
    owner = _class(before or last)
    return owner if not before else _part(owner, last)


def _class(name: str) -> Any:
    for module in _MODULES:
        found = getattr(importlib.import_module(module), name, None)
        if found is not None:
            return found
    raise LookupError(f"no class {name}")


def _part(owner: Any, name: str) -> Any:
    made_here = inspect.signature(owner.__init__).parameters
    fields = {*getattr(owner, "model_fields", ()), *made_here, *getattr(owner, "__dataclass_fields__", ())}
    return None if name in fields else getattr(owner, name)


def parameters(function: Any) -> set[str]:
    """The names that a function takes, those of its `**options: Unpack[…]` too."""
    taken, known = set(), getattr(inspect.unwrap(function), "__globals__", {})
    for name, parameter in inspect.signature(function).parameters.items():
        unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
        if unpacked is None:
            taken.add(name)
        else:
            taken |= set(inspect.get_annotations(known[unpacked[1]]))
    overloads = known.get("RecallOptions") if function is Memory.recall else None
    return taken | set(getattr(overloads, "__annotations__", ()))


def _missing_command(words: list[str]) -> str | None:
    command: Any = typer.main.get_command(app)
    for word in words:
        if word.startswith("--"):
            if not any(word in parameter.opts for parameter in command.params):
                return f"no option {word}"
        elif word not in getattr(command, "commands", {}):
            return f"no command {word}"
        else:
            command = command.commands[word]
    return None


def _variables() -> set[str]:
    found: set[str] = set()
    waiting: list[Any] = [typer.main.get_command(app)]
    while waiting:
        command: click.Command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        for parameter in command.params:
            variable = parameter.envvar or ()
            found |= {variable} if isinstance(variable, str) else set(variable)
    return found


def metrics() -> set[str]:
    """The names of all metrics of handles and workers, but for those of the process."""
    registry = CollectorRegistry()
    instruments_of(registry, "mnemolog")
    families = [*registry.collect(), *WorkerMetrics().registry.collect()]
    names = {f"{one.name}_total" if one.type == "counter" else one.name for one in families}
    return {name for name in names if name.startswith("mnemolog_")}


def _missing_module(name: str) -> str | None:
    return None if (ROOT / f"{name.replace('.', '/')}.py").exists() else f"no {name}"
