"""The commands consolidate and facts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine

from mnemolog.cli.exits import ExitCode

FUNCTIONS = """
from mnemolog import Fact
def summary(memories):
    return f"{len(memories)} memories"
def odd(memories):
    return [Fact("pet", "", tombstone=True)]
"""


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    made = CommandLine(tmp_path / "memory")
    made.ok("remember", "I live in Berlin.", "--author", "Alice", "--occurred-at", "2026-01-02", "--id", "m")
    made.ok("remember", "I moved to Paris.", "--author", "Alice", "--occurred-at", "2026-03-04", "--id", "n")
    return made


def test_facts_are_made_by_the_rules_and_listed(cli: CommandLine) -> None:
    assert cli.ok("consolidate", "--older-than", "0").startswith("read 2: 2 new, 1 superseded, 0 retracted")
    lines = cli.ok("facts").splitlines()
    assert lines == [
        "Alice's home\tAlice lives in Paris\t2026-03-04\t\t0.9",
        "Alice's home\tAlice lives in Berlin\t2026-01-02\t2026-03-04\t0.9",
    ]
    assert cli.ok("facts", "alice's  HOME", "--current").splitlines() == lines[:1]
    assert cli.ok("facts", "--as-of", "2026-02-01").splitlines() == lines[1:]
    assert cli.ok("facts", "pets") == ""
    assert cli.ok("consolidate", "--older-than", "0").startswith("read 2: 0 new")


def test_results_are_json_for_machines(cli: CommandLine) -> None:
    told = cli.json("consolidate", "--kind", "note")
    assert (told["mode"], told["considered"], len(told["created"])) == ("facts", 2, 2)
    (fact,) = cli.lines("facts", "--current")
    assert (fact["statement"], fact["sources"], fact["valid_to"]) == ("Alice lives in Paris", ["n"], None)


def test_a_function_of_ones_own_sums_up(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_functions_for_cli.py").write_text(FUNCTIONS)
    monkeypatch.chdir(tmp_path)
    arguments = ["--mode", "summary", "--extractor", "my_functions_for_cli:summary", "--older-than", "0"]
    assert "1 new" in cli.ok("consolidate", *arguments, "--delete-sources")
    assert [item["text"] for item in cli.lines("list")] == ["2 memories"]
    cli.ok("remember", "x")
    run = cli.run("consolidate", "--extractor", "my_functions_for_cli:odd", "--older-than", "0")
    assert "nothing to retract: pet" in run.output


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--older-than", "0", "--mode", "poem"],
        ["--older-than", "0", "--extractor", "magic"],
        ["--older-than", "0", "--mode", "summary"],
        ["--older-than", "-1"],
        ["--max-importance", "x"],
    ],
)
def test_what_makes_no_sense_is_wrong_usage(cli: CommandLine, arguments: list[str]) -> None:
    assert cli.run("consolidate", *arguments).exit_code == ExitCode.USAGE
    assert len(cli.lines("list")) == 2
