"""The commands on memories with structure and on the graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine

from mnemolog.cli.exits import ExitCode


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "memory")


def test_each_kind_is_kept_with_its_parts(cli: CommandLine) -> None:
    cli.ok("episode", "it rained", "--outcome", "failure", "--context", '{"n": 1}', "--id", "e")
    cli.ok(
        "know", "Al", "likes", "tea", "--confidence", "0.5", "--content", "in May", "--id", "f", "--tag", "x"
    )
    cli.ok(
        "procedure",
        "tea",
        "--step",
        "boil",
        "--step",
        '{"action": "pour", "parameters": {"n": 1}}',
        "--id",
        "p",
    )
    cli.ok("reflect", "I got wet", "Take an umbrella", "--episode", "e", "--id", "r")
    cli.ok("reward", "low", "charge", "1.5", "--next-state", "full", "--policy", "energy", "--id", "w")
    details = {item["id"]: item["detail"] for item in cli.lines("list")}
    assert details["e"] == {"form": "episode", "context": {"n": 1}, "outcome": "failure"}
    assert (details["f"]["object"], details["f"]["confidence"], details["f"]["content"]) == (
        "tea",
        0.5,
        "in May",
    )
    assert [step["action"] for step in details["p"]["steps"]] == ["boil", "pour"]
    assert details["r"]["source_episode"] == "e"
    assert (details["w"]["reward"], details["w"]["next_state"]) == (1.5, "full")
    assert [item["id"] for item in cli.lines("list", "--filter", '{"reward": {"gt": 1}}')] == ["w"]


def test_general_options_go_with_every_kind(cli: CommandLine) -> None:
    options = {
        "--key": "k",
        "--importance": "0.9",
        "--source": "chat",
        "--agent": "a",
        "--thread": "t",
        "--metadata": '{"n": 1}',
        "--occurred-at": "2026-01-01",
        "--valid-from": "2026-01-02",
        "--valid-to": "2026-01-03",
        "--rests-on": "base",
    }
    cli.ok("remember", "base", "--id", "base")
    cli.ok("know", "s", "p", "o", "--id", "m", *[part for pair in options.items() for part in pair])
    item = cli.json("get", "m")
    assert (item["key"], item["importance"], item["source"], item["sources"]) == ("k", 0.9, "chat", ["base"])
    assert (item["agent_id"], item["thread_id"], item["metadata"]) == ("a", "t", {"n": 1})
    assert (item["valid_from"][:10], item["valid_to"][:10]) == ("2026-01-02", "2026-01-03")


def test_the_graph_is_walked(cli: CommandLine) -> None:
    cli.ok("know", "Paris", "capital of", "France", "--id", "f")
    cli.ok("know", "Europe", "has", "France", "--valid-to", "2020-01-01")
    cli.ok("remember", "a text", "--id", "m")
    cli.ok("graph", "link", "m", "f", "--relation", "about")
    assert cli.ok("graph", "neighbours", "paris") == "1\tentity\tFrance\tParis —capital of→ France\n"
    assert [one["node"]["name"] for one in cli.lines("graph", "neighbours", "paris", "--depth", "2")] == [
        "France", "Europe",
    ]  # fmt: skip
    assert cli.ok("graph", "neighbours", "europe", "--valid-at", "2021-01-01") == ""
    assert cli.ok("graph", "paths", "paris", "europe") == "2\tParis —capital of→ France ←has— Europe\n"
    assert cli.ok("graph", "links", "f") == "m\tabout\tf\n"
    assert cli.json("graph", "links", "m")["outgoing"][0]["target"] == {"type": "memory", "name": "f"}
    assert cli.ok("graph", "entities", "e") == "Europe\t1\n"
    cli.ok("graph", "unlink", "m", "f")
    assert cli.ok("graph", "links", "f") == ""


def test_provenance_goes_both_ways(cli: CommandLine) -> None:
    cli.ok("episode", "it rained", "--id", "e")
    cli.ok("reflect", "I got wet", "Take an umbrella", "--episode", "e", "--id", "r")
    assert cli.ok("graph", "provenance", "r") == "rests on\t1\te\treflects_on\n"
    assert cli.ok("graph", "provenance", "e") == "supports\t1\tr\treflects_on\n"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["reward", "s", "a", "nan"], "reward"),
        (["procedure", "p", "--step", "{broken"], "--step"),
        (["episode", "x", "--outcome", "fine"], "outcome"),
        (["know", "s", "p", "o", "--confidence", "2"], "confidence"),
        (["graph", "neighbours", "x", "--depth", "9"], "depth"),
    ],
)
def test_bad_parts_are_named(cli: CommandLine, arguments: list[str], field: str) -> None:
    cli.ok("init")
    assert field in cli.fails(ExitCode.USAGE, *arguments)


def test_what_is_not_there_cannot_be_named(cli: CommandLine) -> None:
    cli.ok("init")
    assert "source_episode_id" in cli.fails(ExitCode.INCOMPLETE, "reflect", "x", "y", "--episode", "unknown")
    cli.ok("remember", "x", "--id", "x")
    assert "target" in cli.fails(ExitCode.INCOMPLETE, "graph", "link", "x", "unknown")
