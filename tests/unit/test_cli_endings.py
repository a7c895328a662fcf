"""How commands end: exit codes, errors in one line or in JSON, options and variables that go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import CommandLine

from mnemolog.cli import session
from mnemolog.cli.exits import MEANINGS, ExitCode, exit_code_of
from mnemolog.opening import LOG_FILE, VIEWS_FOLDER
from mnemolog.schemas import errors as err


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "memory")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (err.NotFoundError("x"), ExitCode.INCOMPLETE),
        (err.InvalidInputError("x"), ExitCode.USAGE),
        (err.FilterError("x"), ExitCode.USAGE),
        (err.EmbedderMismatchError("x"), ExitCode.USAGE),
        (err.LogUnavailableError("x"), ExitCode.UNAVAILABLE),
        (err.DeliveryError("x"), ExitCode.UNAVAILABLE),
        (err.ViewMissingError("x"), ExitCode.UNAVAILABLE),
        (err.WaitTimeoutError("x"), ExitCode.TIMEOUT),
        (err.EmbeddingError("x"), ExitCode.FAILED),
        (PermissionError("x"), ExitCode.UNAVAILABLE),
        (RuntimeError("x"), ExitCode.FAILED),
    ],
)
def test_every_error_has_its_exit_code(error: Exception, code: ExitCode) -> None:
    assert exit_code_of(error) is code


def test_help_tells_the_exit_codes(cli: CommandLine) -> None:
    told = cli.ok("--help")
    for code, meaning in MEANINGS.items():
        assert f"{code.value}  {meaning}" in told
    assert set(MEANINGS) == set(ExitCode)


def test_no_arguments_is_help(cli: CommandLine) -> None:
    assert cli.ok() == cli.ok("--help")


def test_every_command_takes_the_options_of_all(cli: CommandLine) -> None:
    commands = "demo init remember recall get list update forget history ingest worker replay stats feedback"
    for command in [*commands.split(), "deadletters list", "deadletters retry", "deadletters drop"]:
        told = cli.ok(*command.split(), "--help")
        for option in ("path", "kafka", "views", "namespace", "embedder", "timeout"):
            assert f"--{option}" in told, command
            assert f"MNEMOLOG_{option.upper()}" in told.replace("\n", ""), command
        assert "--json" in told


def test_the_folder_s_names_are_those_of_the_library() -> None:
    assert (session.LOG_FILE, session.VIEWS_FOLDER) == (LOG_FILE, VIEWS_FOLDER)


@pytest.mark.parametrize(
    "command",
    [
        ("recall", "x"),
        ("get", "x"),
        ("list",),
        ("stats",),
        ("history", "x"),
        ("update", "x", "--text", "y"),
        ("forget", "x"),
        ("feedback", "--used", "x"),
        ("replay",),
        ("deadletters", "list"),
    ],
)
def test_what_needs_a_memory_makes_none(cli: CommandLine, command: tuple[str, ...]) -> None:
    told = cli.fails(3, *command)
    assert "mnemolog init --path" in told
    assert not cli.home.exists()


def test_the_default_folder_is_memory(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.ok("remember", "text", env={"MNEMOLOG_PATH": None})
    assert (tmp_path / "memory" / LOG_FILE).exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("recall",), "Missing argument 'QUERY'"),
        (("recall", "x", "--bogus"), "No such option: --bogus"),
        (("recal", "x"), "Did you mean 'recall'? See: mnemolog --help"),
        (("recall", "x", "-k", "many"), "valid integer"),
        (("recall", "x", "-k", "0"), "k"),
        (("recall", "  "), "the query is empty or blank"),
        (("recall", "x", "--filter", "{"), "--filter is not JSON"),
        (("recall", "x", "--filter", "[]"), "--filter is a JSON object"),
        (("recall", "x", "--filter", '{"bogus": 1}'), "unknown field 'bogus'"),
        (("recall", "x", "--weight", "bogus"), "--weight is NAME=NUMBER"),
        (("recall", "x", "--weight", "bogus=1"), "bogus"),
        (("recall", "x", "--now", "soon"), "--now is a time like"),
        (("recall", "x", "--after", "soon"), "a position token looks like"),
        (("recall", "x", "--namespace", "a//b"), "namespace"),
        (("recall", "x", "--namespace", "%ff"), "not percent-encoded UTF-8"),
        (("recall", "x", "--embedder", "bogus"), "unknown embedder 'bogus'"),
        (("remember", "x", "--embedder", "bogus"), "unknown embedder 'bogus'"),
        (("remember", ""), "text"),
        (("remember", "x", "--importance", "2"), "importance"),
        (("remember", "x", "--metadata", "3"), "--metadata is a JSON object"),
        (("remember", "x", "--ttl", "1", "--expires-at", "2099-01-01"), "not both"),
        (("update", "m1"), "an update needs at least one of"),
        (("update", "m1", "--clear", "text"), "--clear text"),
        (("forget",), "give ids, or --filter, or --all"),
        (("forget", "m1", "--all"), "give ids, or --filter, or --all"),
        (("forget", "--all"), "pass --yes"),
        (("forget", "--filter", "{}", "--yes"), "everything"),
        (("feedback",), "feedback needs ids"),
        (("deadletters", "drop"), "give positions, or --all"),
        (("deadletters", "retry", "here"), "a position token looks like"),
        (("worker",), "--kafka HOST:PORT is needed"),
        (("list", "--kafka", "localhost:1"), "--views DIR is needed"),
        (("list", "--kafka", "localhost:1", "--path", "x"), "two different memories"),
        (("list", "--views", "x"), "--views goes with --kafka"),
        (("list", "--timeout", "-1"), "timeout"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(
    cli: CommandLine, arguments: tuple[str, ...], says: str
) -> None:
    cli.ok("remember", "text", "--id", "m1")
    assert says in cli.fails(2, *arguments)
    error = json.loads(cli.fails(2, *arguments, "--json"))
    assert set(error) == {"error", "type"}
    assert says in error["error"]


def test_what_is_wrong_writes_nothing(cli: CommandLine) -> None:
    cli.fails(2, "remember", "", "--json")
    assert not cli.home.exists()


def test_errors_name_their_type_for_machines(cli: CommandLine) -> None:
    cli.ok("remember", "text", "--id", "m1")
    assert json.loads(cli.fails(1, "get", "m2", "--json"))["type"] == "NotFoundError"
    assert json.loads(cli.fails(2, "get", "--json"))["type"] == "UsageError"
    assert json.loads(cli.fails(1, "get", "m2", env={"MNEMOLOG_JSON": "1"}))["type"] == "NotFoundError"


def test_not_found_ends_with_1(cli: CommandLine) -> None:
    cli.ok("remember", "text", "--id", "m1")
    assert "no memory 'm2'" in cli.fails(1, "get", "m2")
    assert "no memory 'm2'" in cli.fails(1, "history", "m2")
    assert "no memory 'm2'" in cli.fails(1, "update", "m2", "--text", "x")
    assert "no memory 'm1'" in cli.fails(1, "get", "m1", "--namespace", "acme/bob")


def test_a_position_that_never_comes_ends_with_4(cli: CommandLine) -> None:
    cli.ok("remember", "text", "--id", "m1", "--wait")
    told = cli.fails(4, "list", "--after", "mnemolog.memories/0/99", "--timeout", "1")
    assert "mnemolog.memories/0/99" in told


def test_a_folder_that_is_a_file_ends_with_3(cli: CommandLine) -> None:
    cli.home.write_text("not a folder")
    assert str(cli.home) in cli.fails(3, "remember", "text")
    assert str(cli.home) in cli.fails(3, "init")


def test_a_log_that_is_no_log_ends_with_3(cli: CommandLine) -> None:
    cli.home.mkdir()
    (cli.home / LOG_FILE).write_bytes(b"no database, but long enough to be taken for a spoilt one" * 20)
    cli.fails(3, "remember", "text")
    cli.fails(3, "list")


def test_brokers_that_do_not_answer_end_with_3(cli: CommandLine) -> None:
    kafka = {"MNEMOLOG_PATH": None, "MNEMOLOG_KAFKA": "127.0.0.1:9"}
    for command in (("init",), ("remember", "text"), ("deadletters", "list")):
        assert "127.0.0.1:9" in cli.fails(3, *command, "--timeout", "1", env=kafka)


def test_every_option_is_a_variable_too(cli: CommandLine, tmp_path: Path) -> None:
    variables = {
        "MNEMOLOG_PATH": str(tmp_path / "other"),
        "MNEMOLOG_NAMESPACE": "acme/a%2Fb",
        "MNEMOLOG_EMBEDDER": "none",
        "MNEMOLOG_JSON": "true",
    }
    cli.ok("remember", "text", env=variables)
    found = json.loads(cli.ok("stats", env=variables))
    assert (found["namespace"], found["embedder"], found["memories"]) == (["acme", "a/b"], None, 1)
    assert (tmp_path / "other" / LOG_FILE).exists()


def test_what_is_typed_beats_a_variable(cli: CommandLine, tmp_path: Path) -> None:
    away = {"MNEMOLOG_KAFKA": "127.0.0.1:9", "MNEMOLOG_VIEWS": "somewhere", "MNEMOLOG_PATH": None}
    cli.ok("remember", "text", "--path", tmp_path / "typed", env=away)
    assert (tmp_path / "typed" / LOG_FILE).exists()
    both = {"MNEMOLOG_KAFKA": "127.0.0.1:9"}
    assert "two different memories" in cli.fails(2, "list", env=both)
    assert "--views DIR is needed" in cli.fails(2, "list", "--kafka", "127.0.0.1:9")


def test_the_embedder_of_the_views_need_not_be_named(cli: CommandLine) -> None:
    cli.ok("init", "--embedder", "hashing:64")
    unnamed = {"MNEMOLOG_EMBEDDER": None}
    cli.ok("remember", "a red bike", env=unnamed)
    found = cli.json("recall", "bike", env=unnamed)
    assert found["hits"][0]["origins"] == ["vector", "keyword"]
    assert cli.json("stats", env=unnamed)["embedder"] == "hashing-2-4-64"
    assert "mnemolog replay" in cli.fails(2, "recall", "bike", "--embedder", "none")
