"""LanceDB without the HTTP client of remote catalogs: put off, and whole once somebody wants it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mnemolog.storage.engine import read_little_at_once

AS_EVER = """
import lance_namespace_urllib3_client as client
names = sorted(name for name in vars(client) if not name.startswith("__"))
"""
PUT_OFF = """
import sys
import mnemolog.storage.table
assert "lance_namespace_urllib3_client.api.table_api" not in sys.modules
import lance_namespace_urllib3_client as client
client.TableApi
names = sorted(name for name in vars(client) if not name.startswith("__"))
"""
LATER = """
import mnemolog.storage.table
from lance_namespace_urllib3_client import ApiClient, TableApi
from lance_namespace_urllib3_client.api.table_api import TableApi as same
assert TableApi is same and TableApi(ApiClient()) is not None
"""
EARLIER = """
import lance_namespace_urllib3_client as before
import mnemolog.storage.table, sys
assert sys.modules["lance_namespace_urllib3_client"] is before
"""


FEW_READS = """
import os, sys, threading
from mnemolog.storage.engine import read_little_at_once
read_little_at_once(sys.argv[1])
assert int(os.environ["LANCE_IO_THREADS"]) >= 2
from support.tables import lance_handle, row

def work(name):
    table = lance_handle(os.path.join(sys.argv[1], name))
    for start in range(0, 400, 40):
        made = [row(f"{at}", at, text="x" * 2_000) for at in range(start, start + 40)]
        table.lookup("pk", [one["pk"] for one in made])
        table.commit(made, start + 39)
    assert len(list(table.scan())) == 400

threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("all there")
"""


def run(code: str) -> str:
    """What `code` prints in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_the_client_is_put_off_and_then_the_same_as_ever() -> None:
    assert run(PUT_OFF + "print(names)") == run(AS_EVER + "print(names)")


def test_other_programs_can_still_import_from_the_client() -> None:
    run(LATER)


def test_a_client_that_was_imported_before_stays() -> None:
    run(EARLIER)


def test_few_reads_at_once_are_enough_for_several_tables_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    environment.pop("LANCE_IO_THREADS", None)
    command = [sys.executable, "-c", FEW_READS, str(tmp_path)]
    found = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path
    )
    assert found.stdout.strip() == "all there"


def test_object_stores_and_what_was_set_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANCE_IO_THREADS", raising=False)
    read_little_at_once("s3://bucket/views")
    assert "LANCE_IO_THREADS" not in os.environ
    monkeypatch.setenv("LANCE_IO_THREADS", "5")
    read_little_at_once("/var/views")
    assert os.environ["LANCE_IO_THREADS"] == "5"
