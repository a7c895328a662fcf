"""docs/cli.md: its example runs, and its tables are those of the program."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from support.command_line import CommandLine

from mnemolog.cli.exits import ExitCode

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


def steps() -> list[tuple[list[str], str]]:
    """The commands of the example, each with the output that the page shows."""
    (block,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    parts = block.split("$ mnemolog ")[1:]
    return [(shlex.split(part.partition("\n")[0], comments=True), part.partition("\n")[2]) for part in parts]


def test_the_example_runs_and_prints_what_the_page_shows(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path / "memory")
    for command, shown in steps():
        assert cli.ok(*command).startswith(shown), command


def test_the_exit_codes_are_those_of_the_program() -> None:
    table = PAGE.partition("## Exit codes")[2]
    assert re.findall(r"^\| (\d+) \|", table, re.MULTILINE) == [str(code.value) for code in ExitCode]


def test_every_variable_is_one_of_the_program(tmp_path: Path) -> None:
    told = CommandLine(tmp_path).ok("recall", "--help").replace("\n", "")
    assert all(variable in told for variable in re.findall(r"MNEMOLOG_[A-Z]+", PAGE))
