"""`mnemolog context` and `mnemolog cache`: what they do, print and answer to machines."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import CommandLine

import mnemolog


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "memory")


def test_set_get_list_and_delete(cli: CommandLine) -> None:
    assert cli.ok("context", "set", "theme", '{"dark": true}').startswith("set theme at mnemolog.context/0/0")
    written = cli.json("context", "set", "name", "-", "--string", "--ttl", "600", stdin='Zoë "Z"\n')
    assert written == {"id": "name", "position": "mnemolog.context/0/1"}
    cli.ok("context", "set", "theme", "1", "--agent", "a", "--thread", "t")
    assert cli.ok("context", "get", "theme") == '{"dark": true}\n'
    assert cli.ok("context", "get", "name") == 'Zoë "Z"\n'
    assert cli.json("context", "get", "theme", "--agent", "a", "--thread", "t") == {
        "key": "theme",
        "value": 1,
    }
    assert [line.split("\t")[0] for line in cli.ok("context", "list").splitlines()] == ["name", "theme"]
    (entry,) = cli.lines("context", "list", "--contains", "DARK")
    assert (entry["key"], entry["value"], entry["expires_at"]) == ("theme", {"dark": True}, None)
    assert [one["key"] for one in cli.lines("context", "list", "--prefix", "na")] == ["name"]
    assert cli.ok("context", "delete", "theme") == "deleted theme\n"
    assert cli.json("context", "delete", "theme") == {"id": "theme", "deleted": False}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("context", "get", "nothing"), 1),
        (("context", "set", "k", "{not json"), 2),
        (("context", "set", "k", "NaN"), 2),
        (("context", "set", "", "1"), 2),
        (("context", "set", "k", "1", "--ttl", "0"), 2),
        (("cache", "clear", "disk"), 2),
        (("cache", "clear", "llm", "--model", "m"), 2),
        (("cache", "clear", "--tool", "t", "--model", "m"), 2),
    ],
)
def test_what_goes_wrong_has_its_exit_code(cli: CommandLine, command: tuple[str, ...], code: int) -> None:
    cli.ok("init")
    assert cli.run(*command).exit_code == code


def test_cache_stats_and_clear(cli: CommandLine) -> None:
    cli.ok("init")
    with mnemolog.open(cli.home, embedder="hashing") as mem:
        for model in ("m-1", "m-2"):
            mem.cache.llm.store({"model": model}, "hi")
        mem.cache.tool.store("search", 1, "found", cost=0.5)
        mem.cache.tool.check("search", 1)
        mem.cache.tool.check("search", 2)
        mem.cache.session.set("k", 1, thread_id="t")
    lines = [line.split("\t") for line in cli.ok("cache", "stats").splitlines()]
    assert ["tool", "search", "1", "1", "0.5", "0.5", "optimal"] in lines
    found = cli.json("cache", "stats")
    assert (found["tool"]["hit_rate"], found["saved_micros"]) == (0.5, 500_000)
    assert found["effectiveness"][0]["recommendation"] == "optimal"
    assert cli.json("cache", "clear", "--model", "m-1") == {"dropped": 1}
    assert cli.ok("cache", "clear", "--tool", "search") == "dropped 1 entry\n"
    assert cli.json("cache", "clear", "session") == {"dropped": 1}
    assert cli.json("cache", "clear") == {"dropped": 1}
    assert cli.json("cache", "clear") == {"dropped": 0}
