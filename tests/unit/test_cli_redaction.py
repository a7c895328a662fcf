"""--redact, or its variable: what it names enters the log by no command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import CommandLine

from mnemolog.producers.embedded import EmbeddedLog
from mnemolog.transfer.records import read_log

PIN = "4711"
REDACT = {"MNEMOLOG_REDACT": r"pin=\b\d{4}\b word=hunter\d"}
WRITING: list[tuple[object, ...]] = [
    ("remember", f"my pin is {PIN}", "--author", f"A {PIN}", "--metadata", json.dumps({"pin": PIN})),
    ("update", "m", "--text", f"the pin: {PIN}"),
    ("know", "Alice", "has", f"pin {PIN}"),
    ("episode", f"typed {PIN}"),
    ("recall", f"what is the first pin, {PIN}?"),
    ("context", "set", "k", json.dumps(f"pin {PIN}")),
    ("forget", "m", "--reason", f"said {PIN}"),
]


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    cli = CommandLine(tmp_path / "memory")
    cli.ok("remember", "the first", "--id", "m")
    return cli


def logged(cli: CommandLine) -> str:
    """All that the log holds."""
    with EmbeddedLog(cli.home / "log.sqlite") as log:
        return "".join((record.value or b"").decode() for record in read_log(log))


@pytest.mark.parametrize("words", WRITING, ids=lambda words: str(words[0]))
def test_no_command_writes_what_is_to_be_kept_out(cli: CommandLine, words: tuple[object, ...]) -> None:
    before = logged(cli)
    cli.ok(*words, env=REDACT)
    after = logged(cli).removeprefix(before)
    assert PIN not in after
    assert "[REDACTED:pin]" in after


def test_what_a_file_holds_is_redacted_too(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(json.dumps({"text": f"pin {PIN}, hunter2"}) + "\n")
    cli.ok("ingest", file, env=REDACT)
    mem0 = tmp_path / "mem0.json"
    mem0.write_text(json.dumps({"results": [{"id": "a", "memory": f"pin {PIN}", "user_id": "u"}]}))
    cli.ok("import", mem0, "--from", "mem0", env=REDACT)
    assert PIN not in logged(cli) and "hunter2" not in logged(cli)
    assert logged(cli).count("[REDACTED:pin]") == 2 and "[REDACTED:word]" in logged(cli)


@pytest.mark.parametrize("spec", ["pin", "=x", "pin=(", "pin="])
def test_a_spec_that_makes_no_sense_is_wrong_input_and_nothing_is_written(
    cli: CommandLine, spec: str
) -> None:
    before = logged(cli)
    result = cli.run("remember", "x", "--redact", spec)
    assert result.exit_code == 2 and "redact" in result.stderr
    assert cli.run("remember", "x", "--redact", "secrets", "--redact", "pin=1").exit_code == 2
    assert logged(cli) == before
